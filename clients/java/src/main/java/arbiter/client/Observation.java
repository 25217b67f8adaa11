package arbiter.client;

import arbiter.v1.MatchEvent;
import arbiter.v1.MatchServiceGrpc;
import arbiter.v1.ObserveItem;
import arbiter.v1.ObserveRequest;
import arbiter.v1.ObserveResponse;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Events of a match, or of everything, without a gap, also after a lost connection. The first
 * connection is tried for the client's patience; a lost one is tried again at all addresses until it is back. For one
 * thread.
 */
public final class Observation implements AutoCloseable {
    private static final Logger LOG = System.getLogger("arbiter.client");

    private final Connection connection;
    private final Deque<ObserveItem> items = new ArrayDeque<>();
    private final Addresses.Tries tries;
    private final Context.CancellableContext context = Context.current().withCancellation();
    private final long giveUp;
    private ObserveRequest request;
    private Connection.Way way;
    private CountDownLatch greeting;
    private Iterator<ObserveResponse> stream;
    private boolean met;

    Observation(Connection connection, ObserveRequest request) {
        this.connection = connection;
        this.tries = connection.addresses.new Tries();
        this.request = request;
        this.giveUp = System.nanoTime() + connection.patience.toNanos();
    }

    /** Waits for the next event of a match; empty after the last one. Throws ClientException. */
    public Optional<MatchEvent> nextEvent() {
        Optional<ObserveItem> item = next();
        while (item.isPresent() && !item.get().hasEvent()) {
            item = next();
        }
        return item.map(ObserveItem::getEvent);
    }

    /**
     * Waits for the next item: an event of a match or of a tournament, with the token to resume after it; empty after a
     * match's last one. Throws ClientException: ArbiterException for a refusal, ConnectionFailedException for a server
     * that was never reached, or after {@link #close()}.
     */
    public Optional<ObserveItem> next() {
        while (true) {
            while (!items.isEmpty()) {
                ObserveItem item = items.remove();
                if (isNews(item)) {
                    return Optional.of(item);
                }
            }
            try {
                if (!receive()) {
                    return Optional.empty();
                }
            } catch (StatusRuntimeException failure) {
                stream = null;
                comeBack(Errors.of(failure, way.address()));
            }
        }
    }

    /** Ends the watching, from any thread; the one that waits for the next item gets a ConnectionFailedException. */
    @Override
    public void close() {
        context.cancel(null);
    }

    private boolean receive() {
        if (stream == null) {
            way = connection.way();
            greeting = connection.greeting();
            Context before = context.attach();
            try {
                stream = MatchServiceGrpc.newBlockingStub(way.channel()).observe(request);
            } finally {
                context.detach(before);
            }
        }
        if (!stream.hasNext()) {
            return false;
        }
        met = true;
        tries.reset();
        items.addAll(stream.next().getItemsList());
        return true;
    }

    /** Moves the request on, so that it resumes after an item; returns whether the item is one that the caller wants. */
    private boolean isNews(ObserveItem item) {
        if (request.hasAll()) {
            if (!item.getToken().isEmpty()) {
                request = request.toBuilder()
                        .setAll(request.getAll().toBuilder().setAfterToken(item.getToken()))
                        .build();
            }
            return item.hasEvent() || item.hasTournamentEvent();
        }
        long revision = item.getEvent().getRevision();
        if (!item.hasEvent() || revision <= request.getMatch().getAfterRevision()) {
            return false;
        }
        request = request.toBuilder()
                .setMatch(request.getMatch().toBuilder().setAfterRevision(revision))
                .build();
        return true;
    }

    private void comeBack(ClientException error) {
        if (context.isCancelled()) {
            throw new ConnectionFailedException("the watching was ended");
        }
        boolean slow = error instanceof ArbiterException refusal && refusal.reason() == Reason.READER_TOO_SLOW;
        if (!error.temporary() && !slow) {
            throw error;
        }
        long pauseMs = tries.failed(way.address(), error);
        if (!met && pauseMs > 0 && System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pauseMs) - giveUp > 0) {
            throw tries.allFailed(error);
        }
        LOG.log(Level.WARNING, "watching stopped, trying again in {0} ms: {1}", pauseMs, error.getMessage());
        Connection.pause(pauseMs, greeting, error);
        connection.renew(way);
    }
}
