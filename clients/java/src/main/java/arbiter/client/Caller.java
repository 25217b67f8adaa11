package arbiter.client;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * The threads of a run. The state of the matches belongs to one thread, the loop, which handles one event after the
 * other and never blocks. Calls of the server run in threads of their own. The bot's methods run there too, or in the
 * executor of the run's options.
 */
final class Caller implements Executor, AutoCloseable {
    private static final Logger LOG = System.getLogger("arbiter.client");

    final Bot bot;
    final Profile profile;
    /** Done once the run is; with the exception that ends it, if one does. */
    final CompletableFuture<Void> outcome = new CompletableFuture<>();

    private final Hooks hooks;
    private final Options.OnError onError;
    private final ScheduledThreadPoolExecutor loop = new ScheduledThreadPoolExecutor(
            1, daemons("arbiter-loop"), new ThreadPoolExecutor.DiscardPolicy());
    private final ExecutorService workers = Executors.newCachedThreadPool(daemons("arbiter-bot"));
    private final Executor bots;

    /** Takes who calls the bot's methods; null for threads of the run's own. */
    Caller(Bot bot, Profile profile, Options.OnError onError, Executor bots, Hooks hooks) {
        this.bot = bot;
        this.hooks = hooks;
        this.profile = profile;
        this.onError = onError;
        this.bots = bots == null ? workers : bots;
        loop.setRemoveOnCancelPolicy(true);
        loop.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    /** Runs a function in the loop; after the end it is not run. */
    @Override
    public void execute(Runnable work) {
        loop.execute(guarded(work));
    }

    /** Runs a function in the loop, later. */
    void later(long ms, Runnable work) {
        loop.schedule(guarded(work), ms, TimeUnit.MILLISECONDS);
    }

    /** Calls the server in a thread of its own; the loop gets the result: a value, or an exception. */
    <T> void call(Callable<T> work, BiConsumer<T, Throwable> then) {
        begin(workers, work, then);
    }

    /** Calls the bot in the place for its methods; the loop gets the result as in {@link #call}. */
    <T> void ask(Callable<T> work, BiConsumer<T, Throwable> then) {
        begin(bots, work, then);
    }

    private <T> void begin(Executor where, Callable<T> work, BiConsumer<T, Throwable> then) {
        if (outcome.isDone() && workers.isShutdown()) {
            return;
        }
        Runnable begun = () -> {
            T value;
            try {
                value = work.call();
            } catch (Throwable error) { // whatever a bot throws costs no more than it says
                execute(() -> then.accept(null, error));
                return;
            }
            execute(() -> then.accept(value, null));
        };
        try {
            where.execute(begun);
        } catch (RejectedExecutionException full) {
            execute(() -> then.accept(null, full));
        }
    }

    /** Calls a callback of the bot; the loop gets its result, or the default if it throws. */
    <T> void callback(String name, Callable<T> work, T byDefault, Consumer<T> then) {
        ask(work, (value, error) -> {
            if (error != null) {
                String where = who() + " failed in " + name;
                if (onError == Options.OnError.RAISE) {
                    stopFor(where, error);
                } else {
                    LOG.log(Level.ERROR, where, error);
                }
            }
            then.accept(error == null ? value : byDefault);
        });
    }

    /** Calls a hook; one that throws is logged, and costs nothing else. */
    void hook(Consumer<Hooks> call) {
        try {
            call.accept(hooks);
        } catch (Throwable error) { // whatever it throws
            LOG.log(Level.ERROR, "a hook failed", error);
        }
    }

    /** Handles an error of the bot in its turn: logs it, and returns whether it resigns by the run's policy. */
    boolean failed(String matchId, int ply, Throwable error) {
        String where = who() + " failed in match " + matchId + " at ply " + ply;
        if (onError == Options.OnError.RAISE) {
            stopFor(where, error);
            return false;
        }
        boolean resigns = onError == Options.OnError.RESIGN;
        String said = where + ", and " + (resigns ? "it resigns" : "its clock runs on") + ": " + error;
        // The text of a refusal is clear by itself; any other error needs its trace.
        LOG.log(Level.ERROR, said, error instanceof ArbiterException ? null : error);
        return resigns;
    }

    /** Ends everything; the results of calls under way are ignored. */
    @Override
    public void close() {
        outcome.cancel(false);
        loop.shutdown();
        workers.shutdown();
    }

    private String who() {
        return profile.name().isEmpty() ? "the bot" : profile.name();
    }

    private void stopFor(String where, Throwable error) {
        outcome.completeExceptionally(new BotFailedException(where + ": " + error, error));
    }

    private Runnable guarded(Runnable work) {
        return () -> {
            try {
                work.run();
            } catch (Throwable error) { // an error of the client itself must not get lost in a thread
                outcome.completeExceptionally(error);
            }
        };
    }

    static ThreadFactory daemons(String name) {
        return work -> {
            Thread thread = new Thread(work, name);
            thread.setDaemon(true);
            return thread;
        };
    }
}
