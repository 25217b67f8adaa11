package arbiter.client;

import arbiter.v1.PlayAct;
import arbiter.v1.PlayItem;
import arbiter.v1.PlayRequest;
import arbiter.v1.PlayResponse;
import arbiter.v1.PlayServiceGrpc;
import arbiter.v1.Pong;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A bot's session: one Play stream after another, until it is stopped or the server does not want it. Once all addresses
 * have failed, the first connection is tried again for the connection's patience; a lost one is tried again at all
 * addresses until it is back.
 */
final class Session {
    private static final Logger LOG = System.getLogger("arbiter.client");
    private static final long HELLO_WAIT_MS = 10_000; // time limit for the server's hello

    private final Profile profile;
    private final Connection connection;
    private final Outbox outbox;
    private final Runner runner;
    private final Caller caller;
    private final CountDownLatch stopping = new CountDownLatch(1);
    private final Addresses.Tries tries;
    private final Outage outage = new Outage(System::nanoTime);
    private boolean met;

    Session(Connection connection, Outbox outbox, Runner runner, Caller caller) {
        this.profile = caller.profile;
        this.connection = connection;
        this.tries = connection.addresses.new Tries();
        this.outbox = outbox;
        this.runner = runner;
        this.caller = caller;
    }

    /**
     * Begins to play; the returned future is done at the end, with a ClientException if the server ends the session
     * finally.
     */
    CompletableFuture<Void> start() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        Runnable work = () -> {
            try {
                run();
                done.complete(null);
            } catch (Throwable error) { // whoever waits for the end is told
                done.completeExceptionally(error);
            }
        };
        Caller.daemons("arbiter-session").newThread(work).start();
        return done;
    }

    /** Sends the last acts and ends the stream; the session is done once the server has ended it too. */
    void stop() {
        stopping.countDown();
        outbox.close();
    }

    private void run() throws InterruptedException {
        Long giveUp = null; // until all addresses have failed
        while (true) {
            Connection.Way way = connection.way();
            ClientException error = oneStream(way);
            if (stopping.getCount() == 0) {
                return;
            }
            if (error instanceof ArbiterException refusal && !passes(refusal)) {
                throw refusal;
            }
            long pauseMs = tries.failed(way.address(), error);
            if (met) {
                Level level = outage.failed();
                if (level == Level.WARNING) {
                    caller.execute(() -> caller.hook(hooks -> hooks.disconnected(way.address(), error)));
                }
                LOG.log(level, "connection lost, trying again at " + connection.addresses.current()
                        + " until it is back: " + error.getMessage());
            } else if (pauseMs > 0) {
                long now = System.nanoTime();
                giveUp = giveUp == null ? now + connection.patience.toNanos() : giveUp;
                if (now + TimeUnit.MILLISECONDS.toNanos(pauseMs) - giveUp > 0) {
                    throw tries.allFailed(error);
                }
                connection.sayWaiting(error);
            }
            if (stopping.await(pauseMs, TimeUnit.MILLISECONDS)) {
                return;
            }
            connection.renew(way);
        }
    }

    /** Holds one stream for as long as it lasts, and returns why it ended. */
    private ClientException oneStream(Connection.Way way) throws InterruptedException {
        Stream stream = new Stream(way.address());
        PlayServiceGrpc.newStub(way.channel()).play(stream);
        ClientException error = stream.await();
        outbox.leave(stream.said);
        if (stream.greeted) {
            met = true;
            tries.reset();
        }
        // If the end has no reason, the server may have announced one before.
        ArbiterException notice = stream.notice;
        return error instanceof ConnectionFailedException && notice != null ? notice : error;
    }

    /** Returns whether to try a new stream after one that ended with this refusal. */
    private static boolean passes(ArbiterException refusal) {
        boolean last = refusal.reason() == Reason.SESSION_SUPERSEDED || refusal.reason() == Reason.MESSAGE_TOO_LARGE;
        return refusal.passing() && !last;
    }

    private static String seconds(Duration time) {
        return String.format(Locale.ROOT, "%.1f s", time.toMillis() / 1_000.0);
    }

    /** The reader of one stream. It answers pings itself, and hands everything else to the loop. */
    private final class Stream implements ClientResponseObserver<PlayRequest, PlayResponse> {
        private final String address;
        private final CompletableFuture<ClientException> end = new CompletableFuture<>();
        private ClientCallStreamObserver<PlayRequest> said;
        private volatile long heardNs = System.nanoTime();
        private volatile long silenceMs = HELLO_WAIT_MS;
        private volatile boolean greeted;
        private volatile ArbiterException notice;

        Stream(String address) {
            this.address = address;
        }

        @Override
        public void beforeStart(ClientCallStreamObserver<PlayRequest> requests) {
            said = requests;
            outbox.hold(profile.hello(), requests);
            requests.setOnReadyHandler(outbox::drain);
        }

        @Override
        public void onNext(PlayResponse response) {
            if (end.isDone()) {
                return;
            }
            heardNs = System.nanoTime();
            for (PlayItem item : response.getItemsList()) {
                switch (item.getItemCase()) {
                    case PING -> {
                        Pong pong = Pong.newBuilder().setNumber(item.getPing().getNumber()).build();
                        outbox.sayAtOnce(PlayAct.newBuilder().setPong(pong).build(), said);
                    }
                    case HELLO -> {
                        long told = item.getHello().getSilenceMostMs();
                        silenceMs = told > 0 ? told : HELLO_WAIT_MS;
                        greeted = true;
                        connection.greet();
                        String name = item.getHello().getPlayer();
                        String after = outage.over().map(lasted -> " again, after " + seconds(lasted)).orElse("");
                        LOG.log(after.isEmpty() ? Level.INFO : Level.WARNING, "connected to " + address + " as " + name + after);
                        caller.execute(() -> {
                            caller.hook(hooks -> hooks.connected(address, name));
                            runner.greeted(item.getHello().getPlayer());
                            outbox.release(said);
                        });
                    }
                    case NOTICE -> {
                        notice = Errors.of(item.getNotice());
                        LOG.log(Level.INFO, "the arbiter is about to end the stream: " + notice.getMessage());
                    }
                    default -> caller.execute(() -> runner.take(item));
                }
            }
        }

        @Override
        public void onError(Throwable failure) {
            end.complete(Errors.of(failure, address));
        }

        @Override
        public void onCompleted() {
            end.complete(failed("ended the stream"));
        }

        /** Waits for the end of the stream, or for a silence that is too long, and returns why it ended. */
        private ClientException await() throws InterruptedException {
            while (true) {
                long silentNs = System.nanoTime() - heardNs;
                long leftNs = TimeUnit.MILLISECONDS.toNanos(silenceMs) - silentNs;
                if (leftNs <= 0) {
                    ClientException silent = failed("has been silent for " + silenceMs + " ms");
                    end.complete(silent);
                    said.cancel("the arbiter is silent", null);
                    return silent;
                }
                try {
                    return end.get(leftNs, TimeUnit.NANOSECONDS);
                } catch (TimeoutException silence) {
                    continue; // something may have been heard meanwhile
                } catch (ExecutionException impossible) {
                    throw new IllegalStateException(impossible);
                }
            }
        }

        private ConnectionFailedException failed(String how) {
            return new ConnectionFailedException("the arbiter at " + address + " " + how);
        }
    }
}
