// Clocks by the server's time: the time left now, with tenths of a second in the last twenty.
import { say } from "./pairs.ts";
import type { State } from "./shapes.ts";

const LOW_MS = 20_000;

export function shown(ms: number): string {
  if (ms < LOW_MS) return `${(Math.max(0, ms) / 1000).toFixed(1)}`;
  const s = Math.floor(ms / 1000);
  const [hours, minutes, seconds] = [Math.floor(s / 3600), Math.floor(s / 60) % 60, `${s % 60}`.padStart(2, "0")];
  return hours ? `${hours}:${`${minutes}`.padStart(2, "0")}:${seconds}` : `${minutes}:${seconds}`;
}

interface SeatClock {
  places: Element[]; // that show whose turn it is
  clock: Element | null;
  most: number; // the longest time left that this page has seen
  text: string;
  runs: boolean | undefined;
  low: boolean;
}

export class Clocks {
  readonly #seats: SeatClock[];
  #state: State | undefined;
  #ahead = Number.POSITIVE_INFINITY; // upper bound of this browser's time minus the server's, ms

  constructor(root: Element) {
    this.#seats = [1, 2].map((seat) => {
      const clock = root.querySelector(`[data-clock="${seat}"]`);
      const places = [...root.querySelectorAll(`[data-seat="${seat}"]`)];
      return { places, clock, most: 0, text: clock?.textContent ?? "", runs: undefined, low: false };
    });
  }

  // Shows a state. fresh: it has just arrived; the fastest message gives the best estimate of the server's time.
  set(state: State, fresh: boolean): void {
    this.#state = state;
    if (fresh) this.#ahead = Math.min(this.#ahead, Date.now() - state.now);
    this.tick();
  }

  // Shows the time left now. Only what differs from the page is written, since ten times a second nearly nothing does.
  tick(): void {
    const state = this.#state;
    if (!state) return;
    const now = Date.now() - (Number.isFinite(this.#ahead) ? this.#ahead : 0);
    this.#seats.forEach((seat, n) => {
      const runs = !state.over && state.turn === n + 1;
      if (runs !== seat.runs) for (const place of seat.places) place.classList.toggle("turn", runs);
      seat.runs = runs;
      const left = state.clocks[n];
      if (!seat.clock || left === undefined) return;
      const rest = runs && state.started ? left - Math.max(0, now - state.started) : left;
      const text = shown(rest);
      if (text !== seat.text) say(seat.clock, text);
      seat.text = text;
      seat.most = Math.max(seat.most, rest);
      const low = runs && rest < Math.min(LOW_MS / 2, seat.most / 4);
      if (low !== seat.low) seat.clock.classList.toggle("low", low);
      seat.low = low;
    });
  }
}
