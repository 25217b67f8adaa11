package arbiter.client;

import arbiter.v1.Terms;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.logging.ConsoleHandler;
import java.util.logging.Formatter;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** The command line of a bot: the same for all, so that the file of a bot contains only the bot. */
public final class Cli {
    private static final String SEEK = "GAME [TIME] [rated] [seat=1|2]";
    private static final Logger LOGGER = Logger.getLogger("arbiter.client"); // held, so that its level is kept

    private record Flag(String name, String value, String what) {}

    private static final List<Flag> FLAGS = List.of(
            new Flag("--server", "HOST:PORT", "the arbiter; several of its addresses with commas (default: $ARBITER_SERVER or 127.0.0.1:7400)"),
            new Flag("--name", "NAME", "the player (default: $ARBITER_NAME or the bot's name)"),
            new Flag("--token", "TOKEN", "its token (default: $ARBITER_TOKEN or the credentials file)"),
            new Flag("--invitation", "WORD", "the invitation to register with, where one is needed"),
            new Flag("--games", "GAMES", "games or variants to play, separated by commas (default: the bot's own)"),
            new Flag("--most-matches", "N", "how many matches to play at once (default: the bot's own)"),
            new Flag("--matches", "N", "stop after so many matches have ended"),
            new Flag("--seek", "TERMS", "keep a seek open: \"" + SEEK + "\"; may be given several times"),
            new Flag("--accept-seeks", "", "accept open seeks of others that suit"),
            new Flag("--enter-tournaments", "", "enter tournaments that suit"),
            new Flag("--tls", "", "speak TLS, and trust the system's certificates"),
            new Flag("--root-certificate", "FILE", "speak TLS, and trust this (PEM)"),
            new Flag("--client-certificate", "FILE", "the bot's own certificate (PEM), with --client-key"),
            new Flag("--client-key", "FILE", "its key (PEM)"),
            new Flag("--verbose", "", "say more on standard error"),
            new Flag("--quiet", "", "say only what is wrong on standard error"),
            new Flag("--help", "", "show this and exit"));

    /** What a program does with its options, and with the words that stand beside them. */
    @FunctionalInterface
    public interface Work {
        /** Does it; a ClientException is shown as a mistake. */
        void run(Options options, List<String> words);
    }

    /** A mistake on the command line, in a sentence. */
    static final class Mistake extends Exception {
        private static final long serialVersionUID = 1;

        Mistake(String message) {
            super(message);
        }
    }

    /** The parsed arguments. */
    static final class Parsed {
        final Options options = new Options();
        final List<String> words = new ArrayList<>();
        final List<Terms> seeks = new ArrayList<>();
        boolean help;
        Level level = Level.INFO;
    }

    private Cli() {}

    /**
     * Plays a bot by the arguments and the environment. Returns when the bot is done or interrupted; a mistake is
     * reported in one line on standard error, with exit code 1.
     */
    public static void main(String description, Bot bot, String[] arguments) {
        program(description, bot.getClass().getSimpleName(), "", bot.profile(), arguments, (options, words) ->
                Playing.run(bot, options));
    }

    /** Does some other work with the same command line; {@code words} says what may stand beside the options. */
    public static void program(String description, String name, String words, String[] arguments, Work work) {
        program(description, name, words, Profile.named(name).build(), arguments, work);
    }

    private static void program(
            String description, String name, String words, Profile profile, String[] arguments, Work work) {
        String mistake;
        try {
            Parsed parsed = parse(profile, arguments);
            if (parsed.help) {
                System.out.print(help(description, name, words));
                return;
            }
            if (words.isEmpty() && !parsed.words.isEmpty()) {
                throw new Mistake(parsed.words.get(0) + " is no option");
            }
            listen(parsed.level);
            work.run(parsed.options, parsed.words);
            return;
        } catch (Mistake error) {
            mistake = error.getMessage() + " (--help lists the options)";
        } catch (ClientException error) {
            mistake = error.getMessage();
        }
        System.err.println(name + ": " + PlainText.lines(String.valueOf(mistake)));
        System.exit(1);
    }

    /** Returns the parsed arguments, applied to a bot's own profile. */
    static Parsed parse(Profile profile, String... arguments) throws Mistake {
        Parsed parsed = new Parsed();
        Profile.Builder builder = profile.change();
        Iterator<String> rest = Arrays.asList(arguments).iterator();
        while (rest.hasNext()) {
            String argument = rest.next();
            if (!argument.startsWith("-")) {
                parsed.words.add(argument);
                continue;
            }
            String[] parts = argument.split("=", 2);
            Flag flag = FLAGS.stream()
                    .filter(known -> known.name().equals(parts[0]))
                    .findFirst()
                    .orElse(null);
            if (flag == null) {
                throw new Mistake("there is no option " + parts[0]);
            }
            apply(flag.name(), valueOf(flag, parts, rest), parsed, builder);
        }
        if (!parsed.seeks.isEmpty()) {
            builder.seeks(parsed.seeks);
        }
        if (parsed.options.tls != null) {
            parsed.options.tls = parsed.options.tls.or(Tls.fromEnvironment());
        }
        parsed.options.profile(builder.build());
        return parsed;
    }

