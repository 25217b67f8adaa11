package arbiter.client;

import java.util.ArrayDeque;
import java.util.Deque;

/** Limits how many choices are under way at a time; the others wait in a queue. In the loop. */
final class Thinkers {
    private record Waiting(Seat.Thought thought, Runnable begin) {}

    private final Deque<Waiting> line = new ArrayDeque<>();
    private int free;

    Thinkers(int most) {
        free = Math.max(1, most);
    }

    /** Begins a choice as soon as the number under way allows it. */
    void enter(Seat.Thought thought, Runnable begin) {
        line.add(new Waiting(thought, begin));
        next();
    }

    /** Reacts to the end of a choice, or to the news that it is not needed any more. */
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
