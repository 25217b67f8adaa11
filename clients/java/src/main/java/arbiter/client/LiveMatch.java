package arbiter.client;

import arbiter.v1.Match;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A match that the bot plays, from its first turn to its end. A match of the bot against itself is two of these, one
 * for each seat.
 */
public final class LiveMatch {
    private final String matchId;
    private final String game;
    private final int seat;
    private final String opponent;
    private final Map<String, Object> memory = new ConcurrentHashMap<>();
    private volatile Match told = Match.getDefaultInstance();
    private volatile List<String> moves = List.of();
    private volatile boolean over;

    LiveMatch(String matchId, String game, int seat, String opponent) {
        this.matchId = matchId;
        this.game = game;
        this.seat = seat;
        this.opponent = opponent;
    }

    /** Returns the match's id. */
    public String matchId() {
        return matchId;
    }

    /** Returns the canonical variant. */
    public String game() {
        return game;
    }

    /** Returns the bot's seat, 1 or 2. */
    public int seat() {
        return seat;
    }

    /** Returns the opponent's name. */
    public String opponent() {
        return opponent;
    }

    /** Returns the bot's own time control, also in a match with time odds; empty where it is not known yet. */
    public String timeControl() {
        Match match = told;
        return match.getTimeControlsCount() >= seat ? match.getTimeControls(seat - 1) : match.getTimeControl();
    }

    /** Returns the match's time control: with time odds, those of both seats, such as {@code 5m:2m}. */
    public String matchTimeControl() {
        return told.getTimeControl();
    }

    /** Returns whether the match counts for ratings. */
    public boolean rated() {
        return told.getRated();
    }

    /** Returns the organiser's label. */
    public String label() {
        return told.getLabel();
    }

    /** Returns how many of the first moves are the opening, which nobody played. */
    public int openingPlies() {
        return told.getOpeningPlies();
    }

    /** Returns the start position, from which the moves begin; empty for the game's initial one. */
    public String startPosition() {
        return told.getStartPosition();
    }

    /** Returns the moves that were played, up to the bot's latest turn. */
    public List<String> moves() {
        return moves;
    }

    /** Returns whether the match has ended or the bot stops, so that a long search may end. */
    public boolean over() {
        return over;
    }

    /** Returns the memory, which is free for the bot's own data about the match. */
    public Map<String, Object> memory() {
        return memory;
    }

    void learn(Match match) {
        told = match;
    }

    void moved(List<String> all) {
        moves = all;
    }

    void end() {
        over = true;
    }
}
