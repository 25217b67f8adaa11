/**
 * Pauses that double from `firstMs` up to `mostMs`, each cut by up to a half at random, so that many clients do not
 * come back at once. `chance` returns a number from 0 to 1.
 */
export class Backoff {
  #tries = 0;

  constructor(
    readonly firstMs = 100,
    readonly mostMs = 5_000,
    private readonly chance: () => number = Math.random,
  ) {}

  /** Returns the next pause, in ms; it comes on top of `atLeastMs`, which the server asked all its clients for. */
  nextMs(atLeastMs = 0): number {
    const wholeMs = Math.min(this.mostMs, this.firstMs * 2 ** this.#tries);
    this.#tries += 1;
    return atLeastMs + wholeMs * (1 - this.chance() / 2);
  }

  /** Starts again from the first pause, after a success. */
  reset(): void {
    this.#tries = 0;
  }
}
