package arbiter.client;

/** A token, certificate or credentials file can't be used; the text says which, and what to do. */
public final class CredentialsException extends ClientException {
    private static final long serialVersionUID = 1;

    /** Makes one with its sentence. */
    public CredentialsException(String message) {
        super(message, null);
    }

    @Override
    public boolean temporary() {
        return false;
    }
}
