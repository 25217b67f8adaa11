package arbiter.client;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** As much of TOML as a credentials file has: tables of texts, comments and blank lines. */
final class Toml {
    private static final String QUOTED = "\"((?:[^\"\\\\\\p{Cntrl}]|\\\\.)*+)\"|'([^']*+)'";
    private static final String KEY = "(?:([A-Za-z0-9_-]++)|" + QUOTED + ")";
    private static final String REST = "\\s*+(?:#.*+)?";
    private static final Pattern TABLE = Pattern.compile("\\s*+\\[\\s*+" + KEY + "\\s*+\\]" + REST);
    private static final Pattern ENTRY = Pattern.compile("\\s*+" + KEY + "\\s*+=\\s*+(?:" + QUOTED + ")" + REST);
    private static final Pattern BLANK = Pattern.compile(REST);
    private static final Pattern ESCAPE = Pattern.compile("\\\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)");

    private Toml() {}

    /** Returns the tables of a text. Throws IllegalArgumentException that names the line that is wrong. */
    static Map<String, Map<String, String>> read(String text) {
        Map<String, Map<String, String>> tables = new LinkedHashMap<>();
        Map<String, String> table = null;
        int number = 0;
        for (String line : text.split("\r?\n", -1)) {
            number++;
            Matcher head = TABLE.matcher(line);
            Matcher entry = ENTRY.matcher(line);
            if (head.matches()) {
                table = new LinkedHashMap<>();
                if (tables.put(word(head, 1), table) != null) {
                    throw new IllegalArgumentException("line " + number + " begins a table for the second time");
                }
            } else if (entry.matches() && table != null) {
                String value = entry.group(4) == null ? entry.group(5) : unescaped(entry.group(4));
                table.put(word(entry, 1), value);
            } else if (!BLANK.matcher(line).matches()) {
                throw new IllegalArgumentException("line " + number + " is neither [\"HOST:PORT\"] nor NAME = \"TOKEN\"");
            }
        }
        return tables;
    }

    /** Returns the text of tables; empty ones are left out. */
    static String write(Map<String, Map<String, String>> tables) {
        StringBuilder text = new StringBuilder();
        tables.forEach((name, table) -> {
            if (!table.isEmpty()) {
                text.append('[').append(quoted(name)).append("]\n");
                table.forEach((key, value) ->
                        text.append(quoted(key)).append(" = ").append(quoted(value)).append('\n'));
                text.append('\n');
            }
        });
        return text.toString();
    }

    private static String word(Matcher matcher, int group) {
        if (matcher.group(group) != null) {
            return matcher.group(group);
        }
        String literal = matcher.group(group + 2);
        return literal != null ? literal : unescaped(matcher.group(group + 1));
    }

    private static String unescaped(String text) {
        return ESCAPE.matcher(text).replaceAll(found -> Matcher.quoteReplacement(letter(found.group(1))));
    }

    private static String letter(String escape) {
        return switch (escape.charAt(0)) {
            case 'u', 'U' -> {
                if (escape.length() == 1) {
                    throw new IllegalArgumentException("there is a wrong escape, \\" + escape);
                }
                yield Character.toString(Integer.parseInt(escape.substring(1), 16));
            }
            case 'b' -> "\b";
            case 't' -> "\t";
            case 'n' -> "\n";
            case 'f' -> "\f";
            case 'r' -> "\r";
            case '"', '\\' -> escape;
            default -> throw new IllegalArgumentException("there is a wrong escape, \\" + escape);
        };
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        text.codePoints().forEach(letter -> {
            if (letter == '"' || letter == '\\') {
                quoted.append('\\').appendCodePoint(letter);
            } else if (Character.isISOControl(letter)) {
                quoted.append(String.format("\\u%04x", letter));
            } else {
                quoted.appendCodePoint(letter);
            }
        });
        return quoted.append('"').toString();
    }
}
