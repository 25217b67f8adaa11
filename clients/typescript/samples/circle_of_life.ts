// A bot with rules of its own: it looks ahead in Circle of Life, as deep as its clock allows, without asking the server.
//
// It searches by iterative deepening with alpha-beta, and counts what each seat has eaten.
import { Bot, breathe, type Move, main, type Turn } from "game-arbiter-client";
import { CELLS, CircleOfLife, type Position } from "game-arbiter-client/rules/circle_of_life";

const WIN = 1_000;
const DEEPEST = 6;
const LONGEST_MS = 1_000;
const SHARE = 30; // a thought takes so small a part of the time that is left

/** The time for a thought is over. */
class TimeUp extends Error {}

class Lookahead extends Bot {
  readonly name = "lookahead";
  override games = ["circle-of-life"];

  async choose(turn: Turn): Promise<Move> {
    const rules = new CircleOfLife(turn.game);
    const search = new Search(
      rules,
      performance.now() + Math.min(LONGEST_MS, (turn.timeLeftMs ?? Infinity) / SHARE),
    );
    const position = rules.parse(turn.position);
    let best = position.open[0] as number;
    let worth = 0;
    try {
      for (let depth = 1; depth <= DEEPEST && Math.abs(worth) < WIN && !turn.match.over; depth += 1) {
        [best, worth] = search.best(position, depth, best);
        await breathe();
      }
    } catch (error) {
      if (!(error instanceof TimeUp)) throw error;
    }
    const evaluation = Math.round(500 + 500 * Math.tanh(worth / 8));
    return { text: CELLS[best] as string, evaluation };
  }
}

class Search {
  constructor(
    readonly rules: CircleOfLife,
    readonly endMs: number,
  ) {}

  /** Returns the best cell to place on and what it is worth to the mover; looks at `first` first. */
  best(position: Position, depth: number, first: number): [cell: number, worth: number] {
    let found: [number, number] = [first, Number.NEGATIVE_INFINITY];
    for (const cell of [first, ...position.open.filter((each) => each !== first)]) {
      const worth = -this.worth(
        this.rules.place(position, cell),
        depth - 1,
        Number.NEGATIVE_INFINITY,
        -found[1],
      );
      if (worth > found[1]) found = [cell, worth];
    }
    return found;
  }

  /** Returns what a position is worth to the seat to move, if it lies between the bounds. Throws TimeUp. */
  worth(position: Position, depth: number, low: number, high: number): number {
    const { outcome, turn, eaten, open } = position;
    if (outcome) return outcome.winner === turn ? WIN + depth : -WIN - depth;
    if (depth === 0) return (turn === 1 ? 1 : -1) * (eaten[0] - eaten[1]);
    if (performance.now() > this.endMs) throw new TimeUp();
    let best = low;
    for (const cell of open) {
      best = Math.max(best, -this.worth(this.rules.place(position, cell), depth - 1, -high, -best));
      if (best >= high) break;
    }
    return best;
  }
}

await main(new Lookahead());
