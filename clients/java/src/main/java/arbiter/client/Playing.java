package arbiter.client;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A bot that plays: {@link #run} for programs that do nothing else, {@link #start} for all others. */
public final class Playing {
    private static final Logger LOG = System.getLogger("arbiter.client");
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final long FAREWELL_WAIT_S = 5; // time limit for the server to end the stream after the bot
    private static final long WITHDRAWAL_WAIT_S = 2; // time limit for withdrawing the bot's seeks before that

    private final Bot bot;
    private final Options options;
    private final CompletableFuture<Void> stopped = new CompletableFuture<>();
    private final CompletableFuture<Void> done = new CompletableFuture<>();

    private Playing(Bot bot, Options options) {
        this.bot = bot;
        this.options = options;
    }

    /**
     * Plays a bot, without end or until enough matches have ended; returns when it is done, or interrupted by Ctrl-C or
     * SIGTERM. Throws ArbiterException if the server refuses the bot (SESSION_SUPERSEDED: the same player plays
     * elsewhere), or before anything is sent if one of its time controls is none (PARAMETER_INVALID);
     * ConnectionFailedException, CredentialsException, BotFailedException.
     */
    public static void run(Bot bot, Options options) {
        Playing playing = start(bot, options);
        Signals signals = new Signals(playing::stop);
        try {
            playing.await();
        } finally {
            signals.close();
        }
    }

    /** Begins to play a bot, in threads of its own. */
    public static Playing start(Bot bot, Options options) {
        Playing playing = new Playing(bot, options.copy());
        Caller.daemons("arbiter-play").newThread(playing::play).start();
        return playing;
    }

    /**
     * Stops the bot: its choices are interrupted, its open seeks withdrawn, its last acts sent, and the server's end of
     * the stream is awaited, for some seconds at most.
     */
    public void stop() {
        stopped.complete(null);
    }

    /** Waits for the end. Throws as {@link #run} does. */
    public void await() {
        try {
            done.join();
        } catch (CompletionException failure) {
            if (failure.getCause() instanceof ClientException error) {
                throw error;
            }
            throw failure;
        }
    }

    /** Is done once the run is over, with what {@link #await} throws. */
    CompletableFuture<Void> done() {
        return done;
    }

    private void play() {
        try {
            Profile profile = options.profile != null ? options.profile : bot.profile();
            profile.checkTimeControls();
            if (options.player().isEmpty()) {
                options.name = profile.name();
            }
            if (options.patience == null) {
                options.patience = PATIENCE;
            }
            try (Client client = new Client(options);
                    Caller caller = new Caller(bot, profile, options.onError, options.executor, options.hooks)) {
                if (identified(client) && begun(client, caller)) {
                    play(client, caller);
                }
            }
            done.complete(null);
        } catch (Throwable error) { // whoever waits for the end is told
            done.completeExceptionally(error);
        }
    }

    /** Sees to a token, unless the bot is stopped before; returns whether there is one. */
    private boolean identified(Client client) {
        CompletableFuture<Void> identity =
                CompletableFuture.runAsync(() -> identify(client), work -> Caller.daemons("arbiter-identity")
                        .newThread(work)
                        .start());
        try {
            CompletableFuture.anyOf(identity, stopped).join();
        } catch (CompletionException failure) {
            throw failure.getCause() instanceof ClientException error ? error : failure;
        }
        return identity.isDone();
    }

    /** Tells the bot that its run begins, unless it is stopped before; returns whether it knows. */
    private boolean begun(Client client, Caller caller) {
        CompletableFuture<Void> begun = new CompletableFuture<>();
        Callable<Void> telling = () -> {
            bot.playing(client);
            return null;
        };
        caller.callback("playing", telling, null, begun::complete);
        CompletableFuture.anyOf(begun, caller.outcome, stopped).exceptionally(error -> null).join();
        if (caller.outcome.isDone()) {
            check(caller.outcome);
        }
        return begun.isDone();
    }

    private void identify(Client client) {
        String name = options.player();
        if (client.connection().token().isEmpty()) {
            register(client, name);
        } else if (options.givenToken() == null) {
            try {
                client.myself();
            } catch (ArbiterException error) {
                if (error.reason() != Reason.TOKEN_INVALID) {
                    throw error;
                }
                // The stored token is unknown: the server at this address has a new database.
                client.connection().token("");
                register(client, name);
            }
        }
    }

    private void register(Client client, String name) {
        if (name.isEmpty()) {
            throw new CredentialsException(
                    "who plays? Give a name to register (--name, ARBITER_NAME), or a token (--token, ARBITER_TOKEN)");
        }
        String token;
        try {
            client.serverInfo();
        } catch (ArbiterException error) {
            // The server answers. A registration is not repeated, so the call before it waits for the server.
        }
        try {
            token = client.registerPlayer(name, "", options.invitation).getToken();
        } catch (ArbiterException error) {
            if (error.reason() != Reason.PLAYER_EXISTS) {
                throw error;
            }
            String message = "there is a player " + name
                    + " already: give its token (--token, ARBITER_TOKEN) or another name; "
                    + options.file().path() + " has none for it";
            throw new ArbiterException(error.reason(), message, error.code(), error.facts(), error);
        }
        options.file().save(client.servers(), name, token);
        client.connection().token(token);
    }

    private void play(Client client, Caller caller) throws InterruptedException {
        Outbox outbox = new Outbox();
        Slots slots = new Slots(caller.profile.mostMatches(), options.matches);
        Seeking seeker = new Seeking(caller.profile.seeks(), client, slots, caller.outcome::completeExceptionally);
        Policies policies = new Policies(caller, client, slots, seeker);
        Runner runner = new Runner(caller, client, outbox, slots, policies, options);
        Session session = new Session(client.connection(), outbox, runner, caller);
        CompletableFuture<Void> stream = session.start();
        try {
            CompletableFuture.anyOf(stream, caller.outcome, stopped).exceptionally(error -> null).join();
            if (stopped.isDone()) {
                caller.execute(runner::stopThinking);
            }
            if (!stream.isDone()) {
                farewell(seeker, session, stream);
            } else if (!caller.outcome.isDone() && !stopped.isDone()) {
                check(stream);
            }
            if (caller.outcome.isDone()) {
                check(caller.outcome);
            }
        } finally {
            seeker.stop();
            caller.execute(runner::stopThinking);
            session.stop();
        }
    }

    /** Withdraws the bot's seeks, sends its last acts, and waits until the server ends the stream too. */
    private static void farewell(Seeking seeker, Session session, CompletableFuture<Void> stream)
            throws InterruptedException {
        CompletableFuture<Void> withdrawal =
                CompletableFuture.runAsync(seeker::close, work -> Caller.daemons("arbiter-withdrawal")
                        .newThread(work)
                        .start());
        try {
            withdrawal.get(WITHDRAWAL_WAIT_S, TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException error) {
            LOG.log(Level.WARNING, "the bot's seeks may still be open: " + error);
        }
        session.stop();
        try {
            stream.get(FAREWELL_WAIT_S, TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException error) {
            LOG.log(Level.DEBUG, "the stream has not ended well: " + error);
        }
    }

    private static void check(CompletableFuture<Void> work) {
        try {
            work.join();
        } catch (CompletionException failure) {
            if (failure.getCause() instanceof ClientException error) {
                throw error;
            }
            throw failure;
        } catch (CancellationException ended) {
            return; // nobody waits for it
        }
    }
}
