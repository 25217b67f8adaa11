package arbiter.client;

import static arbiter.client.Peer.ended;
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
import arbiter.v1.Phase;
import arbiter.v1.Ping;
import arbiter.v1.PlayAct;
import arbiter.v1.PlayItem;
import arbiter.v1.Receipt;
import arbiter.v1.Refusal;
import arbiter.v1.RefusalReason;
import com.google.protobuf.UnknownFieldSet;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a bot says on its stream, whatever happens to that. */
@Timeout(value = 1_200, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SessionTest {
    /** Chooses what it is told to, when it is told. */
    private static final class Told implements Bot {
        final BlockingQueue<Turn> asked = new LinkedBlockingQueue<>();
        final BlockingQueue<Choice> choices = new LinkedBlockingQueue<>();
        final BlockingQueue<FinishedMatch> ends = new LinkedBlockingQueue<>();
        final BlockingQueue<Client> clients = new LinkedBlockingQueue<>();
        final BlockingQueue<String> started = new LinkedBlockingQueue<>();
        final CountDownLatch prepared = new CountDownLatch(1);

        @Override
        public void playing(Client client) {
            clients.add(client);
        }

        @Override
        public void started(LiveMatch match) throws InterruptedException {
            started.add(match.matchId());
            if (match.matchId().equals("prepared")) {
                prepared.await();
            }
        }

        @Override
        public Choice choose(Turn turn) throws InterruptedException {
            asked.add(turn);
            return choices.take();
        }

        @Override
        public void ended(FinishedMatch finished) {
            ends.add(finished);
        }
    }

    private final BlockingQueue<String> hooked = new LinkedBlockingQueue<>();
    private final Hooks hooks = new Hooks() {
        @Override
        public void connected(String server, String player) {
            hooked.add("connected as " + player);
        }

        @Override
        public void disconnected(String server, ClientException error) {
            hooked.add("disconnected");
            throw new IllegalStateException("a hook that fails costs nothing else");
        }

        @Override
        public void thought(Turn turn, java.time.Duration time) {
            hooked.add("thought at " + turn.ply());
        }

        @Override
        public void refused(Turn turn, ArbiterException error) {
            hooked.add("refused at " + turn.ply() + ": " + error.reason());
        }
    };
    private final Told bot = new Told();
    private Peer peer;
    private Playing playing;

    @BeforeEach
    void start() throws Exception {
        peer = new Peer();
        playing = Playing.start(bot, peer.options().matches(1).hooks(hooks));
    }

    @AfterEach
    void stop() {
        playing.stop();
        peer.close();
    }

    /** Returns the stream that the bot opens next, greeted, on which the first items have been said. */
    private Peer.Stream told(PlayItem.Builder... items) throws Exception {
        Peer.Stream stream = peer.stream();
        stream.meet();
        stream.say(items);
        return stream;
    }

    private static PlayItem.Builder answered(PlayAct act) {
        Receipt receipt = Receipt.newBuilder().setPly(act.getMove().getPly() + 1).build();
        return PlayItem.newBuilder()
                .setAnswer(MoveAnswer.newBuilder().setRequestId(act.getRequestId()).setReceipt(receipt));
    }

    private static PlayItem.Builder refused(PlayAct act, RefusalReason reason, Status.Code code) {
        Refusal refusal = Refusal.newBuilder().setReason(reason).setCode(code.value()).build();
        return PlayItem.newBuilder()
                .setAnswer(MoveAnswer.newBuilder().setRequestId(act.getRequestId()).setRefusal(refusal));
    }

    private static PlayItem.Builder ping(long number) {
        return PlayItem.newBuilder().setPing(Ping.newBuilder().setNumber(number));
    }

    private static PlayItem.Builder waiting(Phase phase) {
        PlayItem.Builder item = match("prepared");
        item.getMatchBuilder().setPhase(phase);
        return item;
    }

    private static void readReady(Peer.Stream stream) throws Exception {
        PlayAct act = stream.read();
        assertTrue(act.hasReady(), act.toString());
        assertEquals("prepared", act.getMatchId());
    }

    @Test
    void theServerHearsOnceTheBotIsReadyForAMatchThatWaits() throws Exception {
        Peer.Stream stream = peer.stream();
        assertEquals(List.of("ready"), stream.meet().getHello().getCapabilitiesList());
        stream.say(waiting(Phase.PHASE_PENDING));
        soon(bot.started);
        stream.say(ping(7));
        assertEquals(7, stream.read().getPong().getNumber());
        bot.prepared.countDown();
        readReady(stream);
        stream.say(waiting(Phase.PHASE_PAUSED));
        readReady(stream);
        stream.say(waiting(Phase.PHASE_ACTIVE), turn("prepared", 0));
        bot.choices.add(new Move("a"));
        assertEquals("a", stream.read().getMove().getMove());
    }

    @Test
    void aPingIsAnsweredWhileTheBotThinks() throws Exception {
        Peer.Stream stream = peer.stream();
        assertEquals("arbiter-client-java", stream.meet().getHello().getSoftware());
        stream.say(match("m"), turn("m", 0));
        soon(bot.asked);
        stream.say(ping(7));
        assertEquals(7, stream.read().getPong().getNumber());
        bot.choices.add(new Move("a"));
        assertEquals("a", stream.read().getMove().getMove());
    }

    @Test
    void nothingButTheHelloIsSaidBeforeTheServersHello() throws Exception {
        Peer.Stream first = told(turn("m", 0));
        soon(bot.asked);
        first.end(Peer.lost());
        Peer.Stream second = peer.stream();
        assertTrue(second.read().hasHello());
        bot.choices.add(new Move("a"));
        second.say(ping(1));
        assertTrue(second.read().hasPong());
        second.say(PlayItem.newBuilder().setHello(arbiter.v1.ServerHello.newBuilder().setPlayer("alice")));
        assertEquals("a", second.read().getMove().getMove()); // the thought has outlived its connection
    }

    @Test
    void aTurnToldAgainIsNotChosenForAgain() throws Exception {
        Peer.Stream stream = told(turn("m", 0), turn("m", 0));
        soon(bot.asked);
        stream.say(turn("m", 0));
        bot.choices.add(new Move("a"));
        PlayAct move = stream.read();
        stream.say(turn("m", 0), answered(move), turn("m", 0));
        bot.choices.add(new Move("b"));
        Match whole = Match.newBuilder().addMoves("a").addMoves("x").build();
        peer.match = whole;
        stream.say(turn("m", 2));
        Turn next = soon(bot.asked);
        assertEquals(2, next.ply());
        assertEquals(List.of("a", "x"), next.moves()); // the gap was closed by asking
        assertEquals(2, stream.read().getMove().getPly());
        assertTrue(bot.asked.isEmpty() && stream.isSilent());
    }

    @Test
    void aLaterTurnEndsTheThoughtOfAnOlderOne() throws Exception {
        Peer.Stream stream = peer.stream();
        stream.meet();
        peer.match = Match.newBuilder().addMoves("x").addMoves("y").build();
        stream.say(turn("m", 0));
        Turn old = soon(bot.asked);
        stream.say(turn("m", 2));
        soon(bot.asked);
        assertTrue(old.over());
        bot.choices.add(new Move("a"));
        bot.choices.add(new Move("a"));
        assertEquals(2, stream.read().getMove().getPly());
        stream.say(ping(1));
        assertTrue(stream.read().hasPong(), "the older choice is not said");
    }

    @Test
    void anOutageIsOneLineWhenItBeginsAndOneWhenItIsOver() throws Exception {
        try (Logged logged = new Logged()) {
            told(match("m"), turn("m", 0)).end(Peer.lost());
            for (int failure = 0; failure < 3; failure++) {
                peer.stream().end(Peer.lost());
            }
            told();
            soon(bot.asked);
            String there = peer.options().addresses().get(0); // runs of other tests may be ending
            List<String> lines = logged.until("connected to " + there + ".* again.*");
            assertEquals(1, count(lines, "INFO connected to " + there + " as alice"), lines + "");
            assertEquals(1, count(lines, "WARNING connection lost, trying again at " + there + " until.*"), lines + "");
            assertEquals(1, count(lines, "WARNING connected to " + there + " as alice again, after [0-9.]+ s"), lines + "");
            assertEquals(3, count(lines, "(INFO|WARNING) .* " + there + "( .*)?"), lines + "");
        }
    }

    @Test
    void hooksAreCalledInTheOrderOfWhatHappens() throws Exception {
        Peer.Stream stream = told(turn("m", 0));
        bot.choices.add(new Move("a"));
        stream.say(refused(stream.read(), RefusalReason.REFUSAL_REASON_MOVE_ILLEGAL, Status.Code.FAILED_PRECONDITION));
        bot.choices.add(new Move("b"));
        assertEquals("b", stream.read().getMove().getMove());
        stream.end(Peer.lost());
        told();
        for (String call : List.of("connected as alice", "thought at 0", "refused at 0: MOVE_ILLEGAL", "thought at 0")) {
            assertEquals(call, soon(hooked));
        }
        assertEquals("disconnected", soon(hooked));
        assertEquals("connected as alice", soon(hooked));
    }

    @Test
    void aBotHasTheClientFromTheStartOfItsRun() throws Exception {
        assertEquals(peer.options().addresses().get(0), soon(bot.clients).server());
    }

    @Test
    void aMatchInWhichTheBotHasMovedGoesOn() throws Exception {
        try (Logged logged = new Logged()) {
            PlayItem.Builder first = match("first"); // the opponent has moved, or nobody
            first.getMatchBuilder().setPly(3).setOpeningPlies(2).setTurn(1);
            PlayItem.Builder later = match("later"); // in which the bot moved first
            later.getMatchBuilder().setPly(3).setOpeningPlies(2).setTurn(2);
            told(first, later, match("new"));
            List<String> lines = logged.until("INFO new begins.*");
            assertEquals(1, count(lines, "INFO first begins: pods as seat 1 against bob"), lines + "");
            assertEquals(1, count(lines, "INFO later goes on: pods as seat 1 against bob"), lines + "");
        }
    }

    private static long count(List<String> lines, String pattern) {
        return lines.stream().filter(line -> line.matches(pattern)).count();
    }

    @Test
    void theSentenceOfARefusalIsInTheLog() throws Exception {
        try (Logged logged = new Logged()) {
            Peer.Stream stream = told(turn("m", 0));
            for (String move : List.of("a", "b")) {
                bot.choices.add(new Move(move));
                String id = stream.read().getRequestId();
                Refusal refusal = Refusal.newBuilder()
                        .setReason(RefusalReason.REFUSAL_REASON_MOVE_ILLEGAL)
                        .setCode(Status.Code.FAILED_PRECONDITION.value())
                        .setMessage("no piece of yours is at " + move)
                        .build();
                stream.say(PlayItem.newBuilder()
                        .setAnswer(MoveAnswer.newBuilder().setRequestId(id).setRefusal(refusal)));
            }
            assertTrue(stream.read().hasResign());
            logged.until(".*refused in match m: no piece of yours is at a");
            logged.until(".*it resigns: .*no piece of yours is at b");
        }
    }

    @Test
    void unansweredRequestsAreSentAgainWithTheirIdsInTheirOrder() throws Exception {
        Peer.Stream first = told(turn("m", 0), turn("n", 0));
        bot.choices.add(new Choice.OfferDraw(new Move("a")));
        List<String> ids = new ArrayList<>();
        ids.add(first.read().getRequestId());
        ids.add(first.read().getRequestId());
        bot.choices.add(new Move("b"));
        ids.add(first.read().getRequestId());
        first.end(Peer.lost());
        Peer.Stream second = peer.stream();
        second.meet();
        for (String id : ids) {
            assertEquals(id, second.read().getRequestId());
        }
    }

    @Test
    void aTemporaryRefusalRepeatsTheSameRequestAndAnotherAsksTheBot() throws Exception {
        Peer.Stream stream = told(turn("m", 0));
        bot.choices.add(new Move("a"));
        PlayAct act = stream.read();
        stream.say(refused(act, RefusalReason.REFUSAL_REASON_STORE_UNAVAILABLE, Status.Code.UNAVAILABLE));
        assertEquals(act, stream.read());
        soon(bot.asked);
        stream.say(refused(act, RefusalReason.REFUSAL_REASON_MOVE_ILLEGAL, Status.Code.FAILED_PRECONDITION));
        assertEquals(Reason.MOVE_ILLEGAL, soon(bot.asked).refused().orElseThrow().reason());
        bot.choices.add(new Move("b"));
        PlayAct other = stream.read();
        assertEquals("b", other.getMove().getMove());
        stream.say(refused(other, RefusalReason.REFUSAL_REASON_MOVE_ILLEGAL, Status.Code.FAILED_PRECONDITION));
        assertTrue(stream.read().hasResign());
    }

    @Test
    void whatIsNewerIsPassedOver() throws Exception {
        Peer.Stream stream = peer.stream();
        stream.meet();
        UnknownFieldSet.Field field = UnknownFieldSet.Field.newBuilder().addVarint(1).build();
        UnknownFieldSet newer = UnknownFieldSet.newBuilder().addField(999, field).build();
        stream.say(PlayItem.newBuilder(), PlayItem.newBuilder().setUnknownFields(newer), turn("m", 0));
        assertEquals(0, soon(bot.asked).ply());
    }

    @Test
    void anEndIsAcknowledgedAndEndsTheRun() throws Exception {
        Peer.Stream stream = told(match("m"), turn("m", 0));
        Turn turn = soon(bot.asked);
        stream.say(ended("m", "c1"));
        assertEquals(Optional.of(turn.match()), soon(bot.ends).match());
        assertTrue(turn.over());
        assertEquals("c1", stream.read().getAcknowledge().getCursor());
        assertEquals("completed", soon(stream.ended));
        playing.await();
    }

    @Test
    void aSupersededSessionEndsTheRun() throws Exception {
        Peer.Stream stream = peer.stream();
        stream.meet();
        Refusal notice = Refusal.newBuilder()
                .setReason(RefusalReason.REFUSAL_REASON_SESSION_SUPERSEDED)
                .setCode(Status.Code.ABORTED.value())
                .build();
        stream.say(PlayItem.newBuilder().setNotice(notice));
        stream.end(Peer.lost());
        ArbiterException error = assertThrows(ArbiterException.class, playing::await);
        assertEquals(Reason.SESSION_SUPERSEDED, error.reason());
        assertTrue(peer.streams.isEmpty());
    }

    @Test
    void anErrorOfTheBotCostsOneMatch() throws Exception {
        Peer.Stream stream = told(turn("m", 0));
        soon(bot.asked);
        stream.say(turn("n", 0));
        soon(bot.asked);
        bot.choices.add(new Choice.OfferDraw(null)); // no move in it
        assertTrue(stream.read().hasResign());
        bot.choices.add(new Move("a"));
        assertTrue(stream.read().hasMove());
    }

    @Test
    void aWatchedMatchIsTakenUpAfterItsLastRevision() throws Exception {
        peer.observing = (request, answer) -> {
            long after = request.getMatch().getAfterRevision();
            ObserveResponse.Builder response = ObserveResponse.newBuilder();
            for (long revision = Math.max(1, after); revision <= after + 2; revision++) { // one of them known already
                MatchEvent event = MatchEvent.newBuilder().setRevision(revision).build();
                response.addItems(ObserveItem.newBuilder().setEvent(event));
            }
            answer.onNext(response.build());
            if (after < 4) {
                answer.onError(Peer.lost());
            } else {
                answer.onCompleted();
            }
        };
        List<Long> revisions = new ArrayList<>();
        try (Client client = new Client(peer.options());
                Observation events = client.observe("m", 0)) {
            for (var event = events.nextEvent(); event.isPresent(); event = events.nextEvent()) {
                revisions.add(event.get().getRevision());
            }
        }
        assertEquals(List.of(1L, 2L, 3L, 4L, 5L, 6L), revisions);
        assertEquals(3, peer.observed.size());
    }
}
