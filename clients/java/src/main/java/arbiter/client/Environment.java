package arbiter.client;

/** Reads the environment; an empty variable counts as absent. */
final class Environment {
    private Environment() {}

    /** Returns the value of a variable, or null. */
    static String get(String variable) {
        return text(System.getenv(variable));
    }

    /** Returns a text, or null if it is absent or empty. */
    static String text(String text) {
        return text == null || text.isEmpty() ? null : text;
    }
}
