package arbiter.client;

/** No arbiter answers; the text says where, why, and what to do. The same request again may succeed later. */
public final class ConnectionFailedException extends ClientException {
    private static final long serialVersionUID = 1;

    /** Makes one with its sentence. */
    public ConnectionFailedException(String message) {
        super(message, null);
    }

    @Override
    public boolean temporary() {
        return true;
    }
}
