package arbiter.client;

/** Reads the environment; what is empty says nothing. */
final class Environment {
    private Environment() {}

    /** Returns the value of a variable, or null. */
    static String get(String variable) {
        return text(System.getenv(variable));
    }

    /** Returns a text, or null where there is none or nothing in it. */
    static String text(String text) {
        return text == null || text.isEmpty() ? null : text;
    }
}
