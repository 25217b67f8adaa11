// The smallest bot: it plays the first legal move.
import { Bot, type FinishedMatch, main, type Turn } from "game-arbiter-client";

class FirstMove extends Bot {
  readonly name = "first-move";
  override extras = { legalMovesUpTo: 500 };

  async choose(turn: Turn): Promise<string> {
    const [first] = await this.legalMoves(turn);
    return first?.text ?? "";
  }

  override ended({ game, opponent, score, result }: FinishedMatch): void {
    console.log(`${game} against ${opponent}: ${score} (${result.reason})`);
  }
}

await main(new FirstMove());
