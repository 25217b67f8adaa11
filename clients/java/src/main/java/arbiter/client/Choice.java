package arbiter.client;

/** What a bot does at its turn: a {@link Move}, or one of the other acts. */
public sealed interface Choice permits Move, Choice.OfferDraw, Choice.ClaimDraw, Choice.Resign {
    /** Offer a draw, and play a move. */
    record OfferDraw(Move move) implements Choice {}

    /** Claim the draw that {@link Turn#drawClaim()} names. */
    record ClaimDraw() implements Choice {}

    /** Give the match up. */
    record Resign() implements Choice {}
}
