package arbiter.client;

/**
 * The answer of a bot to a challenge, an open seek or a tournament.
 *
 * @param kind what is said
 * @param reason why a challenge is declined, for the challenger; at most 200 characters
 */
public record Answer(Kind kind, String reason) {
    /** The possible answers. */
    public enum Kind {
        /** As the bot's profile says. */
        BY_PROFILE,
        /** Yes. */
        ACCEPT,
        /** No. */
        DECLINE
    }

    /** As the bot's profile says. */
    public static final Answer BY_PROFILE = new Answer(Kind.BY_PROFILE, "");

    /** Yes. */
    public static final Answer ACCEPT = new Answer(Kind.ACCEPT, "");

    /** No, and why. */
    public static Answer decline(String reason) {
        return new Answer(Kind.DECLINE, reason);
    }
}
