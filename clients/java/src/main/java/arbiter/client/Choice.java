package arbiter.client;

/** What a bot may choose: a {@link Move}, or another act. */
public sealed interface Choice permits Move, Choice.OfferDraw, Choice.ClaimDraw, Choice.Resign {
    /** Offer a draw, and play a move. */
    record OfferDraw(Move move) implements Choice {}

    /** Claim the draw that {@link Turn#drawClaim()} names. */
    record ClaimDraw() implements Choice {}

    /** Resign the match. */
    record Resign() implements Choice {}
}
