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
 * Where a run's work is done: what knows of the matches, in one thread, the loop, one thing after the other and never for
 * long; calls of the server, in threads of their own; the bot's methods there too, or where the run's options say.
 */
final class Caller implements Executor, AutoCloseable {
    private static final Logger LOG = System.getLogger("arbiter.client");

    final Bot bot;
    final Profile profile;
    /** Done once the run is; with the exception that ends it, if one does. */
    final CompletableFuture<Void> outcome = new CompletableFuture<>();

    private final Options.OnError onError;
    private final ScheduledThreadPoolExecutor loop = new ScheduledThreadPoolExecutor(
            1, daemons("arbiter-loop"), new ThreadPoolExecutor.DiscardPolicy());
    private final ExecutorService workers = Executors.newCachedThreadPool(daemons("arbiter-bot"));
    private final Executor bots;

    /** Takes who calls the bot's methods; null for threads of the run's own. */
    Caller(Bot bot, Profile profile, Options.OnError onError, Executor bots) {
        this.bot = bot;
        this.profile = profile;
        this.onError = onError;
        this.bots = bots == null ? workers : bots;
        loop.setRemoveOnCancelPolicy(true);
        loop.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    /** Has something done in the loop; after the end it is not done. */
    @Override
    public void execute(Runnable work) {
        loop.execute(guarded(work));
    }

    /** Has something done in the loop, later. */
    void later(long ms, Runnable work) {
        loop.schedule(guarded(work), ms, TimeUnit.MILLISECONDS);
    }

    /** Has the server asked in a thread of its own, and the loop told what came of it: a value, or what was thrown. */
    <T> void call(Callable<T> work, BiConsumer<T, Throwable> then) {
        begin(workers, work, then);
    }

    /** Has the bot asked, where its methods are called; the loop is told as by {@link #call}. */
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

    /** Calls a callback of the bot; the loop is told what it returns, or the default where it throws. */
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

    /** Deals with a bot that failed at its turn, loudly and as the run's policy says; returns whether it resigns. */
    boolean failed(String matchId, int ply, Throwable error) {
        String where = who() + " failed in match " + matchId + " at ply " + ply;
        if (onError == Options.OnError.RAISE) {
            stopFor(where, error);
            return false;
        }
        boolean resigns = onError == Options.OnError.RESIGN;
        String said = where + ", and " + (resigns ? "it resigns" : "its clock runs on") + ": " + error;
        // A refusal that was thrown on the way has a clear text of its own; the trace of anything else is the news.
        LOG.log(Level.ERROR, said, error instanceof ArbiterException ? null : error);
        return resigns;
    }

    /** Ends everything; what is under way goes on in vain. */
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
            } catch (Throwable error) { // this client's own: it must not disappear in a thread that nobody asks
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
