package arbiter.client;

import arbiter.v1.MatchEnded;
import arbiter.v1.Result;
import arbiter.v1.ResultKind;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A match of the bot has ended, perhaps while it was away.
 *
 * @param matchId the match's id
 * @param game the canonical variant
 * @param seat the bot's seat; 1 in a match against itself
 * @param opponent the opponent's name
 * @param result how it ended
 * @param position the position's text at the end
 * @param match the match as the bot knew it; empty where it never saw it live
 */
public record FinishedMatch(
        String matchId,
        String game,
        int seat,
        String opponent,
        Result result,
        String position,
        Optional<LiveMatch> match) {
    static FinishedMatch of(MatchEnded message, LiveMatch match) {
        return new FinishedMatch(
                message.getMatchId(),
                message.getGame(),
                message.getSeat(),
                message.getOpponent(),
                message.getResult(),
                message.getPosition(),
                Optional.ofNullable(match));
    }

    /** Returns the bot's points: 1, ½ or 0; empty if the match is void. */
    public OptionalDouble score() {
        if (result.getKind() == ResultKind.RESULT_KIND_WIN) {
            return OptionalDouble.of(result.getWinner() == seat ? 1 : 0);
        }
        return result.getKind() == ResultKind.RESULT_KIND_DRAW ? OptionalDouble.of(0.5) : OptionalDouble.empty();
    }
}
