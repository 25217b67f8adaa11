package arbiter.client;

import java.util.Arrays;
import java.util.stream.Collectors;

/** Texts that other people wrote, as they are safe to show: names, notes, sentences of refusals. */
public final class PlainText {
    private PlainText() {}

    /**
     * Returns a text with each character escaped that can't be printed: {@code \\n}, {@code \\x1b}, {@code \\u200f}. A
     * terminal obeys some of them, and others forge lines or turn their direction.
     */
    public static String of(String text) {
        return text.codePoints().mapToObj(PlainText::shown).collect(Collectors.joining());
    }

    /** Returns the same line by line, for a text of several lines; further lines are indented. */
    static String lines(String text) {
        return Arrays.stream(text.split("\n", -1)).map(PlainText::of).collect(Collectors.joining("\n    "));
    }

    private static String shown(int character) {
        return switch (character) {
            case '\n' -> "\\n";
            case '\r' -> "\\r";
            case '\t' -> "\\t";
            default -> isPrintable(character) ? Character.toString(character) : escaped(character);
        };
    }

    private static String escaped(int character) {
        return String.format(character <= 0xff ? "\\x%02x" : character <= 0xffff ? "\\u%04x" : "\\U%08x", character);
    }

    private static boolean isPrintable(int character) {
        return switch (Character.getType(character)) {
            case Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.PRIVATE_USE, Character.UNASSIGNED ->
                false;
            case Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> false;
            case Character.SPACE_SEPARATOR -> character == ' ';
            default -> true;
        };
    }
}
