package arbiter.client;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;

/** What is said of an outage: one line when the connection is gone, and one when it is back. All between is a detail. */
final class Outage {
    private final LongSupplier clockNs;
    private Long sinceNs;

    /** Takes a monotonic clock, in nanoseconds. */
    Outage(LongSupplier clockNs) {
        this.clockNs = clockNs;
    }

    /** Returns how much the failure of a call matters: a lost connection is told of by its session. */
    Level failed(Throwable error) {
        return error instanceof ConnectionFailedException ? Level.DEBUG : failed();
    }

    /** Returns how much a failure matters: the first one of an outage is a warning. */
    synchronized Level failed() {
        if (sinceNs != null) {
            return Level.DEBUG;
        }
        sinceNs = clockNs.getAsLong();
        return Level.WARNING;
    }

    /** Ends the outage; returns how long it was, or nothing if there was none. */
    synchronized Optional<Duration> over() {
        Optional<Duration> lasted =
                Optional.ofNullable(sinceNs).map(since -> Duration.ofNanos(clockNs.getAsLong() - since));
        sinceNs = null;
        return lasted;
    }
}
