/** Whether the bot wants to play: challenges, open seeks of others, and tournaments. */

import type { Bot } from "./bot.js";
import type { Client } from "./client.js";
import { ArbiterError, ClientError, levelOf } from "./errors.js";
import type { Log } from "./log.js";
import { Seeker } from "./seeking.js";
import type { MatchSlots } from "./slots.js";
import type { Challenge, ChallengeClosed, Terms, TournamentCall } from "./values.js";

const LONGEST_REASON = 200;

/** Calls a callback of the bot; a failure is logged and gives the default. */
export type Callback = <T>(name: string, call: () => T | Promise<T>, byDefault: T) => Promise<T>;

/**
 * Handles one proposal after the other, so that the bot's limit of matches holds: an accepted match counts (`expect`)
 * before the next proposal is handled.
 */
export class Policies {
  #player = "";
  #work = Promise.resolve();
  #closed = false;
  readonly #considering = new Set<string>();
  readonly #tournaments = new Set<string>();
  readonly #seeker: Seeker;

  constructor(
    private readonly bot: Bot<never>,
    seeks: readonly Terms[],
    private readonly client: Client,
    private readonly slots: MatchSlots,
    private readonly callback: Callback,
    private readonly expect: (matchId: string) => void,
    fail: (error: ArbiterError) => void,
    private readonly log: Log,
  ) {
    const complain = (what: string, error: unknown) => this.#complain(what, error);
    this.#seeker = new Seeker(seeks, client, slots, (work) => this.#queue(work), complain, fail);
  }

  /** A stream of a player has begun. */
  greeted(player: string): void {
    this.#player = player;
    this.#seeker.greeted(player);
  }

  /** Somebody challenges the bot. */
  challenge(challenge: Challenge): void {
    this.#consider(challenge, async () => {
      let verdict = this.slots.objection ?? (await this.#verdict(await this.#rated(challenge)));
      if (verdict === true) {
        if (await this.#accept(challenge)) return;
        verdict = "this bot has agreed to as many matches as it plays";
      }
      const reason = typeof verdict === "string" ? verdict.slice(0, LONGEST_REASON) : "";
      await this.client.declineChallenge(challenge.challengeId, reason);
    });
  }

  #verdict(challenge: Challenge): Promise<boolean | string> {
    const failed = "the bot failed to consider it";
    return this.callback<boolean | string>("challenged", () => this.bot.challenged(challenge), failed);
  }

  /** Returns a challenge with its challenger's rating in the game, if the bot has limits for it. */
  async #rated(challenge: Challenge): Promise<Challenge> {
    const { leastRating, mostRating } = this.bot;
    if (leastRating === undefined && mostRating === undefined) return challenge;
    const { versions } = await this.client.getRating(challenge.challenger, challenge.terms?.game);
    return { ...challenge, rating: versions[0]?.rating?.value };
  }

  /** Somebody seeks an opponent. */
  seek(seek: Challenge): void {
    if (!this.bot.acceptSeeks) return;
    this.#consider(seek, async () => {
      if (!this.slots.isFree) return;
      const rated = await this.#rated(seek);
      const accept = await this.callback("sought", () => this.bot.sought(rated), false);
      if (accept) await this.#accept(seek);
    });
  }

  /** A challenge or seek of the bot's own is no longer open. */
  closed(closed: ChallengeClosed): void {
    void this.callback("challengeClosed", () => this.bot.challengeClosed(closed), undefined);
    this.#seeker.closed(closed.challengeId);
    if (closed.matchId) this.expect(closed.matchId);
    this.look();
  }

  /** There is a tournament that the bot may enter, or plays in. */
  tournament(call: TournamentCall): void {
    if (!this.bot.enterTournaments || call.entered || this.#tournaments.has(call.tournamentId)) return;
    this.#tournaments.add(call.tournamentId);
    this.#queue(async () => {
      if (!(await this.callback("called", () => this.bot.called(call), false))) return;
      try {
        await this.client.enterTournament(call.tournamentId);
      } catch (error) {
        if (!(error instanceof ArbiterError) || error.temporary) this.#tournaments.delete(call.tournamentId);
        this.#complain(`tournament ${call.name} can't be entered`, error);
      }
    });
  }

  /** Looks after the bot's seeks, since the number of its matches may have changed. */
  look(): void {
    this.#seeker.look();
  }

  /** Withdraws the bot's seeks, since the bot stops. */
  close(): Promise<void> {
    this.#closed = true;
    this.#seeker.close();
    return this.#work;
  }

  #consider(challenge: Challenge, work: () => Promise<void>): void {
    const { challengeId, challenger } = challenge;
    if (challenger === this.#player || this.#considering.has(challengeId)) return;
    this.#considering.add(challengeId);
    this.#queue(async () => {
      try {
        if (!this.#closed) await work();
      } catch (error) {
        this.#complain(`what ${challenger} proposes can't be answered`, error);
      } finally {
        this.#considering.delete(challengeId);
      }
    });
  }

  /** Accepts a challenge or seek if there is room for its match; returns whether there was. */
  async #accept(challenge: Challenge): Promise<boolean> {
    this.look(); // afterwards: seeks may have been withdrawn in vain
    const free = await this.#seeker.makeRoom();
    if (free) this.expect((await this.client.acceptChallenge(challenge.challengeId)).matchId);
    return free;
  }

  #complain(what: string, error: unknown): void {
    if (!(error instanceof ClientError)) throw error;
    const late = error instanceof ArbiterError && error.reason === "CHALLENGE_NOT_FOUND";
    this.log(late ? "debug" : levelOf(error), `${what}: ${error.message}`);
  }

  #queue(work: () => Promise<void>): void {
    this.#work = this.#work.then(work);
  }
}
