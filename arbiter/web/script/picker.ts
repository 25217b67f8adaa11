// Lets a person compose a move on a board: by clicks, by dragging, and by keyboard.
import type { Board } from "./board.ts";
import { Composer } from "./composer.ts";
import type { Choices } from "./shapes.ts";
import { svg } from "./svg.ts";

const MOST_SPOTS = 30; // places for a new piece that have a spot: more of them would only hide the board

export class Picker {
  readonly #root: SVGSVGElement;
  readonly #board: Board;
  readonly #hint: Element | null;
  readonly #buttons: HTMLElement | null;
  readonly #act: (move: string) => void;
  readonly #layer: SVGElement;
  #choices: Choices | undefined;
  #composer: Composer | undefined;
  #asked: number[] = []; // picks of one cell, between which the person decides by a button
  #down: number | undefined;

  // hint, buttons: elements that show the next picks. act: called with each complete move.
  constructor(
    root: SVGSVGElement, board: Board, hint: Element | null, buttons: HTMLElement | null, act: (move: string) => void,
  ) {
    [this.#root, this.#board, this.#hint, this.#buttons, this.#act] = [root, board, hint, buttons, act];
    this.#layer = svg("g", { class: "picks" });
    root.append(this.#layer);
    this.#layer.addEventListener("pointerdown", (event) => this.#press(event));
    root.addEventListener("pointermove", (event) => this.#drag(event));
    addEventListener("pointerup", (event) => this.#release(event));
    this.#layer.addEventListener("click", (event) => { if (event.detail === 0) this.#choose(cellOf(event.target)); });
    this.#layer.addEventListener("keydown", (event) => this.#key(event));
  }

  offer(choices: Choices): void {
    [this.#choices, this.#composer, this.#asked] = [choices, new Composer(choices), []];
    this.#draw();
  }

  clear(): void {
    [this.#choices, this.#composer, this.#asked] = [undefined, undefined, []];
    this.#draw();
  }

  #press(event: PointerEvent): void {
    const cell = cellOf(event.target);
    if (cell === undefined || event.button !== 0) return;
    event.preventDefault();
    this.#down = cell;
    this.#choose(cell);
  }

  #drag(event: PointerEvent): void {
    if (this.#down === undefined || !this.#composer?.picked.length) return;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.#root.getScreenCTM()?.inverse());
    this.#board.hold(this.#down, at.x, at.y);
  }

  #release(event: PointerEvent): void {
    if (this.#down === undefined) return;
    const [from, to] = [this.#down, cellOf(document.elementFromPoint(event.clientX, event.clientY))];
    this.#down = undefined;
    this.#board.drop();
    if (to !== undefined && to !== from) this.#choose(to);
  }

  #key(event: KeyboardEvent): void {
    const here = cellOf(event.target);
    const ways: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
    };
    const way = ways[event.key];
    if (event.key === "Enter" || event.key === " ") this.#choose(here, true);
    else if (event.key === "Escape") this.#back(true);
    else if (way && here !== undefined) this.#focus(here, way);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Focuses the nearest pick in a direction.
  #focus(from: number, [dx, dy]: [number, number]): void {
    const [x, y] = this.#board.at(from);
    let [best, least]: [HTMLElement | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
    for (const each of this.#layer.querySelectorAll<HTMLElement>(".pick")) {
      const [ex, ey] = this.#board.at(Number(each.dataset["cell"]));
      const along = (ex - x) * dx + (ey - y) * dy;
      const aside = Math.abs((ex - x) * dy) + Math.abs((ey - y) * dx);
      if (along > 1 && along + 2 * aside < least) [best, least] = [each, along + 2 * aside];
    }
    best?.focus();
  }

  #choose(cell: number | undefined, keyboard = false): void {
    const composer = this.#composer;
    if (cell === undefined || !composer) return;
    const fitting = composer.options().filter((pick) => this.#choices?.picks[pick]?.[1] === cell);
    const [only] = fitting;
    const complete = composer.complete();
    if (!fitting.length) {
      if (complete.length === 1 && complete[0] !== undefined) this.#finish(complete[0]);
      return;
    }
    if (fitting.length === 1 && only !== undefined) return this.#pick(only, keyboard);
    this.#asked = fitting;
    this.#draw(keyboard);
  }

  #pick(pick: number, keyboard = false): void {
    this.#asked = [];
    const move = this.#composer?.pick(pick);
    if (move !== undefined) return this.#finish(move);
    this.#draw(keyboard);
  }

  #back(keyboard = false): void {
    if (this.#asked.length) this.#asked = [];
    else this.#composer?.back();
    this.#draw(keyboard);
  }

  #finish(move: string): void {
    this.clear();
    this.#act(move);
  }

  #draw(keyboard = false): void {
    const { picks = [] } = this.#choices ?? {};
    const [picked, options] = [this.#composer?.picked ?? [], this.#composer?.options() ?? []];
    const complete = picked.length ? this.#composer?.complete() ?? [] : [];
    const words = (pick: number): string => picks[pick]?.[2] ?? "";
    const cells = new Map<number, number[]>();
    for (const pick of options) {
      const cell = picks[pick]?.[1] ?? -1;
      if (cell >= 0) cells.set(cell, [...cells.get(cell) ?? [], pick]);
    }
    const path = picked.map((pick) => picks[pick]).filter((pick) => pick !== undefined && pick[1] >= 0);
    const last = path.at(-1)?.[1];
    const parts = path.slice(1).map((pick, n) => this.#line(path[n]?.[1] ?? 0, pick?.[1] ?? 0, pick?.[0] ?? ""));
    parts.push(...path.map((pick) => this.#mark(pick?.[1] ?? 0)));
    for (const [cell, those] of cells) parts.push(this.#target(cell, picks[those[0] ?? 0]?.[0] ?? "", those.map(words)));
    if (last !== undefined && !cells.has(last) && complete.length === 1) parts.push(this.#target(last, "done", [`play ${complete[0]}`]));
    this.#layer.replaceChildren(...parts);
    const places = options.filter((pick) => picks[pick]?.[0] === "place").length;
    this.#layer.classList.toggle("anywhere", places > MOST_SPOTS);
    this.#root.setAttribute("role", this.#composer ? "group" : "img");
    const loose = this.#asked.length ? this.#asked : options.filter((pick) => (picks[pick]?.[1] ?? -1) < 0);
    const buttons = loose.map((pick) => button(words(pick), () => this.#pick(pick, keyboard)));
    for (const move of complete) buttons.push(button(`Play ${move}`, () => this.#finish(move), "main"));
    if (picked.length) buttons.push(button("Back", () => this.#back()));
    this.#buttons?.replaceChildren(...buttons);
    if (this.#hint) this.#hint.textContent = this.#said(picked.map(words), options.map((pick) => picks[pick]?.[0] ?? ""));
    if (this.#asked.length || (picked.length && !cells.size)) this.#buttons?.scrollIntoView({ block: "nearest" });
    if (keyboard) (this.#asked.length || !cells.size ? buttons[0] : this.#layer.querySelector<SVGElement>(".pick"))?.focus();
  }

  #said(done: string[], kinds: string[]): string {
    if (!this.#composer) return "";
    if (!done.length && kinds.includes("agree")) return "Your move: mark dead stones, then agree";
    if (!done.length) return kinds.includes("piece") ? "Your move: choose a piece" : "Your move: choose a cell";
    const said = done.join(", ");
    return `${said.slice(0, 1).toUpperCase()}${said.slice(1)} …`;
  }

  #line(from: number, to: number, kind: string): SVGElement {
    const [[x1, y1], [x2, y2]] = [this.#board.at(from), this.#board.at(to)];
    return svg("line", { class: "plan", "data-kind": kind, x1: `${x1}`, y1: `${y1}`, x2: `${x2}`, y2: `${y2}` });
  }

  #mark(cell: number): SVGElement {
    const [cx, cy] = this.#board.at(cell);
    return svg("circle", { class: "picked", cx: `${cx}`, cy: `${cy}`, r: "29" });
  }

  #target(cell: number, kind: string, words: string[]): SVGElement {
    const [x, y] = this.#board.at(cell);
    const made = svg("g", {
      class: "pick", "data-kind": kind, "data-cell": `${cell}`, role: "button", tabindex: "0", "aria-label": words.join(" or "),
      transform: `translate(${x} ${y})`,
    });
    const taken = this.#board.piece(cell) !== null; // then the target is a ring around the piece
    made.append(svg("circle", { class: "hit", r: "34" }), svg("circle", { class: taken ? "spot ring" : "spot", r: taken ? "30" : "9" }));
    return made;
  }
}

function cellOf(target: EventTarget | null): number | undefined {
  const pick = target instanceof Element ? target.closest<SVGElement>(".picks .pick") : null;
  return pick ? Number(pick.dataset["cell"]) : undefined;
}

function button(words: string, act: () => void, kind = ""): HTMLButtonElement {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", className: `button ${kind}`, textContent: words });
  made.addEventListener("click", act);
  return made;
}
