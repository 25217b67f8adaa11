package arbiter.client;

import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Transport security, from PEM files. Each may be null: without a root certificate the system's are trusted; a client
 * certificate and its key go together (mTLS).
 */
public record Tls(Path rootCertificate, Path clientCertificate, Path clientKey) {
    /** Trusts the system's certificates. */
    public static final Tls SYSTEM = new Tls(null, null, null);

    /** Plain text, without regard to the environment. */
    public static final Tls NONE = new Tls(Path.of(""), null, null);

    /** Returns the transport security that the environment asks for, or null for plain text. */
    static Tls fromEnvironment() {
        Tls tls = new Tls(
                path("ARBITER_ROOT_CERTIFICATE"), path("ARBITER_CLIENT_CERTIFICATE"), path("ARBITER_CLIENT_KEY"));
        return tls.equals(SYSTEM) ? null : tls;
    }

    /** Returns what gRPC needs, for plain text too (null). Throws CredentialsException for files that can't be used. */
    static ChannelCredentials credentials(Tls tls) {
        if (tls == null || tls == NONE) {
            return InsecureChannelCredentials.create();
        }
        if ((tls.clientCertificate == null) != (tls.clientKey == null)) {
            throw new CredentialsException("a client certificate and its key go together: give both, or neither");
        }
        TlsChannelCredentials.Builder builder = TlsChannelCredentials.newBuilder();
        try {
            if (tls.rootCertificate != null) {
                builder.trustManager(tls.rootCertificate.toFile());
            }
            if (tls.clientCertificate != null) {
                builder.keyManager(tls.clientCertificate.toFile(), tls.clientKey.toFile());
            }
            return builder.build();
        } catch (IOException error) {
            throw new CredentialsException("can't read a certificate: " + error.getMessage());
        }
    }

    /** Returns this with the files that {@code other} names in the places where this names none. */
    Tls or(Tls other) {
        return other == null
                ? this
                : new Tls(
                        rootCertificate == null ? other.rootCertificate : rootCertificate,
                        clientCertificate == null ? other.clientCertificate : clientCertificate,
                        clientKey == null ? other.clientKey : clientKey);
    }

    private static Path path(String variable) {
        String text = Environment.get(variable);
        return text == null ? null : Path.of(text);
    }
}
