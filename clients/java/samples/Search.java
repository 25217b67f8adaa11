import arbiter.client.Bot;
import arbiter.client.Choice;
import arbiter.client.Cli;
import arbiter.client.Line;
import arbiter.client.Move;
import arbiter.client.Profile;
import arbiter.client.Turn;
import arbiter.v1.LegalMove;
import arbiter.v1.PlayMovesResponse;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/**
 * A bot with a simple search and no rules of its own: the server plays the moves for it. It looks at its own moves and at
 * the opponent's answers to the best of them, many questions at once, and counts pieces.
 */
public final class Search implements Bot {
    private static final int WIDTH = 8; // own moves to try
    private static final int DEPTH_WIDTH = 2; // of these, how many to try with the opponent's answers
    private static final int ANSWERS = 4; // answers to try
    private static final double WIN = 100;

    @Override
    public Profile profile() {
        return Profile.named("search").build();
    }

    @Override
    public Choice choose(Turn turn) {
        List<String> moves = sample(turn.legalMoves(), WIDTH);
        Map<String, Double> worths = worths(moves, move -> worth(turn, turn.line().then(move)));
        List<String> best = moves.stream()
                .sorted(Comparator.comparing(worths::get).reversed())
                .limit(DEPTH_WIDTH)
                .toList();
        if (worths.get(best.get(0)) >= WIN) {
            return new Move(best.get(0));
        }
        Map<String, Double> afterwards = worths(best, move -> worst(turn, turn.line().then(move)));
        return new Move(Collections.max(best, Comparator.comparing(afterwards::get)));
    }

    /** Returns what the end of a line is worth after the opponent's best answer, of those looked at. */
    private static double worst(Turn turn, Line line) {
        return sample(turn.client().legalMoves(line), ANSWERS).stream()
                .mapToDouble(answer -> worth(turn, line.then(answer)))
                .min()
                .orElseGet(() -> worth(turn, line));
    }

    /** Returns what the end of a line is worth to the bot: ±100 for a win, or the difference in pieces. */
    private static double worth(Turn turn, Line line) {
        PlayMovesResponse played = turn.client().playMoves(line, line.moves().size(), true);
        int winner = played.getOutcome().getWinner();
        if (winner != 0) {
            return winner == turn.seat() ? WIN : -WIN;
        }
        return played.getPositions(played.getPositionsCount() - 1).getBoardList().stream()
                .mapToInt(cell -> cell.getOwner() == 0 ? 0 : cell.getOwner() == turn.seat() ? 1 : -1)
                .sum();
    }

    private static Map<String, Double> worths(List<String> moves, ToDoubleFunction<String> worth) {
        return moves.parallelStream().collect(Collectors.toMap(move -> move, worth::applyAsDouble));
    }

    private static List<String> sample(List<LegalMove> moves, int most) {
        List<String> texts = new ArrayList<>(moves.stream().map(LegalMove::getText).toList());
        Collections.shuffle(texts);
        return texts.subList(0, Math.min(most, texts.size()));
    }

    /** Plays it as the command line says. */
    public static void main(String[] arguments) {
        Cli.main("Looks two moves ahead; the server plays the moves.", new Search(), arguments);
    }
}
