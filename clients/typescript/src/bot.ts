/** The interface of bots: one method, from a turn to a choice, and optional callbacks. */

import { setTimeout as sleep } from "node:timers/promises";
import { Backoff } from "./backoff.js";
import { type ArbiterError, mayPass } from "./errors.js";
import { sameControl } from "./time_control.js";
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

/** Optional content of each turn; it costs time on both sides. */
export interface Extras {
  /** The board, cell by cell. */
  readonly board?: boolean;
  /** How many legal moves there are. */
  readonly legalMoveCount?: boolean;
  /** The legal moves, if there are at most this many. */
  readonly legalMovesUpTo?: number;
  /** With the legal moves, their visible parts. */
  readonly steps?: boolean;
}

/**
 * A move with the bot's comment, which opponents see after the end of the match. The server cuts it after 32 moves or
 * 500 characters.
 */
export interface Move {
  readonly text: string;
  /** The score that the bot expects, in permille: 0 lost, 500 even, 1000 won. */
  readonly evaluation?: number | undefined;
  /** The moves that it expects, beginning with its own. */
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

/** Resign the match. */
export interface Resign {
  readonly resign: true;
}

/** What `choose` may return: a move or its text, or another act. */
export type Choice = string | Move | OfferDraw | ClaimDraw | Resign;

/** A value, or a promise of one. */
export type Awaitable<T> = T | Promise<T>;

/**
 * A bot. A subclass describes itself and chooses moves; everything else has a default.
 *
 * Every method may be `async`. Several matches may be under way at once: keep the data of a match in
 * `turn.match.memory`, whose type is `Memory`. The client keeps no data in the bot, so several runs may play one bot, one after the other or at
 * once. The stream has a thread of its own, so that a long computation holds up no ping; it does hold up this bot's
 * other matches, unless it lets them in with `await breathe()` from time to time.
 */
export abstract class Bot<Memory extends object = Record<string, unknown>> {
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
  /** Whether it plays only rated matches, or (false) only unrated ones; undefined for both. */
  rated: boolean | undefined = undefined;
  /** The seat that challenges and seeks must give it: 1 or 2; 0 for any, and for the lot. */
  seat = 0;
  /** The lowest rating of a challenger in the game; undefined for no limit. */
  leastRating: number | undefined = undefined;
  /** The highest one. */
  mostRating: number | undefined = undefined;
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
  /** Its capabilities beyond the first version of the protocol, by name. */
  capabilities: readonly string[] = [];
  /** The optional content of its turns. */
  extras: Extras = {};

  /**
   * Returns the choice for a turn: a move or its text, or another `Choice`. `turn.signal` is aborted when the choice is
   * not needed any more; later errors are ignored.
   */
  abstract choose(turn: Turn<Memory>): Awaitable<Choice>;

  /**
   * Returns another choice for a turn after the first one was refused, or undefined: then `choose` is called once more,
   * with `turn.refused` set. If that choice is refused too, the bot resigns the match.
   */
  refused(_turn: Turn<Memory>, _refusal: ArbiterError): Awaitable<Choice | undefined> {
    return undefined;
  }

  /**
   * A match has started, or the bot continues one after a restart. Called before its first turn; no clock of the match
   * starts before it has returned, or at most `Policy.ready_ms` later.
   */
  started(_match: LiveMatch<Memory>): Awaitable<void> {}

  /** A match has ended. After this returns, the client acknowledges the result to the server. */
  ended(_finished: FinishedMatch<Memory>): Awaitable<void> {}

  /** Returns whether to accept the opponent's draw offer. By default no. */
  drawOffered(_match: LiveMatch<Memory>): Awaitable<boolean> {
    return false;
  }

  /**
   * Returns true to accept a challenge, or the reason for declining it. By default the bot's settings decide. It is
   * called only if there is room for a match.
   */
  challenged(challenge: Challenge): Awaitable<boolean | string> {
    return this.acceptChallenges ? (this.objection(challenge) ?? true) : "this bot accepts no challenges";
  }

  /** A challenge or seek of the bot's own is no longer open. */
  challengeClosed(_closed: ChallengeClosed): Awaitable<void> {}

  /**
   * Returns whether to accept an open seek of another player; called only with `acceptSeeks`. By default the settings
   * decide.
   */
  sought(seek: Challenge): Awaitable<boolean> {
    return this.objection(seek) === undefined;
  }

  /**
   * Returns whether to enter a tournament; called only with `enterTournaments`, and for tournaments that the bot has
   * not entered. By default it enters if its games, time control and `rated` suit.
   */
  called({ games, timeControl, rated }: TournamentCall): Awaitable<boolean> {
    const suits = games.every((game) => this.plays(game)) && this.playsAt(timeControl);
    return suits && (this.rated ?? rated) === rated;
  }

  /**
   * Returns the legal moves of a turn: those in it, or else the server's answer, for which it asks until the choice is
   * not needed any more: a lost connection must not cost the match.
   */
  async legalMoves(turn: Turn<Memory>): Promise<readonly LegalMove[]> {
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

  /** Returns whether the bot plays at a time control: `60s` in `timeControls` stands for `1m` too. */
  playsAt(timeControl: string): boolean {
    return this.timeControls.length === 0 || this.timeControls.some((own) => sameControl(own, timeControl));
  }

  /** Returns the reason why the bot's settings exclude a challenge or seek; undefined if they do not. */
  objection(challenge: Challenge): string | undefined {
    const { game = "", timeControl = "", rated = false, seat = 0 } = challenge.terms ?? {};
    const { leastRating, mostRating } = this;
    const rating = challenge.rating ?? Number.NaN;
    if (!this.plays(game)) return `this bot plays ${this.games.join(", ")}`;
    if (!this.playsAt(timeControl)) return `this bot plays at ${this.timeControls.join(", ")}`;
    if (this.rated !== undefined && this.rated !== rated)
      return `this bot plays ${this.rated ? "rated" : "unrated"} matches only`;
    if (this.seat !== 0 && seat !== 3 - this.seat) return `this bot plays as seat ${this.seat} only`;
    if (this.opponents.length > 0 && !this.opponents.includes(challenge.challenger)) {
      return `this bot plays against ${this.opponents.join(", ")}`;
    }
    if (leastRating !== undefined && !(rating >= leastRating))
      return `this bot plays against ratings of at least ${leastRating}`;
    if (mostRating !== undefined && !(rating <= mostRating))
      return `this bot plays against ratings of at most ${mostRating}`;
    return undefined;
  }
}

/** Lets other work of this thread run: the bot's other matches, and the end of a match. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
