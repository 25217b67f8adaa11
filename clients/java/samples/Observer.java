import arbiter.client.Cli;
import arbiter.client.Client;
import arbiter.client.Observation;
import arbiter.v1.MatchEvent;
import java.util.Locale;
import java.util.Optional;

/**
 * Watches a match from its beginning, or everything from now on: prints a line for each event, also after lost
 * connections.
 */
public final class Observer {
    private Observer() {}

    private static String describe(MatchEvent event) {
        return switch (event.getEventCase()) {
            case CREATED -> {
                var made = event.getCreated();
                String players = String.join(" against ", made.getPlayersList());
                yield made.getGame() + ": " + players + ", " + made.getTimeControl();
            }
            case MOVED -> {
                var moved = event.getMoved();
                String spent = moved.hasLedger() ? ", " + moved.getLedger().getChargedMs() + " ms" : "";
                yield moved.getPly() + 1 + ". " + moved.getMove() + " (seat " + moved.getSeat() + spent + ")";
            }
            case ENDED -> {
                var result = event.getEnded();
                String kind = result.getKind().name().replace("RESULT_KIND_", "").toLowerCase(Locale.ROOT);
                yield (result.getWinner() != 0 ? "seat " + result.getWinner() + " wins" : kind) + ": " + result.getReason();
            }
            default -> event.getKind();
        };
    }

    /** Watches the match that is named, or everything, until it ends or until Ctrl-C. */
    public static void main(String[] arguments) {
        Cli.program("Prints a line an event.", "Observer", "[MATCH]", arguments, (options, words) -> {
            try (Client client = new Client(options);
                    Observation events = words.isEmpty() ? client.observeAll("", "") : client.observe(words.get(0), 0)) {
                Optional<MatchEvent> event = events.nextEvent();
                while (event.isPresent()) {
                    MatchEvent news = event.get();
                    System.out.println(news.getMatchId() + " " + news.getRevision() + ": " + describe(news));
                    event = events.nextEvent();
                }
            }
        });
    }
}
