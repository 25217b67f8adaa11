/** The bot's own seeks: open while there is room for a match, and never more of them than matches it may play. */

import type { Client } from "./client.js";
import { ArbiterError, wasAway } from "./errors.js";
import type { MatchSlots } from "./slots.js";
import { sameControl } from "./time_control.js";
import type { Challenge, Terms } from "./values.js";

/** How long to wait before seeks are tried again that could not be made, in ms. */
const RETRY_MS = 5_000;

/** Keeps a seek open for each of the bot's terms. `queue` does one work after the other; `complain` logs a failure. */
export class Seeker {
  #player = "";
  #closed = false;
  readonly #seeks = new Map<Terms, string>();

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
    if (this.wanted.length === 0) return;
    this.queue(() => this.#find());
    this.look();
  }

  /** A challenge or seek of the bot's own is no longer open. */
  closed(challengeId: string): void {
    this.queue(async () => {
      // After the calls that are under way: a seek may be closed before the answer to its creation arrives.
      for (const [terms, id] of this.#seeks) if (id === challengeId) this.#seeks.delete(terms);
    });
  }

  /**
   * Keeps the bot's seeks open while there is room for a match, and withdraws them while there is none. Any of them may
   * become a match: there are never more than the bot may still agree on. Terms that are refused end the run.
   */
  look(): void {
    if (this.wanted.length === 0 || this.#player === "") return;
    this.queue(() => (this.slots.isFree && !this.#closed ? this.#open() : this.#withdrawAll()));
  }

  /** Withdraws the bot's seeks, since the bot stops. */
  close(): void {
    this.#closed = true;
    this.look();
  }

  async #find(): Promise<void> {
    try {
      const open = (await this.client.listChallenges()).filter(
        (each) => each.challenger === this.#player && each.opponent === "",
      );
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
    } catch (error) {
      this.complain("the bot's seeks can't be found", error);
    }
  }

  async #open(): Promise<void> {
    for (const terms of [...this.#seeks.keys()].slice(Math.max(0, this.slots.left)))
      await this.#withdraw(terms);
    for (const terms of this.wanted) {
      if (this.#seeks.has(terms) || this.#seeks.size >= this.slots.left) continue;
      try {
        this.#seeks.set(terms, (await this.client.createSeek(terms)).challengeId);
      } catch (error) {
        if (error instanceof ArbiterError && !wasAway(error)) return this.fail(error);
        this.complain(`no seek for ${terms.game}`, error);
        setTimeout(() => this.look(), RETRY_MS).unref();
      }
    }
  }

  async #withdrawAll(): Promise<void> {
    for (const terms of this.#seeks.keys()) await this.#withdraw(terms);
  }

  async #withdraw(terms: Terms): Promise<void> {
    const id = this.#seeks.get(terms) ?? "";
    this.#seeks.delete(terms);
    await this.client.declineChallenge(id).catch((error: unknown) => {
      this.complain(`the seek for ${terms.game} can't be withdrawn`, error);
    });
  }
}

/** Returns whether an open seek has the given terms. What the terms leave to the server may be anything. */
function fits(seek: Challenge, wanted: Terms): boolean {
  const { game = "", timeControl = "", rated = false, seat = 0, position = "" } = seek.terms ?? {};
  const placed = position === (wanted.position ?? "");
  const same = game === wanted.game && rated === (wanted.rated ?? false) && placed;
  const timed = !wanted.timeControl || sameControl(timeControl, wanted.timeControl);
  return same && timed && (!wanted.seat || seat === wanted.seat);
}
