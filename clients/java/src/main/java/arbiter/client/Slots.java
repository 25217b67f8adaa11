package arbiter.client;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The number of a bot's matches: those under way, and those agreed on that the stream has not announced yet. Only the
 * loop changes it; any thread may read it.
 */
final class Slots {
    private static final int REMEMBERED_ENDS = 10_000;

    private final int most;
    private final long mostInAll;
    private final Set<String> live = new HashSet<>();
    private final Set<String> expected = new HashSet<>();
    private final Set<String> over = new LinkedHashSet<>();
    private int agreeing;
    private long ended;
    private volatile int playing;
    private volatile long left;
    private final List<Runnable> watchers = new ArrayList<>();

    /** Takes how many matches there may be at once, and how many in all; 0 for no limit. */
    Slots(int most, long mostInAll) {
        this.most = most;
        this.mostInAll = mostInAll;
        count();
    }

    /** Sets a function that is called after a possible change of the number of matches. */
    void onChange(Runnable work) {
        watchers.add(work);
    }

    /** Returns how many more matches the bot may agree on before it stops: fewer than 0 if it plays more already. */
    long left() {
        return left;
    }

    int playing() {
        return playing;
    }

    /** Returns whether there is room for the matches agreed on, and for those that so many open seeks may become. */
    boolean holds(long seeks) {
        return (most <= 0 || playing + Math.min(seeks, 1) <= most) && seeks <= left;
    }

    void begun(String matchId) {
        live.add(matchId);
        expected.remove(matchId);
        count();
    }

    /** Counts the end of a match; returns whether the end was not known yet. */
    boolean ended(String matchId) {
        live.remove(matchId);
        expected.remove(matchId);
        boolean news = over.add(matchId);
        ended += news ? 1 : 0;
        if (over.size() > REMEMBERED_ENDS) {
            over.remove(over.iterator().next());
        }
        count();
        return news;
    }

    boolean isOver(String matchId) {
        return over.contains(matchId);
    }

    /** Reserves a place for a match that has been agreed on, until the stream announces it. */
    void expect(String matchId) {
        if (!live.contains(matchId) && !over.contains(matchId)) {
            expected.add(matchId);
        }
        count();
    }

    /** Reserves a place while a match is being agreed on: 1 before, -1 afterwards. */
    void agreeing(int step) {
        agreeing += step;
        count();
    }

    private void count() {
        playing = live.size() + expected.size() + agreeing;
        left = mostInAll > 0 ? mostInAll - ended - playing : Long.MAX_VALUE;
        watchers.forEach(Runnable::run);
    }
}
