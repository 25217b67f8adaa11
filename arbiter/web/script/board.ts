// A board: shows the page's symbols at the cells that the server sends.
import { Items } from "./items.ts";
import type { Contents } from "./shapes.ts";
import { redraw, type Drawn } from "./svg.ts";

const MOVE_MS = 220;
const ITEMS = ["ground", "last", "signs", "pieces", "over"] as const;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export class Board {
  readonly #root: SVGSVGElement;
  readonly #inks: string[];
  readonly #centres: [number, number][];
  readonly #layers = new Map<string, Element>();
  readonly #items = new Map<string, Items>(); // by layer
  readonly #described: string;
  #held = -1;

  constructor(root: SVGSVGElement) {
    this.#root = root;
    this.#inks = (root.dataset["inks"] ?? "").split(" ");
    this.#described = (root.getAttribute("aria-label") ?? "").split(":")[0] ?? "";
    const tiles = [...root.querySelectorAll(".tiles use")];
    this.#centres = tiles.map((tile) => [Number(tile.getAttribute("x")), Number(tile.getAttribute("y"))]);
    for (const layer of root.children) this.#layers.set(layer.getAttribute("class") ?? "", layer);
    for (const name of ITEMS) {
      const layer = this.#layers.get(name);
      if (layer) this.#items.set(name, new Items(layer, root.dataset["game"] ?? "", (cell) => this.at(cell)));
    }
  }

  // Shows a position; `animate`: with an animation of the last move.
  show(contents: Contents, said: string, animate: boolean): void {
    if (this.#held >= 0) this.drop();
    for (const name of ITEMS) this.#items.get(name)?.fill(contents[name] ?? []);
    this.#redraw("ways", (contents.ways ?? []).flatMap(([kind, shaft, head]): Drawn[] => [
      ["path", { class: kind, d: shaft }],
      ["polygon", { class: "head", points: head }],
    ]));
    this.#redraw("links", this.#links(contents.links ?? []));
    const label = `${this.#described}: ${said}`;
    if (this.#root.getAttribute("aria-label") !== label) this.#root.setAttribute("aria-label", label);
    if (animate && !STILL.matches) this.#animate(contents);
  }

  // Returns the element of the piece on a cell.
  piece(cell: number): Element | null {
    return this.#items.get("pieces")?.on(cell)?.element ?? null;
  }

  // Moves the piece on a cell with the pointer, until `drop`.
  hold(cell: number, x: number, y: number): void {
    this.piece(cell)?.setAttribute("transform", `translate(${x} ${y})`);
    this.#held = cell;
  }

  drop(): void {
    const [x, y] = this.at(this.#held);
    this.piece(this.#held)?.setAttribute("transform", `translate(${x} ${y})`);
    this.#held = -1;
  }

  at(cell: number): [number, number] {
    return this.#centres[cell] ?? [0, 0];
  }

  #redraw(name: string, parts: Drawn[]): void {
    const layer = this.#layers.get(name);
    if (layer) redraw(layer, parts);
  }

  // Returns the bars between the pieces of groups, as `links` in arbiter/drawing/svg.py: all outlines, then all insides.
  #links(links: NonNullable<Contents["links"]>): Drawn[] {
    const bars = new Map<number, string>(); // by owner
    for (const [owner, first, second] of links) {
      bars.set(owner, `${bars.get(owner) ?? ""}M${this.at(first).join(" ")}L${this.at(second).join(" ")}`);
    }
    const owners = [...bars].sort(([one], [other]) => one - other);
    return ["rim", "link"].flatMap((kind) =>
      owners.map(([owner, d]): Drawn => ["path", { class: `${kind}-${this.#inks[owner]}`, d }]));
  }

  // Animates the piece at the end of each chain of moves.
  #animate(contents: Contents): void {
    const chains = new Map<number, number[]>(); // by the last cell: all cells of the path
    for (const [from, to] of contents.moves ?? []) {
      const way = chains.get(from) ?? [from];
      chains.delete(from);
      chains.set(to, [...way, to]);
    }
    for (const [end, way] of chains) {
      const piece = this.#items.get("pieces")?.on(end);
      const frames = way.map((cell) => ({ transform: `translate(${this.at(cell)[0]}px, ${this.at(cell)[1]}px)` }));
      if (piece) piece.going = piece.element.animate(frames, { duration: MOVE_MS * (way.length - 1) ** 0.5, easing: "ease-in-out" });
    }
  }
}
