package arbiter.client;

import static arbiter.client.Peer.ended;
import static arbiter.client.Peer.soon;
import static arbiter.client.Peer.turn;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import arbiter.v1.Match;
import arbiter.v1.PlayAct;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Where a bot is asked, and what ends its thoughts. */
@Timeout(value = 1_200, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ThinkingTest {
    private final BlockingQueue<String> asked = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> interrupted = new LinkedBlockingQueue<>();
    private Peer peer;

    @BeforeEach
    void start() throws Exception {
        peer = new Peer();
    }

    @AfterEach
    void stop() {
        peer.close();
    }

    private Choice never(Turn turn) throws InterruptedException {
        String which = turn.match().matchId() + " " + turn.ply();
        asked.add(which);
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException error) {
            interrupted.add(which);
            throw error;
        }
        return new Choice.Resign();
    }

    @Test
    void aThoughtIsInterruptedByALaterTurnTheEndOfItsMatchAndTheEndOfTheRun() throws Exception {
        Playing playing = Playing.start(this::never, peer.options());
        Peer.Stream stream = peer.stream();
        stream.meet();
        stream.say(turn("m", 0));
        assertEquals("m 0", soon(asked));
        peer.match = Match.newBuilder().addMoves("x").addMoves("y").build();
        stream.say(turn("m", 2));
        assertEquals("m 0", soon(interrupted));
        assertEquals("m 2", soon(asked));
        stream.say(ended("m", "c"));
        assertEquals("m 2", soon(interrupted));
        assertTrue(stream.read().hasAcknowledge());
        stream.say(turn("n", 0));
        assertEquals("n 0", soon(asked));
        playing.stop();
        assertEquals("n 0", soon(interrupted));
        playing.await();
        assertEquals("completed", soon(stream.ended));
        assertTrue(stream.isSilent(), "an interruption is no error of the bot's, and resigns no match");
    }

    /** Does one thing after the other in one thread, and leaves its mark of interruption as it is. */
    private static Executor oneThread(String name) {
        BlockingQueue<Runnable> line = new LinkedBlockingQueue<>();
        Runnable work = () -> {
            try {
                while (true) {
                    line.take().run();
                }
            } catch (InterruptedException marked) {
                return;
            }
        };
        Caller.daemons(name).newThread(work).start();
        return line::add;
    }

    @Test
    void aCallEndsWithItsThoughtAndTheBotsThreadGoesOnWithAnother() throws Exception {
        peer.match = null;
        Bot bot = turn -> {
            asked.add(Thread.currentThread().getName());
            if (turn.match().matchId().equals("m")) {
                try {
                    turn.client().getMatch("m", false);
                } catch (ConnectionFailedException error) {
                    interrupted.add(error.getMessage());
                    throw error;
                }
            }
            return new Move("a");
        };
        Playing playing = Playing.start(bot, peer.options().executor(oneThread("ours")));
        Peer.Stream stream = peer.stream();
        stream.meet();
        stream.say(turn("m", 0));
        assertEquals("ours", soon(asked));
        stream.say(ended("m", "c"), turn("n", 0));
        assertEquals("interrupted while waiting for the arbiter", soon(interrupted));
        assertTrue(stream.read().hasAcknowledge());
        assertEquals("ours", soon(asked));
        PlayAct act = stream.read();
        assertEquals("a", act.getMove().getMove());
        assertEquals("n", act.getMatchId());
        playing.stop();
    }

    @Test
    void aChoiceThatTheExecutorRejectsCostsTheMatch() throws Exception {
        Executor full = work -> {
            throw new RejectedExecutionException("full");
        };
        Playing playing = Playing.start(this::never, peer.options().executor(full));
        Peer.Stream stream = peer.stream();
        stream.meet();
        stream.say(turn("m", 0));
        assertTrue(stream.read().hasResign());
        playing.stop();
    }
}
