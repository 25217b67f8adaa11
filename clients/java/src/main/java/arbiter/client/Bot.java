package arbiter.client;

import arbiter.v1.Challenge;
import arbiter.v1.ChallengeClosed;
import arbiter.v1.TournamentCall;

/**
 * A bot: one method, from a turn to a choice, and optional callbacks.
 *
 * <p>Each call runs in a thread of its own, or where {@link Options#executor} says, so that the stream stays alive
 * while the bot thinks, and may block. Several matches may be under way at once: keep the data of a match in {@link
 * LiveMatch#memory}.
 */
@FunctionalInterface
public interface Bot {
    /**
     * Returns the choice for a turn: a {@link Move}, or offer or claim a draw, or resign. Its thread is interrupted
     * when the choice is not needed any more ({@link Turn#over}); its exceptions then cost nothing.
     */
    Choice choose(Turn turn) throws Exception;

    /** Returns the profile of the bot. By default its name is that of its class. */
    default Profile profile() {
        return Profile.named(getClass().getSimpleName()).build();
    }

    /**
     * Called once at the start of a run, before everything else, with the client that the bot plays through: for callbacks
     * that get no turn.
     */
    default void playing(Client client) throws Exception {}

    /**
     * Returns another choice for a turn after the first one was refused, or null: then {@code choose} is called once
     * more, with {@link Turn#refused()} set. If that choice is refused too, the bot resigns the match.
     */
    default Choice refused(Turn turn, ArbiterException refusal) throws Exception {
        return null;
    }

    /**
     * Called when a match has started, or when the bot continues one after a restart; before its first turn. No clock
     * of the match starts before it has returned, or at most {@code Policy.ready_ms} later. For a match of the bot
     * against itself it is called twice, once for each seat.
     */
    default void started(LiveMatch match) throws Exception {}

    /** Called when a match has ended. After it returns, the client acknowledges the result to the server. */
    default void ended(FinishedMatch finished) throws Exception {}

    /** Returns whether to accept the opponent's draw offer. By default no. */
    default boolean drawOffered(DrawOffer offer) throws Exception {
        return false;
    }

    /** Returns whether to accept a challenge, or the reason for declining it. */
    default Answer challenged(Challenge challenge) throws Exception {
        return Answer.BY_PROFILE;
    }

    /** Returns whether to accept an open seek of another player. Called only with {@code acceptSeeks}. */
    default Answer sought(Challenge seek) throws Exception {
        return Answer.BY_PROFILE;
    }

    /**
     * Returns whether to enter a tournament. Called only with {@code enterTournaments}, and not for tournaments that
     * the bot has entered.
     */
    default Answer called(TournamentCall tournament) throws Exception {
        return Answer.BY_PROFILE;
    }

    /** Called when a challenge or seek of the bot's own is no longer open. */
    default void challengeClosed(ChallengeClosed closed) throws Exception {}
}
