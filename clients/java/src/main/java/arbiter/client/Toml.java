package arbiter.client;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The credentials files of earlier versions: as much of TOML as they have. */
final class Toml {
    private static final String QUOTED = "\"((?:[^\"\\\\\\p{Cntrl}]|\\\\.)*+)\"|'([^'\\p{Cntrl}]*+)'";
    private static final String KEY = "(?:([A-Za-z0-9_-]++)|" + QUOTED + ")";
    private static final String REST = "\\s*+(?:#.*+)?";
    private static final Pattern TABLE = Pattern.compile("\\s*+\\[\\s*+" + KEY + "\\s*+\\]" + REST);
    private static final Pattern ENTRY = Pattern.compile("\\s*+" + KEY + "\\s*+=\\s*+(?:" + QUOTED + ")" + REST);
    private static final Pattern BLANK = Pattern.compile(REST);
    private static final Pattern ESCAPE = Pattern.compile("\\\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)");
    private static final Map<String, String> LETTERS =
            Map.of("b", "\b", "t", "\t", "n", "\n", "f", "\f", "r", "\r", "\"", "\"", "\\", "\\");

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
                table = tables.computeIfAbsent(word(head, 1), any -> new LinkedHashMap<>());
            } else if (entry.matches() && table != null) {
                String value = entry.group(4) == null ? entry.group(5) : unescaped(entry.group(4));
                table.put(word(entry, 1), value);
            } else if (!BLANK.matcher(line).matches()) {
                throw new IllegalArgumentException("line " + number + " is neither [\"HOST:PORT\"] nor NAME = \"TOKEN\"");
            }
        }
        return tables;
    }

    private static String word(Matcher matcher, int group) {
        if (matcher.group(group) != null) {
            return matcher.group(group);
        }
        String literal = matcher.group(group + 2);
        return literal != null ? literal : unescaped(matcher.group(group + 1));
    }

    private static String unescaped(String text) {
        return ESCAPE.matcher(text).replaceAll(found -> {
            String escape = found.group(1);
            String letter = escape.length() == 1
                    ? LETTERS.get(escape)
                    : Character.toString(Integer.parseInt(escape.substring(1), 16));
            if (letter == null) {
                throw new IllegalArgumentException("there is a wrong escape, \\" + escape);
            }
            return Matcher.quoteReplacement(letter);
        });
    }
}
