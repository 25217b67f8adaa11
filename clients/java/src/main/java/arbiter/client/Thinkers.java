package arbiter.client;

import java.util.ArrayDeque;
import java.util.Deque;

/** Lets at most so many thoughts be under way at a time; the others wait in line. In the loop. */
final class Thinkers {
    private record Waiting(Seat.Thought thought, Runnable begin) {}

    private final Deque<Waiting> line = new ArrayDeque<>();
    private int free;

    Thinkers(int most) {
        free = Math.max(1, most);
    }

    /** Begins a thought as soon as there is room for it. */
    void enter(Seat.Thought thought, Runnable begin) {
        line.add(new Waiting(thought, begin));
        next();
    }

    /** Is told that a thought has come to its end, or that nobody waits for it any more. */
    void leave(Seat.Thought thought) {
        thought.leave();
        if (thought.counted) {
            thought.counted = false;
            free++;
            next();
        }
    }

    private void next() {
        while (free > 0 && !line.isEmpty()) {
            Waiting waiting = line.remove();
            if (!waiting.thought().left) {
                free--;
                waiting.thought().counted = true;
                waiting.begin().run();
            }
        }
    }
}
