package arbiter.client;

/**
 * How long to think for a move: a share of the main time, and most of what the time control adds for every move. The
 * rules, the same in every client, and why, are in clients/README.md; clients/vectors/think_times.json has the numbers.
 */
public final class ThinkTime {
    /** How many plies are expected to the end of a game, from any position, where nothing else is known. */
    public static final int EXPECTED_PLIES = 60;

    private static final double HELD_BACK_MS = 1_000; // of the main time, at most half of it: for a long game
    private static final double MOST = 0.7; // share of the time that is added, or lost, after the move
    private static final double BEFORE_FLAG = 0.6; // share of the time until the flag falls, for one choice
    private static final double RESERVE_MS = 15; // before the flag falls: the way to the server, other load
    private static final double SWITCH_MS = 5; // more of it for each other match
    private static final double LEAST_MS = 5; // for one choice, while the flag is far away
    private static final double FAR_MS = 200;

    private ThinkTime() {}

    /**
     * Returns the time for a move in milliseconds, never negative.
     *
     * @param timeControl the bot's own
     * @param leftMs until the flag falls
     * @param mainMs main time left; with a fixed time a move, the bank
     * @param movesLeft moves to go in the session; 0 if there is none
     * @param expectedPlies to the end of the game, of both players
     * @param matches how many think in this process
     */
    public static double thinkTimeMs(
            String timeControl, double leftMs, double mainMs, int movesLeft, int expectedPlies, int matches) {
        double spendableMs = mainMs - Math.min(HELD_BACK_MS, mainMs / 2);
        int moves = Math.max(1, (expectedPlies + 1) / 2);
        double shareMs = spendableMs / (movesLeft > 0 ? Math.min(movesLeft, moves) : moves);
        double eachMs = MOST * TimeControl.eachMoveMs(timeControl);
        double wantedMs = timeControl.contains("x") ? Math.max(shareMs, eachMs) : shareMs + eachMs;
        if (leftMs > FAR_MS) {
            wantedMs = Math.max(wantedMs, LEAST_MS);
        }
        double reserveMs = RESERVE_MS + SWITCH_MS * (matches - 1);
        return Math.max(0, Math.min(wantedMs, Math.min(BEFORE_FLAG * leftMs, leftMs - reserveMs)));
    }
}
