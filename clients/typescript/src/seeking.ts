/** The bot's own seeks: open while there is room for a match, and never more of them than matches it may play. */

import { Backoff } from "./backoff.js";
import type { Client } from "./client.js";
import { ArbiterError, PASSING, wasAway } from "./errors.js";
import type { MatchSlots } from "./slots.js";
import { sameControl } from "./time_control.js";
import type { Challenge, Terms } from "./values.js";

/** Keeps a seek open for each of the bot's terms. `queue` does one work after the other; `complain` logs a failure. */
export class Seeker {
  #player = "";
  #greeted = false;
  #closed = false;
  #again: NodeJS.Timeout | undefined;
  readonly #seeks = new Map<Terms, string>();
  readonly #backoff = new Backoff();

  constructor(
    private readonly wanted: readonly Terms[],
    private readonly client: Client,
    private readonly slots: MatchSlots,
    private readonly queue: (work: () => Promise<void>) => void,
    private readonly complain: (what: string, error: unknown) => void,
    private readonly fail: (error: ArbiterError) => void,
  ) {}

  /** A stream has begun: finds out which of the bot's seeks are still open, and opens those that are missing. */
  greeted(player: string): void {
    this.#player = player;
    this.#greeted = true;
    this.look();
  }

  /** A challenge or seek of the bot's own is no longer open. */
  closed(challengeId: string): void {
    const forget = () => {
      for (const [terms, id] of this.#seeks) if (id === challengeId) this.#seeks.delete(terms);
    };
    forget();
    // And after the calls that are under way: a seek may be closed before the answer to its creation arrives.
    this.queue(async () => forget());
  }

  /**
   * Keeps the bot's seeks open while there is room for a match, and withdraws them while there is none. Any of them may
   * become a match: there are never more than the bot may still agree on. Terms that are refused end the run. What
   * fails otherwise is tried again after a pause.
   */
  look(): void {
    if (this.wanted.length === 0 || this.#player === "") return;
    this.queue(() => this.#arrange());
  }

  /** Withdraws the bot's seeks, since the bot stops. */
  close(): void {
    this.#closed = true;
    this.look();
  }

  /** Withdraws the seeks that leave no room for one more match; returns whether there is room. In the queue. */
  async makeRoom(): Promise<boolean> {
    for (const terms of [...this.#seeks.keys()])
      if (!this.slots.isFreeBeside(this.#seeks.size)) await this.#withdraw([terms]);
    return !this.#closed && this.slots.isFreeBeside(this.#seeks.size);
  }

  async #arrange(): Promise<void> {
    clearTimeout(this.#again);
    try {
      if (this.#greeted) await this.#find();
      await (this.slots.isFree && !this.#closed ? this.#open() : this.#withdraw([...this.#seeks.keys()]));
      this.#backoff.reset();
    } catch (error) {
      this.complain("the bot's seeks can't be kept open", error);
      const pauseMs = this.#backoff.nextMs(error instanceof ArbiterError ? error.retryAfterMs : 0);
      if (!this.#closed) this.#again = setTimeout(() => this.look(), pauseMs).unref();
    }
  }

  async #find(): Promise<void> {
    this.#greeted = false;
    const listed = await this.client.listChallenges().catch((error: unknown) => {
      this.#greeted = true;
      throw error;
    });
    const open = listed.filter((each) => each.challenger === this.#player && each.opponent === "");
    const known = new Set(this.#seeks.values());
    for (const terms of this.wanted) {
      const still = open.find((each) => each.challengeId === this.#seeks.get(terms));
      // One that an earlier run of the bot left open is taken over.
      const found = still ?? open.find((each) => !known.has(each.challengeId) && fits(each, terms));
      if (!found) this.#seeks.delete(terms);
      else {
        this.#seeks.set(terms, found.challengeId);
        known.add(found.challengeId);
      }
    }
  }

  async #open(): Promise<void> {
    await this.#withdraw([...this.#seeks.keys()].slice(Math.max(0, this.slots.left)));
    for (const terms of this.wanted) {
      if (this.#seeks.has(terms) || this.#seeks.size >= this.slots.left) continue;
      try {
        this.#seeks.set(terms, (await this.client.createSeek(terms)).challengeId);
      } catch (error) {
        if (error instanceof ArbiterError && !wasAway(error) && !PASSING.includes(error.code))
          return this.fail(error);
        throw error;
      }
    }
  }

  /** Withdraws the seeks for some terms. One that another player has just accepted counts until it is closed. */
  async #withdraw(unwanted: readonly Terms[]): Promise<void> {
    for (const terms of unwanted) {
      const id = this.#seeks.get(terms);
      if (id === undefined) continue; // it was closed meanwhile
      try {
        await this.client.declineChallenge(id);
        this.#seeks.delete(terms);
      } catch (error) {
        if (!(error instanceof ArbiterError && error.reason === "CHALLENGE_NOT_FOUND")) throw error;
      }
    }
  }
}

/** Returns whether an open seek has the given terms. What the terms leave to the server may be anything. */
function fits(seek: Challenge, wanted: Terms): boolean {
  const { game = "", timeControl = "", rated = false, seat = 0, position = "" } = seek.terms ?? {};
  const placed = position === (wanted.position ?? "");
  const same = game === wanted.game && rated === (wanted.rated ?? false) && placed;
  const timed = !wanted.timeControl || sameControl(timeControl, wanted.timeControl);
  const patient = wanted.abandonMs === undefined || Number(wanted.abandonMs) === seek.terms?.abandonMs;
  return same && timed && patient && (!wanted.seat || seat === wanted.seat);
}
