/** What a bot is: one method, from a turn to a choice, and callbacks for those who want them. */

import { setTimeout as sleep } from "node:timers/promises";
import { Backoff } from "./backoff.js";
import { type ArbiterError, mayPass } from "./errors.js";
import type {
  Challenge,
  ChallengeClosed,
  FinishedMatch,
  LegalMove,
  LiveMatch,
  Terms,
  TournamentCall,
  Turn,
} from "./values.js";

/** What each turn shall carry beyond the minimum; it costs time on both sides. */
export interface Extras {
  /** The board, cell by cell. */
  readonly board?: boolean;
  /** How many legal moves there are. */
  readonly legalMoveCount?: boolean;
  /** The legal moves, where there are at most so many. */
  readonly legalMovesUpTo?: number;
  /** With the legal moves, their visible parts. */
  readonly steps?: boolean;
}

/**
 * A move, and what the bot thinks of it; opponents see that after the end. What goes beyond 32 moves or 500 characters
 * is cut off by the server.
 */
export interface Move {
  readonly text: string;
  /** The score that the bot expects, in permille: 0 lost, 500 even, 1000 won. */
  readonly evaluation?: number | undefined;
  /** The moves that it expects from this one on, its own move first. */
  readonly line?: readonly string[];
}

/** Offer a draw, and play a move. */
export interface OfferDraw {
  readonly offerDraw: string | Move;
}

/** Claim the draw that `turn.drawClaim` names. */
export interface ClaimDraw {
  readonly claimDraw: true;
}

/** Give the match up. */
export interface Resign {
  readonly resign: true;
}

/** What a bot does at its turn: a move or its text, or one of the other acts. */
export type Choice = string | Move | OfferDraw | ClaimDraw | Resign;

/** A value, or the promise of one. */
export type Awaitable<T> = T | Promise<T>;

/**
 * A bot. Subclasses say who they are and choose moves; everything else has a default.
 *
 * Every method may be `async`. Several matches may be under way at once: keep what belongs to one of them in
 * `turn.match.memory`. One bot may be played by several runs, one after the other or at once: nothing of a run is kept
 * in it. The stream has a thread of its own, so that a long computation holds up no ping; it does hold up
 * this bot's other matches, unless it lets them in with `await breathe()` from time to time.
 */
export abstract class Bot {
  /** The bot's name, for people. */
  abstract readonly name: string;
  /** The bot's version; rated apart from other versions. */
  version = "1";
  /** The games or variants that it plays: `pods` stands for all its variants; empty for all. */
  games: readonly string[] = [];
  /** The time controls that it accepts in challenges, seeks and tournaments; empty for all. */
  timeControls: readonly string[] = [];
  /** The players whose challenges and seeks it accepts; empty for all. */
  opponents: readonly string[] = [];
  /** How many matches it plays at once; 0 for no limit. */
  mostMatches = 0;
  /** Whether it accepts challenges that suit. */
  acceptChallenges = true;
  /** Whether it accepts open seeks of others that suit. */
  acceptSeeks = false;
  /** Terms of seeks to keep open while there is room for a match. */
  seeks: readonly Terms[] = [];
  /** Whether it enters every tournament that suits, when it is called. */
  enterTournaments = false;
  /** What it can do beyond the protocol's first version, by name. */
  capabilities: readonly string[] = [];
  /** What its turns carry. */
  extras: Extras = {};

  /**
   * Returns what to do at a turn: a move or its text, or another `Choice`. `turn.signal` is aborted when the choice is of
   * no use any more; what this throws then is passed over.
   */
  abstract choose(turn: Turn): Awaitable<Choice>;

  /**
   * Returns another choice for a turn after the first one was refused, or undefined to be asked through `choose` once
   * more, with `turn.refused` set. If that is refused too, the match is resigned.
   */
  refused(_turn: Turn, _refusal: ArbiterError): Awaitable<Choice | undefined> {
    return undefined;
  }

  /** A match has started, or one under way was taken up. It comes before its first turn. */
  started(_match: LiveMatch): Awaitable<void> {}

  /** A match has ended; once this returns, the server is told that the result was seen. */
  ended(_finished: FinishedMatch): Awaitable<void> {}

  /** Returns whether to accept the opponent's draw offer. By default no. */
  drawOffered(_match: LiveMatch): Awaitable<boolean> {
    return false;
  }

  /**
   * Returns true to accept a challenge, or the reason for declining it. By default the bot's settings decide. It is asked
   * where there is room for a match.
   */
  challenged(challenge: Challenge): Awaitable<boolean | string> {
    return this.acceptChallenges ? (this.objection(challenge) ?? true) : "this bot accepts no challenges";
  }

  /** A challenge or seek of the bot's own is no longer open. */
  challengeClosed(_closed: ChallengeClosed): Awaitable<void> {}

  /** Returns whether to accept somebody's open seek: asked with `acceptSeeks`. By default the settings decide. */
  sought(seek: Challenge): Awaitable<boolean> {
    return this.objection(seek) === undefined;
  }

  /**
   * Returns whether to enter a tournament: asked with `enterTournaments`, and only of those that the bot has not entered.
   * By default it enters where it plays all the games, at the time control.
   */
  called({ games, timeControl }: TournamentCall): Awaitable<boolean> {
    return games.every((game) => this.plays(game)) && this.playsAt(timeControl);
  }

  /**
   * Returns the legal moves of a turn: those that it carries, or else the server's answer, for which it asks until the
   * choice is of no use any more: a lost connection shall cost no match.
   */
  async legalMoves(turn: Turn): Promise<readonly LegalMove[]> {
    if (turn.legalMoves.length > 0) return turn.legalMoves;
    const { match, ply, signal } = turn;
    const backoff = new Backoff();
    for (;;) {
      try {
        return await turn.client.legalMoves({ matchId: match.matchId, ply }, { signal });
      } catch (error) {
        if (signal.aborted || !mayPass(error)) throw error;
        await sleep(backoff.nextMs(), undefined, { ref: false, signal });
      }
    }
  }

  /** Returns whether the bot plays a variant: it, or its game, is in `games`, or `games` is empty. */
  plays(game: string): boolean {
    return this.games.length === 0 || this.games.some((each) => each === game || each === game.split("(")[0]);
  }

  /** Returns whether the bot plays at a time control. */
  playsAt(timeControl: string): boolean {
    return this.timeControls.length === 0 || this.timeControls.includes(timeControl);
  }

  /** Returns why the bot's settings forbid a challenge or seek of somebody's; undefined if they do not. */
  protected objection(challenge: Challenge): string | undefined {
    const { game = "", timeControl = "" } = challenge.terms ?? {};
    if (!this.plays(game)) return `this bot plays ${this.games.join(", ")}`;
    if (!this.playsAt(timeControl)) return `this bot plays at ${this.timeControls.join(", ")}`;
    if (this.opponents.length > 0 && !this.opponents.includes(challenge.challenger)) {
      return `this bot plays against ${this.opponents.join(", ")}`;
    }
    return undefined;
  }
}

/** Lets other work of this thread go on: the bot's other matches, and the news that a match is over. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