    private static String valueOf(Flag flag, String[] parts, Iterator<String> rest) throws Mistake {
        if (flag.value().isEmpty()) {
            if (parts.length > 1) {
                throw new Mistake(flag.name() + " takes no value");
            }
            return "";
        }
        if (parts.length > 1) {
            return parts[1];
        }
        if (!rest.hasNext()) {
            throw new Mistake(flag.name() + " needs a value: " + flag.value());
        }
        return rest.next();
    }

    private static void apply(String flag, String value, Parsed parsed, Profile.Builder profile) throws Mistake {
        Options options = parsed.options;
        Tls tls = options.tls == null ? Tls.SYSTEM : options.tls;
        switch (flag) {
            case "--server" -> options.server(value);
            case "--name" -> options.name(value);
            case "--token" -> options.token(value);
            case "--invitation" -> options.invitation(value);
            case "--games" -> profile.games(split(value));
            case "--most-matches" -> profile.mostMatches(number(flag, value));
            case "--matches" -> options.matches(number(flag, value));
            case "--seek" -> parsed.seeks.add(terms(value));
            case "--accept-seeks" -> profile.acceptSeeks(true);
            case "--enter-tournaments" -> profile.enterTournaments(true);
            case "--tls" -> options.tls(tls);
            case "--root-certificate" ->
                    options.tls(new Tls(Path.of(value), tls.clientCertificate(), tls.clientKey()));
            case "--client-certificate" -> options.tls(new Tls(tls.rootCertificate(), Path.of(value), tls.clientKey()));
            case "--client-key" ->
                    options.tls(new Tls(tls.rootCertificate(), tls.clientCertificate(), Path.of(value)));
            case "--verbose" -> parsed.level = Level.ALL;
            case "--quiet" -> parsed.level = Level.WARNING;
            default -> parsed.help = true;
        }
    }

    private static int number(String flag, String text) throws Mistake {
        try {
            int number = Integer.parseInt(text);
            if (number >= 0) {
                return number;
            }
        } catch (NumberFormatException error) {
            throw new Mistake(flag + " " + text + ": expected a number");
        }
        throw new Mistake(flag + " " + text + ": expected a number from 0 on");
    }

    /** Returns the items of a list; commas in parentheses do not separate: {@code pods(size=5,x=1),hop-it}. */
    private static String[] split(String games) {
        List<String> items = new ArrayList<>();
        StringBuilder item = new StringBuilder();
        int depth = 0;
        for (char letter : (games + ",").toCharArray()) {
            depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
            if (letter == ',' && depth <= 0) {
                items.add(item.toString().strip());
                item.setLength(0);
            } else {
                item.append(letter);
            }
        }
        return items.stream().filter(text -> !text.isEmpty()).toArray(String[]::new);
    }

    private static Terms terms(String text) throws Mistake {
        String[] words = text.strip().split("\\s+");
        if (words[0].isEmpty()) {
            throw new Mistake("a seek is for a game: expected " + SEEK);
        }
        Terms.Builder terms = Terms.newBuilder().setGame(words[0]);
        for (String word : Arrays.asList(words).subList(1, words.length)) {
            if (word.equals("rated") && !terms.getRated()) {
                terms.setRated(true);
            } else if (word.matches("seat=[12]") && terms.getSeat() == 0) {
                terms.setSeat(word.charAt(word.length() - 1) - '0');
            } else if (!word.equals("rated") && !word.contains("=") && terms.getTimeControl().isEmpty()) {
                terms.setTimeControl(word);
            } else {
                throw new Mistake("'" + word + "' does not belong into a seek: expected " + SEEK);
            }
        }
        return terms.build();
    }

    private static String help(String description, String name, String words) {
        StringBuilder text = new StringBuilder("Usage: " + (name + " [OPTIONS] " + words).strip() + "\n\n");
        text.append(description).append("\n\n");
        for (Flag flag : FLAGS) {
            text.append(String.format("  %-28s %s%n", flag.name() + " " + flag.value(), flag.what()));
        }
        return text.toString();
    }

    /** Shows the log on standard error, a line a record, from a level on. */
    private static void listen(Level level) {
        ConsoleHandler handler = new ConsoleHandler();
        handler.setLevel(Level.ALL);
        handler.setFormatter(new Formatter() {
            @Override
            public String format(LogRecord line) {
                String text = String.format("%1$tF %1$tT %2$s %3$s%n", line.getMillis(), line.getLevel(), PlainText.lines(formatMessage(line)));
                return line.getThrown() == null ? text : text + trace(line.getThrown());
            }
        });
        LOGGER.setUseParentHandlers(false);
        LOGGER.setLevel(level);
        LOGGER.addHandler(handler);
    }

    private static String trace(Throwable thrown) {
        java.io.StringWriter text = new java.io.StringWriter();
        thrown.printStackTrace(new java.io.PrintWriter(text));
        return PlainText.lines(text.toString().replace("\t", "    ").stripTrailing()) + "\n";
    }
}
