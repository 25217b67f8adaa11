package arbiter.client;

import static arbiter.client.Peer.match;
import static arbiter.client.Peer.soon;
import static arbiter.client.Peer.turn;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import arbiter.v1.Match;
import arbiter.v1.MatchEvent;
import arbiter.v1.MoveAnswer;
import arbiter.v1.ObserveItem;
import arbiter.v1.ObserveResponse;
import arbiter.v1.PlayAct;
import arbiter.v1.PlayItem;
import arbiter.v1.Receipt;
import arbiter.v1.Refusal;
import arbiter.v1.RefusalReason;
import com.google.protobuf.Any;
import com.google.rpc.Code;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Several addresses of one arbiter: the next one is tried where one is gone or about to stop. */
@Timeout(value = 1_200, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AddressesTest {
    private Peer first;
    private Peer second;
    private ServerSocket closing; // closes every connection at once
    private String nowhere;

    @BeforeEach
    void start() throws Exception {
        first = new Peer();
        second = new Peer();
        closing = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        nowhere = "127.0.0.1:" + closing.getLocalPort();
        Caller.daemons("closing").newThread(() -> {
            try {
                while (true) {
                    closing.accept().close();
                }
            } catch (IOException end) {
                return; // the test is over
            }
        }).start();
    }

    @AfterEach
    void stop() throws Exception {
        first.close();
        second.close();
        closing.close();
    }

    private static String address(Peer peer) {
        return peer.options().server;
    }

    private Options at(String... addresses) {
        return new Options().server(String.join(",", addresses)).name("alice").token("secret");
    }

    private static Throwable draining() {
        Refusal refusal = Refusal.newBuilder()
                .setReason(RefusalReason.REFUSAL_REASON_DRAINING)
                .setCode(Code.UNAVAILABLE_VALUE)
                .putFacts("retry_after_ms", "60000")
                .build();
        return StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
                .setCode(Code.UNAVAILABLE_VALUE)
                .addDetails(Any.pack(refusal))
                .build());
    }

    @Test
    void addressesStandBetweenCommas() {
        assertEquals(List.of("a:1", "[::1]:2"), Addresses.of(" a:1 , [::1]:2,a:1"));
        Map<String, String> wrong = Map.of(
                "a:1,b", "'b' (number 2 of 2) is no address: write HOST:PORT",
                "a:1,", "'' (number 2 of 2) is no address: write HOST:PORT",
                "a:x,b:1", "'a:x' (number 1 of 2) is no address: write HOST:PORT",
                "::1:7400", "'::1:7400' is no address: write HOST:PORT, such as 127.0.0.1:7400 or [::1]:7400",
                "a:1 b:2", "'a:1 b:2' is no address",
                "a:70000", "'a:70000' is no address");
        wrong.forEach((text, said) -> {
            Exception error = assertThrows(ConnectionFailedException.class, () -> new Client(at(text)));
            assertTrue(error.getMessage().startsWith(said), error.getMessage());
        });
    }

    @Test
    void allAddressesAreTriedBeforeThereIsAPause() {
        Addresses addresses = new Addresses(List.of("a:1", "b:1", "c:1"));
        Addresses.Tries tries = addresses.new Tries();
        ClientException gone = new ConnectionFailedException("gone");
        Map<String, String> asked = Map.of("retry_after_ms", "9000");
        ClientException limited =
                new ArbiterException(Reason.RATE_LIMITED, "", Status.Code.RESOURCE_EXHAUSTED, asked);
        ClientException draining = new ArbiterException(Reason.DRAINING, "", Status.Code.UNAVAILABLE, asked);
        assertTrue(tries.failed("a:1", limited) >= 9_000);
        assertEquals("a:1", addresses.current()); // what is refused to one caller is no reason to leave
        tries.reset();
        assertEquals(0, tries.failed("a:1", gone));
        assertEquals(0, tries.failed("b:1", draining));
        assertEquals("c:1", addresses.current());
        long pauseMs = tries.failed("c:1", gone);
        assertTrue(pauseMs >= 50 && pauseMs <= 100, "nobody asks for more than the one that asks for least: " + pauseMs);
        assertEquals("a:1", addresses.current());
    }

    @Test
    void aCallGoesOnAtTheNextAddress() {
        first.match = Match.newBuilder().setMatchId("m1").build();
        try (Client client = new Client(at(nowhere, address(first)).patience(Duration.ZERO))) {
            assertEquals("m1", client.getMatch("m1", false).getMatchId());
            assertEquals(address(first), client.server());
        }
    }

    @Test
    void whereNoneAnswersEachAddressAndItsReasonAreNamed() {
        String stopped = address(first);
        first.close();
        try (Client client = new Client(at(nowhere, stopped).patience(Duration.ZERO))) {
            Exception error = assertThrows(ConnectionFailedException.class, () -> client.getMatch("m1", false));
            String said = error.getMessage();
            assertTrue(said.startsWith("no arbiter answers at " + nowhere + " ("), said);
            assertTrue(said.contains("), nor at " + stopped + " ("), said);
        }
    }

    @Test
    void watchingGoesOnAtTheNextAddressAfterTheLastRevision() throws Exception {
        first.observing = (request, answer) -> {
            answer.onNext(event(1));
            answer.onError(draining());
        };
        second.observing = (request, answer) -> {
            answer.onNext(event(2));
            answer.onCompleted();
        };
        try (Client client = new Client(at(address(first), address(second)));
                Observation watching = client.observe("m1", 0)) {
            assertEquals(1, watching.nextEvent().orElseThrow().getRevision());
            assertEquals(2, watching.nextEvent().orElseThrow().getRevision());
            assertEquals(Optional.empty(), watching.nextEvent());
        }
        assertEquals(1, soon(second.observed).getMatch().getAfterRevision());
    }

    private static ObserveResponse event(long revision) {
        MatchEvent event = MatchEvent.newBuilder().setMatchId("m1").setRevision(revision).build();
        return ObserveResponse.newBuilder().addItems(ObserveItem.newBuilder().setEvent(event)).build();
    }

    @Test
    void aBotGoesOnAtTheNextAddressWithTheMoveThatWasNotAnswered() throws Exception {
        Bot bot = turn -> new Move("a");
        Playing playing = Playing.start(bot, at(nowhere, address(first), address(second)));
        try {
            Peer.Stream stream = first.stream();
            stream.meet();
            stream.say(match("m"), turn("m", 0));
            PlayAct lost = stream.read();
            stream.end(draining());
            stream = second.stream();
            stream.meet();
            assertEquals(lost, stream.read());
            stream.say(PlayItem.newBuilder()
                    .setAnswer(MoveAnswer.newBuilder()
                            .setRequestId(lost.getRequestId())
                            .setReceipt(Receipt.newBuilder().setPly(1))));
            stream.end(draining());
            first.stream().meet(); // and back, past the one that is not there
        } finally {
            playing.stop();
        }
    }

    @Test
    void aTokenIsKeptForEveryAddress(@TempDir Path folder) {
        Credentials credentials = new Credentials(folder.resolve("credentials.json"));
        credentials.save("a:1,b:2", "alice", "secret");
        for (String server : List.of("a:1", "b:2", "c:3,b:2")) {
            assertEquals(Optional.of("secret"), credentials.find(server, "alice"));
        }
    }
}
