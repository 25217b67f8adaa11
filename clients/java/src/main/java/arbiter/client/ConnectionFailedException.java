package arbiter.client;

/** No arbiter answers; the text says where, why, and what to do. The same request may succeed later. */
public final class ConnectionFailedException extends ClientException {
    private static final long serialVersionUID = 1;

    /** Makes one with its sentence. */
    public ConnectionFailedException(String message) {
        this(message, null);
    }

    /** Makes one with its sentence, and the exception of the transport. */
    public ConnectionFailedException(String message, Throwable cause) {
        super(message, cause);
    }

    @Override
    public boolean temporary() {
        return true;
    }
}
