package arbiter.client;

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
import io.grpc.StatusRuntimeException;
import io.grpc.stub.AbstractBlockingStub;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/** The channel to a server, with the token on every call, and one way to make a call that is answered once. */
final class Connection implements ClientInterceptor, AutoCloseable {
    private static final Logger LOG = System.getLogger("arbiter.client");
    private static final Duration WORTH_A_WORD = Duration.ofSeconds(2); // how long a wait is that people are told of
    private static final int LARGEST_MESSAGE_BYTES = 64 * 1024 * 1024;
    private static final long KEEPALIVE_S = 30;
    private static final long KEEPALIVE_WAIT_S = 10;
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    final String address;
    final Duration patience;
    private final Duration timeout;
    private final ChannelCredentials credentials;
    private volatile String token;
    /** How many calls have failed because the arbiter was away or busy. */
    final AtomicLong outages = new AtomicLong();
    private final AtomicBoolean toldOfWaiting = new AtomicBoolean();
    private ManagedChannel channel;
    private boolean closed;

    Connection(String address, String token, Tls tls, Duration timeout, Duration patience) {
        this.address = address;
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

    /** Returns the channel, opened at its first use. */
    synchronized ManagedChannel channel() {
        if (channel == null) {
            channel = Grpc.newChannelBuilder(address, credentials)
                    .intercept(this)
                    .maxInboundMessageSize(LARGEST_MESSAGE_BYTES)
                    .keepAliveTime(KEEPALIVE_S, TimeUnit.SECONDS)
                    .keepAliveTimeout(KEEPALIVE_WAIT_S, TimeUnit.SECONDS)
                    .build();
            if (closed) {
                channel.shutdownNow();
            }
        }
        return channel;
    }

    /**
     * Opens another channel in the place of one that failed, unless that has been done: a channel that could not connect
     * tries again after pauses of its own, which are too long for a bot. Calls under way on the old one may end.
     */
    synchronized void renew(ManagedChannel failed) {
        if (channel == failed && !closed) {
            channel = null;
            failed.shutdown();
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (channel != null) {
            channel.shutdownNow();
        }
    }

    /**
     * Returns the answer to a request; with {@code again}, asks again for the connection's patience while the server can't
     * be reached or refuses for the time being. Only a request that may be carried out twice, or that carries its id, may
     * be asked again. Throws ClientException; for a thread that is interrupted ConnectionFailedException, and its mark stays.
     */
    <S extends AbstractBlockingStub<S>, A> A ask(Function<Channel, S> stub, boolean again, Function<S, A> call) {
        long giveUp = System.nanoTime() + patience.toNanos();
        Backoff backoff = new Backoff();
        while (true) {
            ManagedChannel used = channel();
            ClientException error;
            try {
                return call.apply(stub.apply(used).withDeadlineAfter(timeout.toMillis(), TimeUnit.MILLISECONDS));
            } catch (StatusRuntimeException failure) {
                if (Thread.currentThread().isInterrupted()) {
                    throw interrupted(failure);
                }
                error = Errors.of(failure, address);
            }
            if (error.away()) {
                outages.incrementAndGet();
            }
            if (error instanceof ConnectionFailedException) {
                renew(used);
            }
            long pauseMs = backoff.nextMs(error.retryAfterMs());
            boolean inTime = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pauseMs) - giveUp <= 0;
            if (!again || !error.temporary() || !inTime) {
                throw error;
            }
            if (error instanceof ConnectionFailedException && patience.compareTo(WORTH_A_WORD) >= 0) {
                sayWaiting(error);
            }
            pause(pauseMs);
        }
    }

    /** Says, once, that a server that was never reached is waited for, and for how long. */
    void sayWaiting(ClientException error) {
        Level level = toldOfWaiting.getAndSet(true) ? Level.DEBUG : Level.WARNING;
        LOG.log(level, error.getMessage() + "; trying for " + patience.toMillis() / 1000.0 + " s");
    }

    /** Has nothing said of calls that wait: the server has been there, and the stream says that it is lost. */
    void met() {
        toldOfWaiting.set(true);
    }

    /** Waits. An interruption is the end of the work: ConnectionFailedException, with the thread's mark set again. */
    static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interruption) {
            Thread.currentThread().interrupt();
            throw interrupted(interruption);
        }
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
