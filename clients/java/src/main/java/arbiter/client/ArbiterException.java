package arbiter.client;

import io.grpc.Status;
import java.util.Map;
import java.util.Set;

/** A refusal of the arbiter: a reason, a sentence for people, and facts for programs. */
public final class ArbiterException extends ClientException {
    private static final long serialVersionUID = 1;
    private static final Set<Status.Code> PASSING = Set.of(
            Status.Code.UNAVAILABLE,
            Status.Code.RESOURCE_EXHAUSTED,
            Status.Code.ABORTED,
            Status.Code.INTERNAL,
            Status.Code.UNKNOWN,
            Status.Code.CANCELLED,
            Status.Code.DEADLINE_EXCEEDED);
    private static final int MOST_DIGITS = 15; // of a pause in ms; an honest server asks for less

    private final Reason reason;
    private final Status.Code code;
    private final transient Map<String, String> facts;

    /** Makes one. Decide by {@code code} if the reason is {@code UNKNOWN}. */
    public ArbiterException(Reason reason, String message, Status.Code code, Map<String, String> facts) {
        this(reason, message, code, facts, null);
    }

    ArbiterException(
            Reason reason, String message, Status.Code code, Map<String, String> facts, Throwable cause) {
        super(message, cause);
        this.reason = reason;
        this.code = code;
        this.facts = Map.copyOf(facts);
    }

    /** Returns why; {@code UNKNOWN} where the reason is newer than this client, or not from the arbiter. */
    public Reason reason() {
        return reason;
    }

    /** Returns the status code. */
    public Status.Code code() {
        return code;
    }

    /** Returns the facts of the reason, as the protocol lists them (refusal.proto). */
    public Map<String, String> facts() {
        return facts;
    }

    @Override
    public boolean temporary() {
        return code == Status.Code.UNAVAILABLE || code == Status.Code.RESOURCE_EXHAUSTED;
    }

    @Override
    public long retryAfterMs() {
        String text = facts.getOrDefault("retry_after_ms", "");
        return text.length() <= MOST_DIGITS && text.matches("[0-9]+") ? Long.parseLong(text) : 0;
    }

    /** A temporary status without a reason is not from the arbiter, which names one. */
    @Override
    boolean away() {
        return temporary() || (reason == Reason.UNKNOWN && passing());
    }

    /** Returns whether another stream, or another attempt, may succeed. */
    boolean passing() {
        return PASSING.contains(code);
    }
}
