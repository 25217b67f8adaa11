package arbiter.client;

import static arbiter.client.LocalMatch.localMatch;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import arbiter.v1.Cause;
import arbiter.v1.LegalMove;
import arbiter.v1.Terms;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Matches of two bots of one program, without a server that somebody runs. */
@Timeout(value = 1_200, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LocalMatchTest {
    @TempDir
    Path folder;

    /** Plays any legal move. */
    private static final class AtRandom implements Bot {
        @Override
        public Choice choose(Turn turn) {
            List<LegalMove> moves = turn.legalMoves();
            return new Move(moves.get(ThreadLocalRandom.current().nextInt(moves.size())).getText());
        }
    }

    /** Makes its choices one after the other, and then resigns, or waits for the end if it accepts draws. */
    private static class Local implements Bot {
        final List<Turn> turns = new ArrayList<>();
        final List<String> told = new ArrayList<>();
        private final Deque<Choice> choices;
        private final boolean accepts;

        Local(boolean accepts, Choice... choices) {
            this.accepts = accepts;
            this.choices = new ArrayDeque<>(List.of(choices));
        }

        Local(Choice... choices) {
            this(false, choices);
        }

        @Override
        public Profile profile() {
            Terms pods = Terms.newBuilder().setGame("pods").build();
            Extras extras = new Extras(true, true, 500, false);
            return Profile.named("local").games("hop-it").seeks(List.of(pods)).extras(extras).build();
        }

        @Override
        public Choice choose(Turn turn) throws Exception {
            turns.add(turn);
            if (accepts) {
                new CountDownLatch(1).await(); // until the match has ended
            }
            return choices.isEmpty() ? new Choice.Resign() : choices.remove();
        }

        @Override
        public void started(LiveMatch match) {
            told.add(match.seat() + " against " + match.opponent());
        }

        @Override
        public void ended(FinishedMatch finished) {
            told.add(finished.seat() + " has " + finished.score().orElseThrow());
        }

        @Override
        public boolean drawOffered(DrawOffer offer) {
            return accepts;
        }
    }

    private static String program() throws IOException {
        String given = Environment.get("ARBITER_COMMAND");
        return given == null ? new File("../../.venv/bin/arbiter").getCanonicalPath() : given;
    }

    private static LocalMatch options() throws IOException {
        return new LocalMatch().program(program());
    }

    @Test
    void itsBotsAreToldWhatAServerTells() throws Exception {
        Local first = new Local(new Move("a2"));
        Local second = new Local();
        LocalMatch options = options().timeControl("5m:2m").opening("a1", "b1");
        FinishedMatch finished = localMatch(first, second, "pods(size=3)", options);
        assertEquals("resignation", finished.result().getReason());
        assertEquals(List.of("1 against seat-2", "1 has 1.0"), first.told);
        assertEquals(List.of("2 against seat-1", "2 has 0.0"), second.told);
        Turn turn = first.turns.get(0);
        assertEquals(2, turn.ply());
        assertEquals(2, turn.match().openingPlies());
        assertEquals(2, turn.clocks().size());
        assertEquals("5m", turn.match().timeControl());
        assertEquals("5m:2m", turn.match().matchTimeControl());
        assertEquals(turn.legalMoveCount().orElseThrow(), turn.legalMoves().size());
        assertFalse(turn.board().isEmpty());
        assertEquals(List.of("a1", "b1", "a2"), second.turns.get(0).moves());
    }

    @Test
    void aLocalMatchIsPlayedToItsEndAndOneBotMayPlayBothSeats() throws Exception {
        Map<Integer, Set<String>> names = Map.of(1, ConcurrentHashMap.newKeySet(), 2, ConcurrentHashMap.newKeySet());
        Bot bot = turn -> {
            names.get(turn.seat()).add(turn.client().myself().getPlayer().getName());
            return new AtRandom().choose(turn);
        };
        FinishedMatch finished = localMatch(bot, bot, "pods(size=3)", options());
        assertEquals(Cause.CAUSE_RULES, finished.result().getCause());
        assertEquals("seat-2", finished.opponent());
        assertFalse(finished.match().orElseThrow().moves().isEmpty());
        assertEquals(Map.of(1, Set.of("seat-1"), 2, Set.of("seat-2")), names);
    }

    @Test
    void aLineBeginsAtTheStartPosition() throws Exception {
        String start = "7k/5Q2/6K1/8/8/8/8/8 w - - 0 1";
        Local first = new Local(new Move("f7g7"));
        FinishedMatch finished = localMatch(first, new Local(), "chess", options().position(start));
        assertEquals("checkmate", finished.result().getReason());
        assertEquals(start, first.turns.get(0).line().position());
        assertTrue(OpeningBook.parse("chess e2e4").move(first.turns.get(0)).isEmpty());
    }

    @Test
    void illegalMovesAreRefusedAndDrawsOffered() throws Exception {
        Local first = new Local(new Move("nonsense"), new Choice.OfferDraw(new Move("e2e4")));
        FinishedMatch finished = localMatch(first, new Local(true), "chess", options());
        assertEquals(Cause.CAUSE_AGREEMENT, finished.result().getCause());
        assertEquals(Reason.MOVE_MALFORMED, first.turns.get(1).refused().orElseThrow().reason());
    }

    @Test
    void theMatchOfTheReadme() throws Exception {
        String arbiter = program();
        Bot first = new AtRandom();
        Bot second = new Local();
        LocalMatch options = new LocalMatch().timeControl("1m+1s").program(arbiter);
        FinishedMatch finished = localMatch(first, second, "pods", options);
        assertEquals(1, finished.score().orElseThrow());
    }

    @Test
    void itsErrorsAreNamed() throws Exception {
        ArbiterException refused = assertThrows(
                ArbiterException.class, () -> localMatch(new Local(), new Local(), "ludo", options()));
        assertEquals(Reason.GAME_UNKNOWN, refused.reason());
        LocalMatch nowhere = options().program(folder.resolve("arbiter").toString());
        ConnectionFailedException lost = assertThrows(
                ConnectionFailedException.class, () -> localMatch(new Local(), new Local(), "pods", nowhere));
        assertTrue(lost.getMessage().contains("ARBITER_COMMAND"), lost::getMessage);
        Bot failing = turn -> {
            throw new IllegalStateException("no idea");
        };
        BotFailedException failed =
                assertThrows(BotFailedException.class, () -> localMatch(failing, new Local(), "pods", options()));
        assertTrue(failed.getMessage().contains("no idea"), failed::getMessage);
    }

    @Test
    void rulesThatAreKilledEndItWithAnError() throws Exception {
        Path program = folder.resolve("arbiter");
        Path noted = folder.resolve("pid");
        Files.writeString(
                program, "#!/bin/sh\necho $$ > " + noted + "\nexec " + program() + " \"$@\"\n");
        assertTrue(program.toFile().setExecutable(true));
        Bot killing = turn -> {
            long pid = Long.parseLong(Files.readString(noted).strip());
            ProcessHandle.of(pid).orElseThrow().destroyForcibly();
            new CountDownLatch(1).await(); // until the match is over
            return new Choice.Resign();
        };
        LocalMatch options = options().program(program.toString());
        ConnectionFailedException lost = assertThrows(
                ConnectionFailedException.class, () -> localMatch(killing, new Local(), "pods", options));
        assertTrue(lost.getMessage().endsWith("has ended before the match: exit code 137"), lost::getMessage);
    }
}
