package arbiter.client;

import arbiter.v1.RefusalReason;

/** Why a request was refused; the facts of each reason are in the protocol (refusal.proto). */
public enum Reason {
    /** Newer than this client, or not from the arbiter: decide by the code. */
    UNKNOWN,
    /** The reason {@code MOVE_MALFORMED} of the protocol. */
    MOVE_MALFORMED,
    /** The reason {@code MOVE_ILLEGAL} of the protocol. */
    MOVE_ILLEGAL,
    /** The reason {@code NOT_YOUR_TURN} of the protocol. */
    NOT_YOUR_TURN,
    /** The reason {@code PLY_MISMATCH} of the protocol. */
    PLY_MISMATCH,
    /** The reason {@code MATCH_NOT_ACTIVE} of the protocol. */
    MATCH_NOT_ACTIVE,
    /** The reason {@code SEAT_NOT_YOURS} of the protocol. */
    SEAT_NOT_YOURS,
    /** The reason {@code SCOPE_MISSING} of the protocol. */
    SCOPE_MISSING,
    /** The reason {@code TOKEN_INVALID} of the protocol. */
    TOKEN_INVALID,
    /** The reason {@code MATCH_NOT_FOUND} of the protocol. */
    MATCH_NOT_FOUND,
    /** The reason {@code PLAYER_NOT_FOUND} of the protocol. */
    PLAYER_NOT_FOUND,
    /** The reason {@code TOKEN_NOT_FOUND} of the protocol. */
    TOKEN_NOT_FOUND,
    /** The reason {@code CHALLENGE_NOT_FOUND} of the protocol. */
    CHALLENGE_NOT_FOUND,
    /** The reason {@code REQUEST_ID_REUSED} of the protocol. */
    REQUEST_ID_REUSED,
    /** The reason {@code POSITION_MALFORMED} of the protocol. */
    POSITION_MALFORMED,
    /** The reason {@code GAME_UNKNOWN} of the protocol. */
    GAME_UNKNOWN,
    /** The reason {@code PARAMETER_INVALID} of the protocol. */
    PARAMETER_INVALID,
    /** The reason {@code ARGUMENT_INVALID} of the protocol. */
    ARGUMENT_INVALID,
    /** The reason {@code DRAW_NOT_AVAILABLE} of the protocol. */
    DRAW_NOT_AVAILABLE,
    /** The reason {@code PLAYER_EXISTS} of the protocol. */
    PLAYER_EXISTS,
    /** The reason {@code PLAYER_SUSPENDED} of the protocol. */
    PLAYER_SUSPENDED,
    /** The reason {@code REGISTRATION_CLOSED} of the protocol. */
    REGISTRATION_CLOSED,
    /** The reason {@code SESSION_SUPERSEDED} of the protocol. */
    SESSION_SUPERSEDED,
    /** The reason {@code READER_TOO_SLOW} of the protocol. */
    READER_TOO_SLOW,
    /** The reason {@code RATE_LIMITED} of the protocol. */
    RATE_LIMITED,
    /** The reason {@code BUDGET_SPENT} of the protocol. */
    BUDGET_SPENT,
    /** The reason {@code MESSAGE_TOO_LARGE} of the protocol. */
    MESSAGE_TOO_LARGE,
    /** The reason {@code VERSION_UNSUPPORTED} of the protocol. */
    VERSION_UNSUPPORTED,
    /** The reason {@code DRAINING} of the protocol. */
    DRAINING,
    /** The reason {@code STORE_UNAVAILABLE} of the protocol. */
    STORE_UNAVAILABLE,
    /** The reason {@code SESSION_SILENT} of the protocol. */
    SESSION_SILENT,
    /** The reason {@code TOURNAMENT_CLOSED} of the protocol. */
    TOURNAMENT_CLOSED,
    /** The reason {@code TOURNAMENT_NOT_FOUND} of the protocol. */
    TOURNAMENT_NOT_FOUND,
    /** The reason {@code RECORD_DAMAGED} of the protocol. */
    RECORD_DAMAGED,
    /** The reason {@code TOURNAMENT_CHANGED} of the protocol. */
    TOURNAMENT_CHANGED,
    /** The reason {@code RATINGS_CHANGED} of the protocol. */
    RATINGS_CHANGED;

    private static final String PREFIX = "REFUSAL_REASON_";

    /** Returns the reason with a number of the protocol; {@code UNKNOWN} where it is newer than this client. */
    static Reason of(int number) {
        RefusalReason known = RefusalReason.forNumber(number);
        String name = known == null ? "" : known.name();
        for (Reason reason : values()) {
            if (name.equals(PREFIX + reason.name())) {
                return reason;
            }
        }
        return UNKNOWN;
    }
}
