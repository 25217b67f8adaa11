// The charts below the board: the mark of the shown ply, the bars of new moves, and clicks on a ply.
import { ask } from "./ask.ts";
import { say } from "./pairs.ts";
import type { Move } from "./shapes.ts";

type Timed = Pick<Move, "ply" | "seat" | "spent_ms">;
type Said = [plies: number, seat: number, permille: number];

const [GAP, RIGHT, MARGIN] = [0.8, 8, 8]; // as in arbiter/drawing/curves.py

export class Charts {
  readonly #root: HTMLElement;
  readonly #moves: Timed[];

  constructor(root: HTMLElement, go: (ply: number) => void) {
    this.#root = root;
    this.#moves = JSON.parse(root.dataset["times"] ?? "[]") as Timed[];
    root.addEventListener("click", (event) => {
      const chart = event.target instanceof Element ? event.target.closest<SVGSVGElement>(".curves") : null;
      const matrix = chart?.getScreenCTM();
      if (!chart || !matrix) return;
      const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse()).x;
      go(Math.max(0, Math.round((x - this.#left(chart)) / this.#step(chart))));
    });
  }

  // Marks a ply in all charts, and shows the players' expectations there.
  mark(ply: number): void {
    for (const chart of this.#charts()) {
      const x = `${this.#left(chart) + ply * this.#step(chart)}`;
      const cursor = chart.querySelector(".cursor");
      cursor?.setAttribute("x1", x);
      cursor?.setAttribute("x2", x);
    }
    const place = this.#root.querySelector("[data-expected]");
    if (!place) return;
    const said = JSON.parse(this.#root.dataset["expectations"] ?? "[]") as Said[];
    const names = (this.#root.dataset["saidBy"] ?? "").split(" ");
    const last = [1, 2].map((seat) => said.filter(([plies, by]) => by === seat && plies <= ply).at(-1));
    const words = last.flatMap((each) => each ? [`${names[each[1] - 1]} ${Math.round(each[2] / 10)} %`] : []);
    say(place, words.length ? `Expected score: ${words.join(", ")}` : "");
  }

  // Adds the bar of a new move, and scales all bars by the longest time.
  take(move: Move): void {
    this.#moves.push(move);
    const chart = this.#root.querySelector<SVGPathElement>(".spent")?.ownerSVGElement;
    if (!chart) return;
    const { width, height } = chart.viewBox.baseVal;
    const left = this.#left(chart);
    const step = (width - left - RIGHT) / (move.ply + 1);
    chart.dataset["step"] = `${step}`;
    const longest = Math.max(1, ...this.#moves.map((each) => each.spent_ms ?? 0));
    for (const [seat, upward] of [[1, -1], [2, 1]] as const) {
      const bars = this.#moves.filter((each) => each.seat === seat && each.spent_ms).map((each) =>
        `M${left + (each.ply + (1 - GAP) / 2) * step} ${height / 2}h${GAP * step}`
        + `v${upward * (height / 2 - MARGIN) * (each.spent_ms ?? 0) / longest}h${-GAP * step}z`);
      chart.querySelector(`.spent.of${seat}`)?.setAttribute("d", bars.join(""));
    }
    for (const label of chart.querySelectorAll("text")) say(label, seconds(longest));
  }

  // Loads the charts again after the end of the match, when expectations are disclosed.
  async renew(): Promise<void> {
    const answer = await ask(location.pathname).catch(() => undefined);
    if (!answer?.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById(this.#root.id);
    if (!fresh) return;
    this.#root.dataset["expectations"] = fresh.dataset["expectations"] ?? "[]";
    this.#root.replaceChildren(...fresh.childNodes);
  }

  #charts(): NodeListOf<SVGSVGElement> {
    return this.#root.querySelectorAll<SVGSVGElement>(".curves");
  }

  #left(chart: SVGSVGElement): number {
    return Number(chart.dataset["left"]);
  }

  #step(chart: SVGSVGElement): number {
    return Number(chart.dataset["step"]);
  }
}

function seconds(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)}:${`${Math.floor(ms / 1000) % 60}`.padStart(2, "0")}`;
}
