package arbiter.client;

import arbiter.v1.GetServerInfoRequest;
import arbiter.v1.ServerServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.AbstractBlockingStub;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

/**
 * The connection to one arbiter, at one of its addresses at a time, with a token for every call.
 */
final class Connection implements ClientInterceptor, AutoCloseable {
    private static final Logger LOG = System.getLogger("arbiter.client");
    private static final Duration WORTH_A_WORD = Duration.ofSeconds(2); // how long a wait is that people are told of
    private static final int LARGEST_MESSAGE_BYTES = 64 * 1024 * 1024;
    private static final long KEEPALIVE_S = 30;
    private static final long KEEPALIVE_WAIT_S = 10;
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    /** An address, and the channel to it. */
    record Way(String address, ManagedChannel channel) {}

    final Addresses addresses;
    final Duration patience;
    private final Duration timeout;
    private final ChannelCredentials credentials;
    private volatile String token;
    /** How many calls have failed because the arbiter was away or busy. */
    final AtomicLong outages = new AtomicLong();
    private final AtomicBoolean toldOfWaiting = new AtomicBoolean();
    private final AtomicReference<CountDownLatch> greeting = new AtomicReference<>(new CountDownLatch(1));
    private Way way;
    private boolean closed;

    Connection(List<String> addresses, String token, Tls tls, Duration timeout, Duration patience) {
        this.addresses = new Addresses(addresses);
        this.token = token;
        this.timeout = timeout;
        this.patience = patience;
        this.credentials = Tls.credentials(tls);
    }

    String token() {
        return token;
    }

    void token(String secret) {
        token = secret;
    }

    /** Returns the way to the current address; its channel is opened at its first use. */
    synchronized Way way() {
        if (way == null || (!closed && !way.address().equals(addresses.current()))) {
            if (way != null) {
                way.channel().shutdown(); // calls under way on it may end
            }
            way = open(addresses.current());
            if (closed) {
                way.channel().shutdownNow();
            }
        }
        return way;
    }

    private Way open(String address) {
        return new Way(
                address,
                Grpc.newChannelBuilder(address, credentials)
                        .intercept(this)
                        .maxInboundMessageSize(LARGEST_MESSAGE_BYTES)
                        .keepAliveTime(KEEPALIVE_S, TimeUnit.SECONDS)
                        .keepAliveTimeout(KEEPALIVE_WAIT_S, TimeUnit.SECONDS)
                        .build());
    }

    /**
     * Opens another channel in the place of one that failed, unless that has been done: a channel that could not connect
     * tries again after pauses of its own, which are too long for a bot. Calls under way on the old one may end.
     */
    synchronized void renew(Way failed) {
        if (way == failed && !closed) {
            way = null;
            failed.channel().shutdown();
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (way != null) {
            way.channel().shutdownNow();
        }
    }

    /**
     * Returns the answer to a request; with {@code again}, asks again for the connection's patience, and at each address at
     * least once, while the server can't be reached or refuses for the time being. Only a request that may be carried out twice, or that carries its id, may
     * be asked again. Throws ClientException; for a thread that is interrupted ConnectionFailedException, and its mark stays.
     */
    <S extends AbstractBlockingStub<S>, A> A ask(Function<Channel, S> stub, boolean again, Function<S, A> call) {
        long giveUp = System.nanoTime() + patience.toNanos();
        Addresses.Tries tries = addresses.new Tries();
        if (!again && addresses.listed.size() > 1) {
            find();
        }
        while (true) {
            Way used = way();
            CountDownLatch greeting = greeting();
            ClientException error;
            try {
                return call.apply(stub.apply(used.channel()).withDeadlineAfter(timeout.toMillis(), TimeUnit.MILLISECONDS));
            } catch (StatusRuntimeException failure) {
                if (Thread.currentThread().isInterrupted()) {
                    throw interrupted(failure);
                }
                error = Errors.of(failure, used.address());
            }
            if (error.away()) {
                outages.incrementAndGet();
            }
            if (error instanceof ConnectionFailedException) {
                renew(used);
            }
            long pauseMs = tries.failed(used.address(), error);
            if (!again || !error.temporary()) {
                throw error;
            }
            if (pauseMs == 0) {
                continue;
            }
            if (System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pauseMs) - giveUp > 0) {
                throw tries.allFailed(error);
            }
            if (error instanceof ConnectionFailedException && patience.compareTo(WORTH_A_WORD) >= 0) {
                sayWaiting(error);
            }
            pause(pauseMs, greeting, error);
        }
    }

    /** Makes an address current that answers, before a request that is not repeated. */
    private void find() {
        try {
            ask(ServerServiceGrpc::newBlockingStub, true, stub -> stub.getServerInfo(GetServerInfoRequest.getDefaultInstance()));
        } catch (ArbiterException refusal) {
            return; // it answers
        }
    }

    /** Logs once that the client waits for a server that was never reached, and for how long. */
    void sayWaiting(ClientException error) {
        Level level = toldOfWaiting.getAndSet(true) ? Level.DEBUG : Level.WARNING;
        LOG.log(level, error.getMessage() + "; trying for " + patience.toMillis() / 1000.0 + " s");
    }

    /**
     * Notes that a Play stream has begun: whoever waits for the arbiter waits no longer. From now on calls do not log that
     * they wait: the stream logs that it is lost.
     */
    void greet() {
        toldOfWaiting.set(true);
        greeting.getAndSet(new CountDownLatch(1)).countDown();
    }

    /** Returns what the next beginning of a Play stream opens. */
    CountDownLatch greeting() {
        return greeting.get();
    }

    /**
     * Pauses after an error, but no longer than until a Play stream begins, since a clock may run from then on; it pauses
     * longer where the arbiter is there, and asks for the pause. The greeting is that of before the attempt that failed.
     * An interruption is the end of the work: ConnectionFailedException, with the thread's mark set again.
     */
    static void pause(long ms, CountDownLatch greeting, Throwable error) {
        try {
            if (asksForPause(error)) {
                Thread.sleep(ms);
            } else {
                greeting.await(ms, TimeUnit.MILLISECONDS);
            }
        } catch (InterruptedException interruption) {
            Thread.currentThread().interrupt();
            throw interrupted(interruption);
        }
    }

    /** Returns whether the arbiter is there, and asks for a pause because it is asked too much. */
    static boolean asksForPause(Throwable error) {
        return error instanceof ArbiterException refusal && refusal.code() != Status.Code.UNAVAILABLE;
    }

    private static ConnectionFailedException interrupted(Exception cause) {
        return new ConnectionFailedException("interrupted while waiting for the arbiter", cause);
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
            @Override
            public void start(Listener<A> listener, Metadata headers) {
                String secret = token;
                if (!secret.isEmpty()) {
                    headers.put(AUTHORIZATION, "Bearer " + secret);
                }
                super.start(listener, headers);
            }
        };
    }
}
