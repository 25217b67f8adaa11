package arbiter.client;

import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/** Lines of moves from the start of a game that are known beforehand. clients/README.md describes the file. */
public final class OpeningBook {
    private static final String ALLOWED = "GAME MOVE MOVE …";

    private final Map<String, List<List<String>>> lines = new HashMap<>();

    private OpeningBook() {}

    /** Returns the book in a text. Throws ArbiterException (PARAMETER_INVALID) for a line without moves. */
    public static OpeningBook parse(String text) {
        OpeningBook book = new OpeningBook();
        int number = 0;
        for (String line : (text.startsWith("\uFEFF") ? text.substring(1) : text).split("\r\n|\r|\n", -1)) {
            number++;
            String[] words = line.strip().split("\\s+");
            if (words[0].isEmpty() || words[0].startsWith("#")) {
                continue;
            }
            if (words.length == 1) {
                String message = "line " + number + " of the opening book has no move after '" + words[0]
                        + "': expected " + ALLOWED;
                Map<String, String> facts =
                        Map.of("what", words[0], "where", "opening book, line " + number, "allowed", ALLOWED);
                throw new ArbiterException(Reason.PARAMETER_INVALID, message, Status.Code.INVALID_ARGUMENT, facts);
            }
            book.lines
                    .computeIfAbsent(words[0], any -> new ArrayList<>())
                    .add(List.copyOf(Arrays.asList(words).subList(1, words.length)));
        }
        return book;
    }

    /** Returns the book in a file. Throws IOException if it can't be read or is not UTF-8, and as {@link #parse} does. */
    public static OpeningBook load(Path path) throws IOException {
        return parse(Files.readString(path));
    }

    /** Returns the moves that the book has after those played, each once, in the order of the book. */
    public List<String> moves(String game, List<String> played) {
        Set<String> found = new LinkedHashSet<>();
        for (List<String> line : lines.getOrDefault(game, List.of())) {
            if (line.size() > played.size() && line.subList(0, played.size()).equals(played)) {
                found.add(line.get(played.size()));
            }
        }
        return List.copyOf(found);
    }

    /** Returns one of the moves for a turn by lot, or nothing: think. A match from a position of its own is in no book. */
    public Optional<String> move(Turn turn) {
        boolean usual = turn.match().startPosition().isEmpty();
        List<String> known = usual ? moves(turn.game(), turn.moves()) : List.of();
        return known.isEmpty()
                ? Optional.empty()
                : Optional.of(known.get(ThreadLocalRandom.current().nextInt(known.size())));
    }
}
