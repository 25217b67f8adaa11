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
  readonly #bars: [string, string] = ["", ""]; // by seat: path data in units of a ply and a millisecond
  #longest = 1;
  #drawn = 0; // the number of moves that have bars

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

  // Adds the bar of a new move, and scales all bars by the longest time. The scale is an attribute of the bars, so that the
  // others stay as they are.
  take(move: Move): void {
    this.#moves.push(move);
    const chart = this.#root.querySelector<SVGPathElement>(".spent")?.ownerSVGElement;
    if (!chart) return;
    const { width, height } = chart.viewBox.baseVal;
    const left = this.#left(chart);
    const step = (width - left - RIGHT) / (move.ply + 1);
    chart.dataset["step"] = `${step}`;
    for (const each of this.#moves.slice(this.#drawn)) this.#add(each);
    this.#drawn = this.#moves.length;
    const scale = `matrix(${step} 0 0 ${(height / 2 - MARGIN) / this.#longest} ${left} ${height / 2})`;
    this.#bars.forEach((bars, n) => {
      const path = chart.querySelector(`.spent.of${n + 1}`);
      if (path?.getAttribute("d") !== bars) path?.setAttribute("d", bars);
      path?.setAttribute("transform", scale);
    });
    for (const label of chart.querySelectorAll("text")) say(label, seconds(this.#longest));
  }

  // Adds a bar: upwards for seat 1, downwards for seat 2.
  #add({ ply, seat, spent_ms }: Timed): void {
    if (!spent_ms) return;
    this.#longest = Math.max(this.#longest, spent_ms);
    this.#bars[seat === 1 ? 0 : 1] += `M${ply + (1 - GAP) / 2} 0h${GAP}v${seat === 1 ? -spent_ms : spent_ms}h${-GAP}z`;
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
