package arbiter.client;

import java.time.Duration;

/**
 * Functions of the program for its metrics, which a run calls in the order of what happens; each does nothing by default.
 * They are called between the items of the stream, so they must not wait. One that throws is logged, and costs nothing
 * else. The log goes to {@code System.Logger}, which has handlers of its own.
 */
public interface Hooks {
    /** Called after each hello of a server. */
    default void connected(String server, String player) {}

    /** Called when a connection after a hello is lost. */
    default void disconnected(String server, ClientException error) {}

    /** Called when the bot has chosen, with the time from the turn's arrival to the choice. */
    default void thought(Turn turn, Duration time) {}

    /** Called when a choice was refused. */
    default void refused(Turn turn, ArbiterException error) {}
}
