package arbiter.client;

import arbiter.v1.RecentMove;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;

/**
 * A seat of the bot in a live match: the choice that is under way, and the act that is not answered yet. In a match of
 * the bot against itself there are two, independent of each other. In the loop.
 */
final class Seat {
    final LiveMatch match;
    /** Done once the bot knows that the match has started; null before it is told. */
    CompletableFuture<Void> begun;
    /** The choice under way, or null. */
    Thought thought;
    /** The turn that the last choice answered, or null. */
    Turn turn;
    /** The move, claim or resignation that waits for its answer. */
    String requestId = "";
    /** Turns before this one are done. */
    int nextPly;

    boolean offerAnswered;
    /** Whether the bot had moved in the match before this run knew of it. */
    boolean goesOn;

    Seat(LiveMatch match) {
        this.match = match;
    }

    /** A choice under way for the turn at a ply. */
    static final class Thought {
        final int ply;
        /** Whether it is not needed any more. */
        volatile boolean left;
        /** Whether it counts as one of the choices under way. */
        boolean counted;

        private Thread thinker; // while the bot is asked

        Thought(int ply) {
            this.ply = ply;
        }

        /** Calls the bot in this thread, which is interrupted as soon as the choice is not needed any more. */
        <T> T in(Callable<T> asking) throws Exception {
            synchronized (this) {
                if (left) {
                    throw new CancellationException("nobody waits for this thought any more");
                }
                thinker = Thread.currentThread();
            }
            try {
                return asking.call();
            } finally {
                synchronized (this) {
                    thinker = null;
                    if (left) {
                        Thread.interrupted(); // the thread's next work is not meant
                    }
                }
            }
        }

        /** Reacts to the news that the choice is not needed any more. */
        synchronized void leave() {
            left = true;
            if (thinker != null) {
                thinker.interrupt();
            }
        }
    }

    /** Returns the moves up to a turn, from the known ones and the turn's last ones; null if there is a gap. */
    static List<String> joined(List<String> moves, int ply, List<RecentMove> recent) {
        List<String> known = new ArrayList<>(moves.subList(0, Math.min(ply, moves.size())));
        for (RecentMove move : recent) {
            boolean fits = move.getPly() >= known.size() || known.get(move.getPly()).equals(move.getMove());
            if (move.getPly() > known.size() || !fits) {
                return null;
            }
            if (move.getPly() == known.size()) {
                known.add(move.getMove());
            }
        }
        return known.size() == ply ? List.copyOf(known) : null;
    }
}
