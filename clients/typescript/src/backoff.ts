/**
 * Pauses that double from `firstMs` up to `mostMs`, each shortened by a random part of at most a half, so that many
 * clients do not reconnect at the same time. `chance` returns a number from 0 to 1.
 */
export class Backoff {
  #tries = 0;

  constructor(
    readonly firstMs = 100,
    readonly mostMs = 5_000,
    private readonly chance: () => number = Math.random,
  ) {}

  /** Returns the next pause, in ms, plus `atLeastMs`, the pause that the server has asked all its clients for. */
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
