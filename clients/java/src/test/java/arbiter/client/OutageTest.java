package arbiter.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** What an outage looks like, however it is wrapped; how long a server is tried; on how many matches a bot agrees. */
class OutageTest {
    private static ClientException of(Status status) {
        return Errors.of(status.asRuntimeException(), "here:1");
    }

    @Test
    void anOutageIsFoundBehindWhateverWrapsIt() {
        ClientException lost = of(Status.UNAVAILABLE);
        List<Throwable> wrapped = List.of(
                lost,
                new CompletionException(lost),
                new ExecutionException(new IllegalStateException("no move", lost)),
                new UncheckedIOException(new IOException(lost)),
                new AssertionError(of(Status.INTERNAL)),
                Status.UNAVAILABLE.asRuntimeException());
        for (Throwable each : wrapped) {
            assertTrue(Errors.comesOfAnOutage(each), each::toString);
        }
        assertFalse(Errors.comesOfAnOutage(new CompletionException(of(Status.NOT_FOUND))));
        assertFalse(Errors.comesOfAnOutage(new IllegalStateException("a mistake")));
    }

    @Test
    void whatTheTransportThrewIsTheCauseAndAChannelThatClosedIsNoRefusal() {
        StatusRuntimeException thrown = Status.UNKNOWN
                .withDescription("channel closed")
                .withCause(new ClosedChannelException())
                .asRuntimeException();
        ClientException error = Errors.of(thrown, "here:1");
        assertInstanceOf(ConnectionFailedException.class, error);
        assertSame(thrown, error.getCause());
    }

    @Test
    void aFirstTryThatTakesLongerThanThePatienceIsNotTheLast() throws Exception {
        Duration patience = Duration.ofMillis(200);
        try (Peer peer = new Peer()) {
            Playing playing = Playing.start(turn -> new Choice.Resign(), peer.options().patience(patience));
            Peer.Stream stream = peer.stream();
            Thread.sleep(patience.toMillis()); // nothing to wait for: this is a slow machine
            stream.end(Status.UNAVAILABLE.asRuntimeException());
            peer.stream().meet();
            playing.stop();
        }
    }

    @Test
    void aBotThatStopsAfterSomeMatchesHasSoManyLeft() {
        Slots slots = new Slots(0, 2);
        slots.begun("m1");
        assertEquals(1, slots.left());
        slots.expect("m2");
        assertEquals(0, slots.left());
        assertFalse(slots.holds(1));
        slots.ended("m1");
        assertEquals(0, slots.left());
        assertEquals(1, slots.playing());
        assertTrue(new Slots(0, 0).holds(9));
    }
}
