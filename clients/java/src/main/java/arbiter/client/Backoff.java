package arbiter.client;

import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;

/**
 * Pauses between attempts: they double from the first up to the longest, each shortened by a random part of at most a
 * half, so that many clients do not reconnect at the same time.
 */
public final class Backoff {
    private static final long FIRST_MS = 100;
    private static final long MOST_MS = 5_000;
    private static final int MOST_DOUBLINGS = 30;

    private final long firstMs;
    private final long mostMs;
    private final DoubleSupplier chance;
    private int tries;

    /** Makes one from 0.1 s to 5 s. */
    public Backoff() {
        this(FIRST_MS, MOST_MS, () -> ThreadLocalRandom.current().nextDouble());
    }

    /** Makes one from {@code firstMs} to {@code mostMs}; {@code chance} returns a number from 0 to 1. */
    public Backoff(long firstMs, long mostMs, DoubleSupplier chance) {
        this.firstMs = firstMs;
        this.mostMs = mostMs;
        this.chance = chance;
    }

    /** Returns the next pause in milliseconds, plus the pause that the server has asked all its clients for. */
    public long nextMs(long atLeastMs) {
        long whole = Math.min(mostMs, firstMs << Math.min(tries, MOST_DOUBLINGS));
        tries++;
        return atLeastMs + Math.round(whole * (1 - chance.getAsDouble() / 2));
    }

    /** Starts again from the first pause, after a success. */
    public void reset() {
        tries = 0;
    }
}
