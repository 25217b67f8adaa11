// A bot with a simple search and no rules of its own: the server plays the moves for it.
//
// It looks at its own moves and at the opponent's answers to the best of them, and counts pieces.
import { Bot, extended, type Line, main, type Turn } from "game-arbiter-client";

const WIDTH = 8; // own moves to try
const DEPTH_WIDTH = 2; // of these, how many to try with the opponent's answers
const ANSWERS = 4; // answers to try
const WIN = 100;

class Search extends Bot {
  readonly name = "search";

  async choose(turn: Turn): Promise<string> {
    const { line } = turn;
    const moves = await this.some(turn, line, WIDTH);
    const worths = await Promise.all(moves.map((move) => this.worth(turn, extended(line, move))));
    const rated = moves.map((move, index) => ({ move, worth: worths[index] ?? 0 }));
    const best = rated.sort((a, b) => b.worth - a.worth).slice(0, DEPTH_WIDTH);
    if (best[0] && best[0].worth < WIN) {
      const afterwards = await Promise.all(best.map(({ move }) => this.worst(turn, extended(line, move))));
      for (const [index, each] of best.entries()) each.worth = afterwards[index] ?? 0;
      best.sort((a, b) => b.worth - a.worth);
    }
    return best[0]?.move ?? "";
  }

  /** Returns what the end of a line is worth after the opponent's best answer, of those looked at. */
  async worst(turn: Turn, line: Line): Promise<number> {
    const answers = await this.some(turn, line, ANSWERS);
    if (answers.length === 0) return this.worth(turn, line);
    return Math.min(
      ...(await Promise.all(answers.map((answer) => this.worth(turn, extended(line, answer))))),
    );
  }

  /** Returns what the end of a line is worth to the bot's seat: ±100 for a win, or the difference in pieces. */
  async worth({ client, seat, signal }: Turn, line: Line): Promise<number> {
    const fromPly = line.moves.length;
    const played = await client.playMoves(line, { fromPly, withBoard: true, signal });
    if (played.outcome?.winner) return played.outcome.winner === seat ? WIN : -WIN;
    const owned = (played.positions.at(-1)?.board ?? []).filter((cell) => cell.owner);
    return owned.reduce((sum, cell) => sum + (cell.owner === seat ? 1 : -1), 0);
  }

  /** Returns some legal moves at the end of a line, drawn at random. */
  async some({ client, signal }: Turn, line: Line, most: number): Promise<string[]> {
    const legal = (await client.legalMoves(line, { signal })).map((move) => move.text);
    const drawn = legal.map((move) => ({ move, lot: Math.random() })).sort((a, b) => a.lot - b.lot);
    return drawn.slice(0, most).map(({ move }) => move);
  }
}

await main(new Search());
