package arbiter.client;

/** A bot threw an exception or returned something that is not a choice; the exception is its cause. */
public final class BotFailedException extends ClientException {
    private static final long serialVersionUID = 1;

    /** Makes one with its sentence. */
    public BotFailedException(String message, Throwable cause) {
        super(message, cause);
    }

    @Override
    public boolean temporary() {
        return false;
    }
}
