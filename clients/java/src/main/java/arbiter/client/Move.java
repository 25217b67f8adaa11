package arbiter.client;

import arbiter.v1.MoveComment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/**
 * Plays a move with the bot's comment, which opponents see after the end of the match.
 *
 * @param text the move's text
 * @param evaluation the score that the bot expects, in permille: 0 lost, 500 even, 1000 won; null for nothing
 * @param line the moves that it expects from this one on, its own move first; the server keeps 32 moves or 500 characters
 */
public record Move(String text, Integer evaluation, List<String> line) implements Choice {
    private static final int CERTAIN = 1_000;
    private static final int MOST_LINE_MOVES = 32;
    private static final int LONGEST_LINE = 500;

    /** Checks that there is a text. */
    public Move {
        Objects.requireNonNull(text, "a move needs a text");
        line = line == null ? List.of() : line.stream().map(String::valueOf).toList();
    }

    /** Plays the move without a comment. */
    public Move(String text) {
        this(text, null, List.of());
    }

    /**
     * Returns the comment on the move, or null. Parts that do not fit are left out: a comment must not cost the move.
     */
    MoveComment comment() {
        MoveComment.Builder comment = MoveComment.newBuilder();
        if (evaluation != null && evaluation >= 0 && evaluation <= CERTAIN) {
            comment.setEvaluation(evaluation);
        }
        line.stream()
                .limit(MOST_LINE_MOVES)
                .takeWhile(move -> move.length() <= LONGEST_LINE
                        && StandardCharsets.US_ASCII.newEncoder().canEncode(move))
                .forEach(comment::addLine);
        return comment.hasEvaluation() || comment.getLineCount() > 0 ? comment.build() : null;
    }
}
