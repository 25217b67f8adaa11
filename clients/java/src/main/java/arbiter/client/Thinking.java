package arbiter.client;

import arbiter.client.Seat.Thought;
import java.lang.System.Logger;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * From a turn to the bot's choice. A choice waits until the callback for the start of the match has returned, completes
 * the match's moves up to the turn, and then calls the bot. In the loop, except for calls in threads.
 */
final class Thinking {
    private static final Logger LOG = System.getLogger("arbiter.client");

    /** The acts for a bot's choice. */
    interface Say {
        void say(Seat seat, Turn turn, Acts acts);
    }

    private final Caller caller;
    private final Client client;
    private final Thinkers thinkers;
    private final Say say;

    Thinking(Caller caller, Client client, int thinkers, Say say) {
        this.caller = caller;
        this.client = client;
        this.thinkers = new Thinkers(thinkers);
        this.say = say;
    }

    /** Abandons the choice of a seat, if one is under way. */
    void drop(Seat seat) {
        if (seat.thought != null) {
            thinkers.leave(seat.thought);
            seat.thought = null;
        }
    }

    /** Thinks about a turn, and no longer about an older one. */
    void think(Seat seat, arbiter.v1.Turn message, CompletableFuture<Void> begun) {
        long receivedNs = System.nanoTime();
        Thought thought = anew(seat, message.getPly());
        begun.thenRun(() -> {
            List<String> moves = Seat.joined(seat.match.moves(), message.getPly(), message.getLastMovesList());
            if (moves != null) {
                choose(seat, thought, message, receivedNs, moves);
                return;
            }
            caller.call(() -> fetch(thought, message), (fetched, error) -> {
                if (error == null) {
                    choose(seat, thought, message, receivedNs, fetched);
                } else {
                    settle(seat, thought, null, null, error);
                }
            });
        });
    }

    /** Calls the bot for a second choice for a turn; if that was refused too, it is an error of the bot. */
    void thinkAgain(Seat seat, Turn turn, ArbiterException refusal) {
        Thought thought = anew(seat, turn.ply());
        Turn again = turn.after(refusal, () -> thought.left || seat.match.over());
        if (turn.refused().isPresent()) {
            settle(seat, thought, turn, null, refusal);
            return;
        }
        ask(seat, thought, again, () -> {
            Choice other = caller.bot.refused(again, refusal);
            return other != null ? other : caller.bot.choose(again);
        });
    }

    private Thought anew(Seat seat, int ply) {
        drop(seat);
        seat.thought = new Thought(ply);
        return seat.thought;
    }

    /** Closes a gap in the moves by asking the server for all of them, until they arrive or are not needed any more. */
    private List<String> fetch(Thought thought, arbiter.v1.Turn message) {
        Backoff backoff = new Backoff();
        while (true) {
            CountDownLatch greeting = client.connection().greeting();
            try {
                List<String> moves = client.getMatch(message.getMatchId(), true).getMovesList();
                return List.copyOf(moves.subList(0, Math.min(message.getPly(), moves.size())));
            } catch (ArbiterException | ConnectionFailedException error) {
                boolean hopeless = error instanceof ArbiterException refusal && !refusal.passing();
                if (hopeless || thought.left) {
                    throw error;
                }
                Connection.pause(backoff.nextMs(0), greeting, error);
            }
        }
    }

    private void choose(
            Seat seat, Thought thought, arbiter.v1.Turn message, long receivedNs, List<String> moves) {
        if (thought.left) {
            return;
        }
        seat.match.moved(moves);
        Turn turn = new Turn(
                message, seat.match, moves, client, receivedNs, () -> thought.left || seat.match.over(), null);
        ask(seat, thought, turn, () -> caller.bot.choose(turn));
    }

    private void ask(Seat seat, Thought thought, Turn turn, Callable<Choice> asking) {
        thinkers.enter(
                thought,
                () -> caller.ask(
                        () -> thought.in(() -> chosen(thought, turn, asking)),
                        (choice, error) -> settle(seat, thought, turn, choice, error)));
    }

    /**
     * Returns the bot's choice; the bot is called again if it failed while the arbiter was away. That is so if its
     * exception, or a cause of that, shows it, or if any call failed in that way meanwhile: a bot may wrap an exception
     * in any way, or keep only its text.
     */
    private Choice chosen(Thought thought, Turn turn, Callable<Choice> asking) throws Exception {
        Backoff backoff = new Backoff();
        Outage outage = new Outage(System::nanoTime);
        AtomicLong outages = client.connection().outages;
        while (true) {
            long before = outages.get();
            CountDownLatch greeting = client.connection().greeting();
            try {
                return asking.call();
            } catch (Exception | Error error) {
                boolean away = outages.get() != before || Errors.comesOfAnOutage(error);
                if (!away || thought.left) {
                    throw error;
                }
                String matchId = turn.match().matchId();
                LOG.log(outage.failed(error), "the choice in match " + matchId + " is made again: " + error);
                Connection.pause(backoff.nextMs(0), greeting, error);
            }
        }
    }

    private void settle(Seat seat, Thought thought, Turn turn, Choice choice, Throwable failure) {
        if (seat.thought != thought) {
            return; // nobody waits for it any more
        }
        drop(seat);
        Throwable error = failure;
        if (error == null) {
            try {
                Acts acts = Acts.of(choice, thought.ply);
                caller.hook(hooks -> hooks.thought(turn, turn.age()));
                say.say(seat, turn, acts);
                return;
            } catch (NullPointerException | IllegalArgumentException wrong) {
                error = wrong;
            }
        }
        if (caller.failed(seat.match.matchId(), thought.ply, error)) {
            say.say(seat, turn, Acts.resignation());
        }
    }
}
