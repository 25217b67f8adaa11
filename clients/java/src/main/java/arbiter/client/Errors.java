package arbiter.client;

import arbiter.v1.Refusal;
import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** From messages and statuses to the exceptions of this package. */
final class Errors {
    private static final Metadata.Key<byte[]> DETAILS =
            Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);
    private static final int CODES = Status.Code.values().length;

    private Errors() {}

    /** Returns the exception that a refusal describes. */
    static ArbiterException of(Refusal refusal) {
        int number = refusal.getCode();
        Status.Code code = number > 0 && number < CODES ? Status.fromCodeValue(number).getCode() : Status.Code.UNKNOWN;
        Reason reason = Reason.of(refusal.getReasonValue());
        return new ArbiterException(reason, refusal.getMessage(), code, refusal.getFactsMap());
    }

    /** Returns the exception for a failed call to the server at an address. */
    static ClientException of(Throwable failure, String address) {
        if (failure instanceof ClientException known) {
            return known;
        }
        return of(Status.fromThrowable(failure), Status.trailersFromThrowable(failure), address, failure);
    }

    /** Returns whether an exception, or one behind it, shows that the arbiter was away or busy. */
    static boolean comesOfAnOutage(Throwable failure) {
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (Throwable each = failure; each != null && seen.add(each); each = each.getCause()) {
            boolean raw = each instanceof StatusRuntimeException status
                    && status.getStatus().getCode() == Status.Code.UNAVAILABLE;
            if (raw || (each instanceof ClientException error && error.away())) {
                return true;
            }
        }
        return false;
    }

    static ClientException of(Status status, Metadata trailers, String address, Throwable failure) {
        byte[] details = trailers == null ? null : trailers.get(DETAILS);
        Optional<Refusal> refusal = details == null ? Optional.empty() : refusalIn(details);
        if (refusal.isPresent()) {
            ArbiterException said = of(refusal.get());
            return new ArbiterException(said.reason(), said.getMessage(), said.code(), said.facts(), failure);
        }
        String said = status.getDescription() == null ? "no further word" : status.getDescription();
        // A status with a cause was not sent by the server: it was made here, as the connection failed.
        if (status.getCode() == Status.Code.UNAVAILABLE || status.getCause() != null) {
            String hint = ": is it running there, are host and port right, and does it speak TLS or not as you do? (";
            String message = "no arbiter answers at " + address + hint + said + cause(status) + ")";
            return new ConnectionFailedException(message, failure);
        }
        return switch (status.getCode()) {
            case DEADLINE_EXCEEDED -> new ConnectionFailedException(
                    "the arbiter at " + address + " did not answer in time: try again (" + said + ")", failure);
            case UNIMPLEMENTED -> plain(status, "what answers at " + address
                    + " is no arbiter, or one of another version: is the port right? (" + said + ")", failure);
            default -> plain(status, said, failure);
        };
    }

    private static ArbiterException plain(Status status, String message, Throwable failure) {
        return new ArbiterException(Reason.UNKNOWN, message, status.getCode(), Map.of(), failure);
    }

    private static String cause(Status status) {
        Throwable cause = status.getCause();
        return cause == null || cause.getMessage() == null ? "" : ": " + cause.getMessage();
    }

    private static Optional<Refusal> refusalIn(byte[] details) {
        try {
            for (Any detail : com.google.rpc.Status.parseFrom(details).getDetailsList()) {
                if (detail.is(Refusal.class)) {
                    return Optional.of(detail.unpack(Refusal.class));
                }
            }
        } catch (InvalidProtocolBufferException error) {
            return Optional.empty(); // not the arbiter's: the status itself says what there is to say
        }
        return Optional.empty();
    }
}
