package arbiter.client;

/** The base class of this package's exceptions. Its text is a sentence for people. */
public abstract sealed class ClientException extends RuntimeException
        permits ArbiterException, ConnectionFailedException, CredentialsException, BotFailedException {
    private static final long serialVersionUID = 1;

    ClientException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Returns whether the same request may succeed later. */
    public abstract boolean temporary();

    /** Returns whether the arbiter was away or busy. */
    boolean away() {
        return temporary();
    }

    /**
     * Returns the pause that the arbiter asks for before the same request again, in milliseconds; 0 if it asks for
     * none.
     */
    public long retryAfterMs() {
        return 0;
    }
}
