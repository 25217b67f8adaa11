package arbiter.client;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Time controls, compared by meaning: {@code 60s+2s} is {@code 1m+2s}. The arbiter writes the canonical form, a bot any form. */
final class TimeControl {
    static final String ALLOWED =
            "5m, 5m+3s, 5m+3sd, 5m+3sb, 300ms/move, 300ms/move+10s, 1m+3x10s, 40/30m or none";
    private static final int LONGEST_TEXT = 40; // characters
    private static final long LONGEST_MS = 168 * 3_600_000L; // of each duration
    private static final int MOST_PERIODS = 100;
    private static final int MOST_MOVES = 1_000;

    private record Unit(String name, long ms) {}

    private static final List<Unit> UNITS = // large to small
            List.of(new Unit("h", 3_600_000), new Unit("m", 60_000), new Unit("s", 1_000), new Unit("ms", 1));
    private static final String TIME = "[1-9][0-9]{0,8}(?:ms|s|m|h)";
    private static final Pattern FORM = Pattern.compile(("none|T(?:\\+T[db]?)?|T/move(?:\\+T)?"
                    + "|T\\+(?<periods>[1-9][0-9]{0,3})x" + "T|(?<moves>[1-9][0-9]{0,3})/T")
            .replace("T", TIME));
    private static final Pattern DURATION = Pattern.compile("([0-9]+)(ms|s|m|h)");

    private static final Pattern EACH_MOVE = // as in the Python client
            Pattern.compile("([0-9]{1,9})(ms|[smh])/move|\\+(?:[0-9]+x)?([0-9]{1,9})(ms|[smh])[db]?$");

    private TimeControl() {}

    /**
     * Returns the canonical form of a time control: each duration in the largest unit that divides it. Throws
     * IllegalArgumentException for a text that is none, as the arbiter does (arbiter/matches/time_control.py).
     */
    static String canonical(String text) {
        Matcher found = FORM.matcher(text);
        boolean isOne = text.length() <= LONGEST_TEXT
                && found.matches()
                && count(found.group("periods")) <= MOST_PERIODS
                && count(found.group("moves")) <= MOST_MOVES;
        if (!isOne) {
            String shown = text.substring(0, Math.min(text.length(), LONGEST_TEXT + 1));
            throw new IllegalArgumentException("'" + shown + "' is no time control: expected " + ALLOWED);
        }
        return DURATION.matcher(text).replaceAll(time -> shortest(time.group(1), time.group(2), text));
    }

    /** Returns whether two texts are the same time control. Texts that are none are compared as they are. */
    static boolean same(String one, String other) {
        try {
            return one.equals(other) || canonical(one).equals(canonical(other));
        } catch (IllegalArgumentException error) { // of a newer arbiter, say
            return false;
        }
    }

    /**
     * Returns the time in milliseconds that a time control adds for every move: increment, delay, fixed time or period; 0
     * where it adds none, or is none that is known here.
     */
    static long eachMoveMs(String text) {
        Matcher found = EACH_MOVE.matcher(text);
        if (!found.find()) {
            return 0;
        }
        int group = found.group(1) != null ? 1 : 3;
        return Long.parseLong(found.group(group)) * length(found.group(group + 1));
    }

    private static int count(String digits) {
        return digits == null ? 1 : Integer.parseInt(digits);
    }

    private static String shortest(String number, String unit, String text) {
        long ms = Long.parseLong(number) * length(unit);
        if (ms > LONGEST_MS) {
            throw new IllegalArgumentException(
                    number + unit + " in the time control '" + text + "' is more than 168h");
        }
        Unit largest = UNITS.stream().filter(each -> ms % each.ms() == 0).findFirst().orElseThrow();
        return ms / largest.ms() + largest.name();
    }

    private static long length(String unit) {
        return UNITS.stream().filter(each -> each.name().equals(unit)).findFirst().orElseThrow().ms();
    }
}
