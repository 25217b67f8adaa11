/** The bot's seats in live matches: the state of each, and its act that is not answered yet. */

import { setMaxListeners } from "node:events";
import type { Client } from "./client.js";
import type { Turn as TurnMessage } from "./generated/arbiter/v1/play_pb.js";
import type { LiveMatch, Turn } from "./values.js";

/** A `LiveMatch`, from the side that keeps it up to date. */
export type KeptMatch<Memory extends object> = {
  -readonly [Key in keyof LiveMatch<Memory>]: LiveMatch<Memory>[Key];
};

/**
 * A seat of the bot in a live match. In a match of the bot against itself there are two, independent of each other.
 */
export class Seat<Memory extends object> {
  readonly match: KeptMatch<Memory>;
  /** The callback `started`, once it was called. */
  begun: Promise<void> | undefined;
  /** The choice that is under way; the results of others are ignored. */
  thought: Thought | undefined;
  /** The turn that the last choice answered. */
  turn: Turn<Memory> | undefined;
  /** The move, claim or resignation that waits for its answer. */
  requestId = "";
  /** Turns before this one are done. */
  nextPly = 0;
  /** Whether the opponent's present draw offer has been answered. */
  offerAnswered = false;

  constructor(client: Client, matchId: string, game: string, seat: number, opponent: string) {
    const about = {
      matchId,
      game,
      seat,
      opponent,
      timeControl: "",
      matchTimeControl: "",
      rated: false,
      label: "",
      openingPlies: 0,
      startPosition: "",
    };
    this.match = { ...about, moves: [], over: false, client, memory: {} };
  }

  /** Begins a choice for a turn, in place of an older one. */
  think(ply: number): Thought {
    const thought = new Thought(ply);
    this.leave();
    this.thought = thought;
    return thought;
  }

  /** Abandons the choice that is under way. */
  leave(): void {
    const { thought } = this;
    this.thought = undefined; // first: what its signal calls may look here
    thought?.left.abort();
  }
}

/** Choosing for a turn. */
export class Thought {
  readonly left = new AbortController();

  constructor(readonly ply: number) {
    setMaxListeners(0, this.left.signal); // as many as the bot makes calls at once
  }

  /** Aborted when the choice is not needed any more. */
  get signal(): AbortSignal {
    return this.left.signal;
  }
}

/** Returns the moves up to a turn, from the known ones and the turn's last ones; undefined if there is a gap. */
export function joined(
  moves: readonly string[],
  turn: Pick<TurnMessage, "ply" | "lastMoves">,
): string[] | undefined {
  const known = moves.slice(0, turn.ply);
  for (const { ply, move } of turn.lastMoves) {
    if (ply > known.length || (ply < known.length && known[ply] !== move)) return undefined;
    if (ply === known.length) known.push(move);
  }
  return known.length === turn.ply ? known : undefined;
}
