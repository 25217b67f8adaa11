package arbiter.client;

import static arbiter.client.Peer.soon;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import arbiter.v1.Cause;
import arbiter.v1.Match;
import arbiter.v1.MatchEvent;
import arbiter.v1.Terms;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whole matches on a real arbiter. */
@Timeout(value = 1_200, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ArbiterTest {
    @TempDir
    Path folder;

    /** Plays the first legal move; waits at one ply until it is let on. */
    private static class First implements Bot {
        final BlockingQueue<FinishedMatch> ends = new LinkedBlockingQueue<>();
        final Map<Integer, Integer> chosen = new ConcurrentHashMap<>();
        final CountDownLatch reached = new CountDownLatch(1);
        final CountDownLatch goOn = new CountDownLatch(1);
        private final int halt;

        First(int halt) {
            this.halt = halt;
        }

        @Override
        public Choice choose(Turn turn) throws Exception {
            String move = turn.legalMoves().get(0).getText(); // or the server is away, and the choice is made again
            chosen.merge(turn.ply(), 1, Integer::sum);
            assertEquals(turn.ply(), turn.moves().size());
            if (turn.ply() / 2 == halt) {
                reached.countDown();
                goOn.await();
            }
            return new Move(move, 500, List.of(move));
        }

        @Override
        public void ended(FinishedMatch finished) {
            ends.add(finished);
        }
    }

    @Test
    void aMatchGoesOnAfterAKillAndEveryMoveIsPlayedOnce() throws Exception {
        try (Arbiter arbiter = new Arbiter(folder)) {
            First alice = new First(3);
            First bob = new First(-1);
            Playing runs = Playing.start(alice, arbiter.player("alice").matches(1));
            Playing other = Playing.start(bob, arbiter.player("bob").matches(1));
            arbiter.present("alice", "bob");
            Match match = arbiter.pair("pods(size=3)", "alice", "bob", null);
            CompletableFuture<List<MatchEvent>> watching = CompletableFuture.supplyAsync(() -> watch(arbiter, match));
            assertTrue(alice.reached.await(Peer.SOON_S, TimeUnit.SECONDS));
            arbiter.restart();
            alice.goOn.countDown();
            FinishedMatch ofAlice = soon(alice.ends);
            FinishedMatch ofBob = soon(bob.ends);
            assertEquals(1, ofAlice.score().orElseThrow() + ofBob.score().orElseThrow());
            assertEquals(Cause.CAUSE_RULES, ofAlice.result().getCause());
            runs.await();
            other.await();
            assertTrue(alice.chosen.values().stream().allMatch(count -> count == 1), alice.chosen::toString);
            List<MatchEvent> events = watching.join();
            for (int index = 0; index < events.size(); index++) {
                assertEquals(index + 1, events.get(index).getRevision());
            }
            List<String> moves = new ArrayList<>();
            events.stream().filter(MatchEvent::hasMoved).forEach(event -> moves.add(event.getMoved().getMove()));
            try (Client admin = arbiter.admin(null)) {
                assertEquals(admin.getMatch(match.getMatchId(), true).getMovesList(), moves);
            }
        }
    }

    private static List<MatchEvent> watch(Arbiter arbiter, Match match) {
        List<MatchEvent> seen = new ArrayList<>();
        try (Client client = arbiter.admin(null);
                Observation events = client.observe(match.getMatchId(), 0)) {
            for (var event = events.nextEvent(); event.isPresent(); event = events.nextEvent()) {
                seen.add(event.get());
            }
        }
        return seen;
    }

    @Test
    void anIllegalMoveIsRefusedAndTheSecondChoiceIsPlayed() throws Exception {
        try (Arbiter arbiter = new Arbiter(folder)) {
            BlockingQueue<ArbiterException> refusals = new LinkedBlockingQueue<>();
            First alice = new First(-1) {
                @Override
                public Choice choose(Turn turn) throws Exception {
                    return turn.ply() < 2 && turn.refused().isEmpty() ? new Move("nonsense") : super.choose(turn);
                }

                @Override
                public Choice refused(Turn turn, ArbiterException refusal) {
                    refusals.add(refusal);
                    return null;
                }
            };
            Playing first = Playing.start(alice, arbiter.player("alice").matches(1));
            Playing second = Playing.start(new First(-1), arbiter.player("bob").matches(1));
            arbiter.present("alice", "bob");
            arbiter.pair("pods(size=3)", "alice", "bob", null);
            assertEquals(Reason.MOVE_MALFORMED, soon(refusals).reason());
            assertEquals(Cause.CAUSE_RULES, soon(alice.ends).result().getCause());
            first.await();
            second.await();
        }
    }

    @Test
    void theNewerSessionOfAPlayerWins() throws Exception {
        try (Arbiter arbiter = new Arbiter(folder)) {
            Playing first = Playing.start(new First(-1), arbiter.player("alice"));
            arbiter.present("alice");
            Playing second = Playing.start(new First(-1), arbiter.player("alice"));
            ArbiterException error = assertThrows(ArbiterException.class, first::await);
            assertEquals(Reason.SESSION_SUPERSEDED, error.reason());
            second.stop();
            second.await();
        }
    }

    @Test
    void aSeekIsKeptOpenAndAcceptedByAnotherBot() throws Exception {
        try (Arbiter arbiter = new Arbiter(folder)) {
            Terms terms = Terms.newBuilder().setGame("pods(size=3)").setTimeControl("1m+1s").build();
            Profile seeking = Profile.named("a").seeks(List.of(terms)).mostMatches(1).build();
            Profile accepting = Profile.named("b").acceptSeeks(true).mostMatches(1).build();
            First alice = new First(-1);
            First bob = new First(-1);
            Playing first = Playing.start(alice, arbiter.player("alice").profile(seeking));
            Playing second = Playing.start(bob, arbiter.player("bob").profile(accepting));
            Map<String, Double> scores = new HashMap<>();
            for (First bot : List.of(alice, bob, alice, bob)) { // the seek is made again after the first match
                FinishedMatch finished = soon(bot.ends);
                scores.merge(finished.matchId(), finished.score().orElseThrow(), Double::sum);
            }
            assertEquals(List.of(1.0, 1.0), List.copyOf(scores.values()));
            second.stop();
            second.await();
            first.stop();
            first.await();
            try (Client admin = arbiter.admin(null)) {
                assertEquals(List.of(), admin.listChallenges(10));
            }
        }
    }

    @Test
    void aMatchIsPlayedOverTlsWithCertificatesOnBothSides() throws Exception {
        certificates();
        Path root = folder.resolve("root.pem");
        Tls tls = new Tls(root, folder.resolve("client.pem"), folder.resolve("client.key"));
        try (Arbiter arbiter = new Arbiter(
                folder, "--tls-certificate", folder + "/server.pem", "--tls-key", folder + "/server.key",
                "--tls-client-authority", root.toString())) {
            First alice = new First(-1);
            Playing.start(alice, arbiter.player("alice").tls(tls).matches(1));
            Playing.start(new First(-1), arbiter.player("bob").tls(tls).matches(1));
            arbiter.present(tls, "alice", "bob");
            arbiter.pair("pods(size=3)", "alice", "bob", tls);
            assertEquals(Cause.CAUSE_RULES, soon(alice.ends).result().getCause());
            try (Client plain = new Client(arbiter.player("carol"))) {
                assertThrows(ConnectionFailedException.class, plain::serverInfo);
            }
        }
    }

    private void certificates() throws Exception {
        Files.writeString(folder.resolve("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
        String key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        openssl("req -x509 " + key + " -keyout root.key -out root.pem -subj /CN=root -days 2");
        for (String name : List.of("server", "client")) {
            openssl("req " + key + " -keyout " + name + ".key -out " + name + ".csr -subj /CN=" + name);
            openssl("x509 -req -in " + name + ".csr -out " + name
                    + ".pem -CA root.pem -CAkey root.key -CAcreateserial -days 1 -extfile names");
        }
    }

    private void openssl(String arguments) throws Exception {
        Process made = new ProcessBuilder(("openssl " + arguments).split(" "))
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .start();
        String said = new String(made.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assertEquals(0, made.waitFor(), said);
    }
}
