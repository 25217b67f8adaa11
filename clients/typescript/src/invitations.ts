/** Proposals to the bot, and its own: challenges, seeks, tournaments. */

import type { Bot } from "./bot.js";
import type { Client } from "./client.js";
import { ArbiterError, ClientError, wasAway } from "./errors.js";
import type { Log } from "./log.js";
import type { Room } from "./room.js";
import type { Challenge, ChallengeClosed, Terms, TournamentCall } from "./values.js";

/** How long to wait before seeks are tried again that could not be made, in ms. */
const RETRY_MS = 5_000;
const LONGEST_REASON = 200;

/** Calls a callback of the bot; a failure is logged and gives the default. */
export type Callback = <T>(name: string, call: () => T | Promise<T>, byDefault: T) => Promise<T>;

/**
 * Handles one proposal after the other, so that the bot's limit of matches holds: an accepted match counts (`expect`)
 * before the next proposal is handled.
 */
export class Invitations {
  #player = "";
  #work = Promise.resolve();
  #closed = false;
  readonly #considering = new Set<string>();
  readonly #tournaments = new Set<string>();
  readonly #seeks = new Map<Terms, string>();

  constructor(
    private readonly bot: Bot,
    private readonly client: Client,
    private readonly room: Room,
    private readonly callback: Callback,
    private readonly expect: (matchId: string) => void,
    private readonly fail: (error: ArbiterError) => void,
    private readonly log: Log,
  ) {}

  /** A stream has begun: finds out which of the bot's seeks are still open, and opens those that are missing. */
  connected(player: string): void {
    this.#player = player;
    if (this.bot.seeks.length === 0) return;
    this.#queue(() => this.#findSeeks());
    this.refresh();
  }

  /** Somebody challenges the bot. */
  challenge(challenge: Challenge): void {
    this.#consider(challenge, async () => {
      const verdict = this.room.objection ?? (await this.#verdict(challenge));
      if (verdict === true) return this.#accept(challenge);
      const reason = typeof verdict === "string" ? verdict.slice(0, LONGEST_REASON) : "";
      await this.client.declineChallenge(challenge.challengeId, reason);
    });
  }

  #verdict(challenge: Challenge): Promise<boolean | string> {
    const failed = "the bot failed to consider it";
    return this.callback<boolean | string>("challenged", () => this.bot.challenged(challenge), failed);
  }

  /** Somebody seeks an opponent. */
  seek(seek: Challenge): void {
    if (!this.bot.acceptSeeks) return;
    this.#consider(seek, async () => {
      if (!this.room.isFree) return;
      const accept = await this.callback("sought", () => this.bot.sought(seek), false);
      if (accept && this.room.isFree) await this.#accept(seek);
    });
  }

  /** A challenge or seek of the bot's own is no longer open. */
  closed(closed: ChallengeClosed): void {
    void this.callback("challengeClosed", () => this.bot.challengeClosed(closed), undefined);
    this.#queue(async () => {
      // After the calls that are under way: a seek may be closed before the answer to its creation arrives.
      for (const [terms, id] of this.#seeks) if (id === closed.challengeId) this.#seeks.delete(terms);
    });
    if (closed.matchId) this.expect(closed.matchId);
    this.refresh();
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

  /**
   * Keeps the bot's seeks open while there is room for a match, and withdraws them while there is none. Any of them may
   * become a match: there are never more than the bot may still agree on. Terms that are refused end the run.
   */
  refresh(): void {
    if (this.bot.seeks.length === 0 || this.#player === "") return;
    this.#queue(() => (this.room.isFree && !this.#closed ? this.#openSeeks() : this.#withdrawSeeks()));
  }

  /** Withdraws the bot's seeks, since the bot stops. */
  close(): Promise<void> {
    this.#closed = true;
    this.refresh();
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

  async #accept(challenge: Challenge): Promise<void> {
    this.expect((await this.client.acceptChallenge(challenge.challengeId)).matchId);
  }

  async #findSeeks(): Promise<void> {
    try {
      const open = (await this.client.listChallenges()).filter(
        (each) => each.challenger === this.#player && each.opponent === "",
      );
      const known = new Set(this.#seeks.values());
      for (const terms of this.bot.seeks) {
        const still = open.find((each) => each.challengeId === this.#seeks.get(terms));
        // One that an earlier run of the bot left open is taken over.
        const found = still ?? open.find((each) => !known.has(each.challengeId) && proposes(each, terms));
        if (!found) this.#seeks.delete(terms);
        else {
          this.#seeks.set(terms, found.challengeId);
          known.add(found.challengeId);
        }
      }
    } catch (error) {
      this.#complain("the bot's seeks can't be found", error);
    }
  }

  async #openSeeks(): Promise<void> {
    for (const terms of [...this.#seeks.keys()].slice(Math.max(0, this.room.left)))
      await this.#withdraw(terms);
    for (const terms of this.bot.seeks) {
      if (this.#seeks.has(terms) || this.#seeks.size >= this.room.left) continue;
      try {
        this.#seeks.set(terms, (await this.client.createSeek(terms)).challengeId);
      } catch (error) {
        if (error instanceof ArbiterError && !wasAway(error)) return this.fail(error);
        this.#complain(`no seek for ${terms.game}`, error);
        setTimeout(() => this.refresh(), RETRY_MS).unref();
      }
    }
  }

  async #withdrawSeeks(): Promise<void> {
    for (const terms of this.#seeks.keys()) await this.#withdraw(terms);
  }

  async #withdraw(terms: Terms): Promise<void> {
    const id = this.#seeks.get(terms) ?? "";
    this.#seeks.delete(terms);
    await this.client.declineChallenge(id).catch((error: unknown) => {
      this.#complain(`the seek for ${terms.game} can't be withdrawn`, error);
    });
  }

  #complain(what: string, error: unknown): void {
    if (!(error instanceof ClientError)) throw error;
    const late = error instanceof ArbiterError && error.reason === "CHALLENGE_NOT_FOUND";
    this.log(late ? "debug" : "warning", `${what}: ${error.message}`);
  }

  #queue(work: () => Promise<void>): void {
    this.#work = this.#work.then(work);
  }
}

function proposes(seek: Challenge, wanted: Terms): boolean {
  const { game = "", timeControl = "", rated = false, seat = 0 } = seek.terms ?? {};
  const same = game === wanted.game && rated === (wanted.rated ?? false);
  // What the terms leave to the server may be anything.
  const timed = !wanted.timeControl || timeControl === wanted.timeControl;
  return same && timed && (!wanted.seat || seat === wanted.seat);
}
