package arbiter.client;

import arbiter.v1.TurnExtras;

/**
 * Optional content of each turn; it costs time on both sides.
 *
 * @param board the board, cell by cell
 * @param legalMoveCount the number of legal moves
 * @param legalMovesUpTo the legal moves themselves, where there are at most so many
 * @param steps the visible parts of each of these moves
 */
public record Extras(boolean board, boolean legalMoveCount, int legalMovesUpTo, boolean steps) {
    /** Nothing. */
    public static final Extras NONE = new Extras(false, false, 0, false);

    /** Asks for the legal moves, if there are at most this many. */
    public static Extras legalMoves(int upTo) {
        return new Extras(false, false, upTo, false);
    }

    TurnExtras message() {
        return TurnExtras.newBuilder()
                .setBoard(board)
                .setLegalMoveCount(legalMoveCount)
                .setLegalMovesUpTo(legalMovesUpTo)
                .setSteps(steps)
                .build();
    }
}
