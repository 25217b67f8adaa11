// Clocks by the server's time: the time left now, with tenths of a second in the last twenty.
import type { State } from "./shapes.ts";

const LOW_MS = 20_000;

export function shown(ms: number): string {
  if (ms < LOW_MS) return `${(Math.max(0, ms) / 1000).toFixed(1)}`;
  const s = Math.floor(ms / 1000);
  const [hours, minutes, seconds] = [Math.floor(s / 3600), Math.floor(s / 60) % 60, `${s % 60}`.padStart(2, "0")];
  return hours ? `${hours}:${`${minutes}`.padStart(2, "0")}:${seconds}` : `${minutes}:${seconds}`;
}

export class Clocks {
  readonly #seats: { places: Element[]; clock: Element | null }[]; // places: the elements that show whose turn it is
  readonly #most = new Map<number, number>(); // by seat: the longest time left that this page has seen
  #state: State | undefined;
  #ahead = Number.POSITIVE_INFINITY; // upper bound of this browser's time minus the server's, ms

  constructor(root: Element) {
    this.#seats = [1, 2].map((seat) => ({
      places: [...root.querySelectorAll(`[data-seat="${seat}"]`)],
      clock: root.querySelector(`[data-clock="${seat}"]`),
    }));
  }

  // Shows a state. fresh: it has just arrived; the fastest message gives the best estimate of the server's time.
  set(state: State, fresh: boolean): void {
    this.#state = state;
    if (fresh) this.#ahead = Math.min(this.#ahead, Date.now() - state.now);
    this.tick();
  }

  tick(): void {
    const state = this.#state;
    if (!state) return;
    for (const [n, { places, clock }] of this.#seats.entries()) {
      const seat = n + 1;
      const runs = !state.over && state.turn === seat;
      for (const place of places) place.classList.toggle("turn", runs);
      const left = state.clocks[n];
      if (!clock || left === undefined) continue;
      const now = Date.now() - (Number.isFinite(this.#ahead) ? this.#ahead : 0);
      const rest = runs && state.started ? left - Math.max(0, now - state.started) : left;
      const text = shown(rest);
      if (clock.textContent !== text) clock.textContent = text;
      const most = Math.max(this.#most.get(seat) ?? 0, rest);
      this.#most.set(seat, most);
      clock.classList.toggle("low", runs && rest < Math.min(LOW_MS / 2, most / 4));
    }
  }
}
