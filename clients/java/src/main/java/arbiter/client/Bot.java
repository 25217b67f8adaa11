package arbiter.client;

import arbiter.v1.Challenge;
import arbiter.v1.ChallengeClosed;
import arbiter.v1.TournamentCall;

/**
 * A bot: one method, from a turn to a choice, and callbacks for those who want them.
 *
 * <p>Each call runs in a thread of its own, or where {@link Options#executor} says, so that the stream stays alive while
 * the bot thinks, and may block. Several matches may be under way at once: keep what belongs to one of them in
 * {@link LiveMatch#memory}.
 */
@FunctionalInterface
public interface Bot {
    /**
     * Returns what to do at a turn: a {@link Move}, or offer or claim a draw, or resign. Its thread is interrupted when
     * nobody waits for the choice any more ({@link Turn#over}); what it throws then costs nothing.
     */
    Choice choose(Turn turn) throws Exception;

    /** Returns what is said of the bot. By default its name is that of its class. */
    default Profile profile() {
        return Profile.named(getClass().getSimpleName()).build();
    }

    /**
     * Returns another choice for a turn after the first one was refused, or null to be asked through {@code choose}, which
     * is then called once more with {@link Turn#refused()} set. If that is refused too, the match is resigned.
     */
    default Choice refused(Turn turn, ArbiterException refusal) throws Exception {
        return null;
    }

    /**
     * Is told that a match has started, or that one under way was taken up. It comes before its first turn. Of a match
     * against itself the bot is told twice, once a seat.
     */
    default void started(LiveMatch match) throws Exception {}

    /** Is told that a match has ended; once this returns, the server is told that the result was seen. */
    default void ended(FinishedMatch finished) throws Exception {}

    /** Returns whether to accept the opponent's draw offer. By default no. */
    default boolean drawOffered(DrawOffer offer) throws Exception {
        return false;
    }

    /** Returns whether to accept a challenge, or why not. */
    default Answer challenged(Challenge challenge) throws Exception {
        return Answer.BY_PROFILE;
    }

    /** Returns whether to accept somebody's open seek. Asked with {@code acceptSeeks} only. */
    default Answer sought(Challenge seek) throws Exception {
        return Answer.BY_PROFILE;
    }

    /** Returns whether to enter a tournament. Asked with {@code enterTournaments} only, and not of those entered. */
    default Answer called(TournamentCall tournament) throws Exception {
        return Answer.BY_PROFILE;
    }

    /** Is told that a challenge or seek of the bot's own is no longer open. */
    default void challengeClosed(ChallengeClosed closed) throws Exception {}
}
