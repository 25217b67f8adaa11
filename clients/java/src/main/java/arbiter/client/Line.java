package arbiter.client;

import arbiter.v1.LineOfPlay;
import java.util.ArrayList;
import java.util.List;

/**
 * A line of play.
 *
 * @param game the variant
 * @param position the start position; empty for the initial one
 * @param moves the moves since
 */
public record Line(String game, String position, List<String> moves) {
    /** Copies the moves. */
    public Line {
        moves = List.copyOf(moves);
    }

    /** Returns this line with one more move at its end. */
    public Line then(String move) {
        List<String> longer = new ArrayList<>(moves);
        longer.add(move);
        return new Line(game, position, longer);
    }

    LineOfPlay message() {
        return LineOfPlay.newBuilder().setGame(game).setPosition(position).addAllMoves(moves).build();
    }
}
