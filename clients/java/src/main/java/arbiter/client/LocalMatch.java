package arbiter.client;

import arbiter.v1.CreateMatchRequest;
import arbiter.v1.MatchServiceGrpc;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A match of two bots of one program, without a server that somebody runs: for experiments, and for tests of a bot. Its
 * options: each method sets the part of its name and returns this.
 */
public final class LocalMatch {
    private static final List<String> PLAYERS = List.of("seat-1", "seat-2");

    private String timeControl = "none";
    private List<String> opening = List.of();
    private String position = "";
    private String program;

    /** Sets the time control, as on a server: two with a colon for time odds; by default there are no clocks. */
    public LocalMatch timeControl(String value) {
        timeControl = value;
        return this;
    }

    /** Sets the first moves, which nobody plays. */
    public LocalMatch opening(String... moves) {
        opening = List.of(moves);
        return this;
    }

    /** Sets the start position; by default the game's initial one. */
    public LocalMatch position(String value) {
        position = value;
        return this;
    }

    /** Sets the arbiter's command; by default ARBITER_COMMAND, or {@code arbiter}. */
    public LocalMatch program(String value) {
        program = value;
        return this;
    }

    /** Plays a match without clocks from the initial position, as the other method does. */
    public static FinishedMatch localMatch(Bot first, Bot second, String game) {
        return localMatch(first, second, game, new LocalMatch());
    }

    /**
     * Plays a match, and returns its end as the bot of seat 1 sees it; its match has the moves. It starts {@code arbiter
     * rules serve}, so the arbiter is to be installed. The bots are called and judged as on any server, and their own calls
     * work; their names are seat-1 and seat-2.
     *
     * <p>Throws ArbiterException for an unknown game, a wrong time control, position or opening, BotFailedException for an
     * exception of a bot, ConnectionFailedException if the rules can't be started or end before the match. A thread that
     * is interrupted ends the match.
     */
    public static FinishedMatch localMatch(Bot first, Bot second, String game, LocalMatch options) {
        String found = Environment.text(options.program) == null ? Environment.get("ARBITER_COMMAND") : options.program;
        try (Rules rules = new Rules(found == null ? "arbiter" : found)) {
            options.create(rules, game);
            AtomicReference<FinishedMatch> end = new AtomicReference<>();
            List<Playing> runs = new ArrayList<>();
            runs.add(rules.start(first, 0, end));
            runs.add(rules.start(second, 1, new AtomicReference<>()));
            await(rules, runs);
            return end.get();
        }
    }

    private void create(Rules rules, String game) {
        CreateMatchRequest request = CreateMatchRequest.newBuilder()
                .setRequestId(UUID.randomUUID().toString())
                .setGame(game)
                .addAllPlayers(PLAYERS)
                .setTimeControl(timeControl)
                .addAllOpening(opening)
                .setPosition(position)
                .build();
        try (Client organiser = new Client(rules.options("admin"))) {
            organiser.ask(MatchServiceGrpc::newBlockingStub, stub -> stub.createMatch(request));
        }
    }

    /** Waits for both runs. The first error, or the end of the rules, stops them; it is thrown once both are over. */
    private static void await(Rules rules, List<Playing> runs) {
        CompletableFuture<Void> failed = new CompletableFuture<>();
        runs.forEach(run -> run.done().whenComplete((nothing, error) -> {
            if (error != null) {
                failed.completeExceptionally(error);
            }
        }));
        CompletableFuture<?> both = CompletableFuture.allOf(runs.get(0).done(), runs.get(1).done());
        CompletableFuture<?> any = CompletableFuture.anyOf(both, failed, rules.over());
        try {
            any.get();
            if (!both.isDone()) {
                throw rules.lost();
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CompletionException(interrupted);
        } catch (ExecutionException failure) {
            if (failure.getCause() instanceof ClientException error) {
                throw error;
            }
            throw new CompletionException(failure.getCause());
        } finally {
            runs.forEach(Playing::stop);
            if (!Thread.currentThread().isInterrupted()) {
                both.exceptionally(error -> null).join();
            }
        }
    }

    /** Returns the name of a player, by seat from 0. */
    static String player(int seat) {
        return PLAYERS.get(seat);
    }
}
