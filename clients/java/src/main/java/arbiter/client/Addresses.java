package arbiter.client;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The addresses of one arbiter, all equivalent. All calls of a client use the current one. */
final class Addresses {
    static final String DEFAULT_SERVER = "127.0.0.1:7400";
    private static final int MOST_PORT = 65_535;

    final List<String> listed;
    private int current;

    Addresses(List<String> listed) {
        this.listed = List.copyOf(listed);
    }

    /** Returns the addresses of a list with commas. Throws ConnectionFailedException for one that is not HOST:PORT. */
    static List<String> of(String text) {
        Set<String> found = new LinkedHashSet<>();
        String[] parts = text.split(",", -1);
        for (int number = 0; number < parts.length; number++) {
            String address = parts[number].strip();
            if (!isAddress(address)) {
                String which = parts.length > 1 ? " (number " + (number + 1) + " of " + parts.length + ")" : "";
                throw new ConnectionFailedException("'" + address + "'" + which + " is no address: write HOST:PORT, such as "
                        + DEFAULT_SERVER + " or [::1]:7400, and commas between several");
            }
            found.add(address);
        }
        return List.copyOf(found);
    }

    private static boolean isAddress(String text) {
        int colon = text.lastIndexOf(':');
        String host = text.substring(0, Math.max(0, colon));
        boolean bare = host.contains(":") && !(host.startsWith("[") && host.endsWith("]"));
        if (host.isEmpty() || bare || text.contains(" ") || !text.substring(colon + 1).matches("[0-9]{1,5}")) {
            return false;
        }
        int port = Integer.parseInt(text.substring(colon + 1));
        return port > 0 && port <= MOST_PORT;
    }

    synchronized String current() {
        return listed.get(current);
    }

    /** Leaves the current address, if it is one of those that failed, for another. */
    private synchronized void turn(Set<String> failed, int place) {
        if (failed.contains(listed.get(current))) {
            current = place;
        }
    }

    /** The attempts of one caller: at the next address at once, and after a pause once all addresses have failed. */
    final class Tries {
        private final Backoff backoff = new Backoff();
        private final Map<String, ClientException> failed = new LinkedHashMap<>(); // since the last pause

        /**
         * Returns the pause after an attempt at an address, in milliseconds: 0 if another one is to be tried first. The
         * next one is chosen if no arbiter answers at this one, or if it refuses every call for now.
         */
        long failed(String address, ClientException error) {
            long askedMs = error.retryAfterMs();
            if (leaves(error)) {
                if (failed.size() == listed.size()) {
                    failed.clear();
                }
                failed.put(address, error);
                int from = listed.indexOf(address);
                int next = (from + 1) % listed.size();
                int steps = 1;
                while (steps < listed.size() && failed.containsKey(listed.get((from + steps) % listed.size()))) {
                    steps++;
                }
                boolean untried = steps < listed.size();
                turn(failed.keySet(), untried ? (from + steps) % listed.size() : next);
                if (untried) {
                    return 0;
                }
                for (ClientException each : failed.values()) {
                    askedMs = Math.min(askedMs, each.retryAfterMs());
                }
            }
            return backoff.nextMs(askedMs);
        }

        /** Returns the exception to throw after the last attempt: its exception, or one that names all addresses. */
        ClientException allFailed(ClientException last) {
            if (failed.size() < Math.max(2, listed.size())) {
                return last;
            }
            List<String> each = new ArrayList<>();
            failed.forEach((address, error) -> each.add(address + " (" + why(error) + ")"));
            return new ConnectionFailedException("no arbiter answers at " + String.join(", nor at ", each)
                    + ": is one running there, are hosts and ports right, and does it speak TLS or not as you do?", last);
        }

        /** Starts again from the first pause, after a success. */
        void reset() {
            failed.clear();
            backoff.reset();
        }
    }

    private static boolean leaves(ClientException error) {
        boolean refuses = error instanceof ArbiterException refusal && refusal.code() == Status.Code.UNAVAILABLE;
        return refuses || error instanceof ConnectionFailedException;
    }

    /** Returns the description of a failure by gRPC or by the arbiter. */
    private static String why(ClientException error) {
        boolean lost = error instanceof ConnectionFailedException;
        if (!lost || !(error.getCause() instanceof StatusRuntimeException failure)) {
            return error.getMessage();
        }
        Status status = failure.getStatus();
        String said = status.getDescription() == null ? status.getCode().name() : status.getDescription();
        Throwable cause = status.getCause();
        return cause == null || cause.getMessage() == null ? said : said + ": " + cause.getMessage();
    }
}
