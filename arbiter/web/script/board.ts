// A board: puts the page's symbols where the server says that they stand.
import type { Contents, Placed } from "./shapes.ts";

const SVG = "http://www.w3.org/2000/svg";
const MOVE_MS = 220;
const LETTER_DROP = 0.35; // how far below its centre a text's baseline is, in font sizes, as arbiter/drawing/shapes.py

export function svg(name: string, attributes: Record<string, string>, ...children: Element[]): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

type Part = [key: string, make: () => Element]; // the key says all that the element depends on

export class Board {
  readonly #root: SVGSVGElement;
  readonly #game: string;
  readonly #inks: string[];
  readonly #centres: [number, number][];
  readonly #layers = new Map<string, Element>();
  readonly #shown = new Map<string, Map<string, Element>>(); // by layer: the elements in it, by key
  #held = -1;

  constructor(root: SVGSVGElement) {
    this.#root = root;
    this.#game = root.dataset["game"] ?? "";
    this.#inks = (root.dataset["inks"] ?? "").split(" ");
    const tiles = [...root.querySelectorAll(".tiles use")];
    this.#centres = tiles.map((tile) => [Number(tile.getAttribute("x")), Number(tile.getAttribute("y"))]);
    for (const layer of root.children) this.#layers.set(layer.getAttribute("class") ?? "", layer);
  }

  // Shows a position; `animate` lets the pieces of the last move go to where they stand now.
  show(contents: Contents, said: string, animate: boolean): void {
    if (this.#held >= 0) this.drop();
    for (const name of ["ground", "last", "signs", "pieces", "over"] as const) {
      this.#fill(name, (contents[name] ?? []).flatMap((item) => this.#items(item)));
    }
    this.#fill("ways", (contents.ways ?? []).flatMap(([kind, shaft, head]): Part[] => [
      [`${kind} ${shaft}`, () => svg("path", { class: kind, d: shaft })],
      [`head ${head}`, () => svg("polygon", { class: "head", points: head })],
    ]));
    const links = contents.links ?? [];
    this.#fill("links", ["rim", "link"].flatMap((kind) => links.map(([owner, first, second]): Part => {
      const [[x1, y1], [x2, y2]] = [this.at(first), this.at(second)];
      const line = { class: `${kind}-${this.#inks[owner]}`, x1: `${x1}`, y1: `${y1}`, x2: `${x2}`, y2: `${y2}` };
      return [Object.values(line).join(" "), () => svg("line", line)];
    })));
    this.#root.setAttribute("aria-label", `${(this.#root.getAttribute("aria-label") ?? "").split(":")[0]}: ${said}`);
    if (animate && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.#animate(contents);
  }

  // Returns the piece that is drawn on a cell.
  piece(cell: number): Element | null {
    return this.#layers.get("pieces")?.querySelector(`[data-at="${cell}"]`) ?? null;
  }

  // Lets the piece on a cell follow the pointer, until it is dropped.
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

  // Lets a layer have these parts, in their order. What stands in it already stays: most of a board does not change.
  #fill(name: string, parts: Part[]): void {
    const layer = this.#layers.get(name);
    if (!layer) return;
    const [before, now] = [this.#shown.get(name), new Map<string, Element>()];
    for (const [key, make] of parts) {
      let own = key; // the same thing may be there twice
      while (now.has(own)) own += "'";
      now.set(own, before?.get(own) ?? make());
    }
    if (!before) layer.replaceChildren(); // what the server has drawn
    before?.forEach((part, key) => { if (!now.has(key)) part.remove(); });
    let next = layer.firstElementChild;
    for (const part of now.values()) {
      if (part === next) next = next.nextElementSibling;
      else layer.insertBefore(part, next);
    }
    this.#shown.set(name, now);
  }

  #items([symbol, text, cells]: Placed): Part[] {
    const id = `${this.#game}-${symbol}`;
    return cells.map((cell) => [`${symbol} ${cell} ${text}`, () => {
      const [x, y] = this.at(cell);
      const item = svg("g", { transform: `translate(${x} ${y})`, "data-at": `${cell}` }, svg("use", { href: `#${id}` }));
      if (text) item.append(this.#text(id, text));
      return item;
    }]);
  }

  #text(id: string, text: string): SVGElement {
    const { x = "0", y = "0", size = "0", text: kind = "" } = document.getElementById(id)?.dataset ?? {};
    const fitted = text.length === 1 ? Number(size) : Math.min(Number(size), 43.2 / text.length);
    const made = svg("text", {
      class: kind, x, y: `${Number(y) + LETTER_DROP * fitted}`, "font-size": `${fitted}`, "text-anchor": "middle",
    });
    made.textContent = text;
    return made;
  }

  // Lets the piece at the end of each chain of moves go its way.
  #animate(contents: Contents): void {
    const chains = new Map<number, number[]>(); // by where it ends: the cells of the way
    for (const [from, to] of contents.moves ?? []) {
      const way = chains.get(from) ?? [from];
      chains.delete(from);
      chains.set(to, [...way, to]);
    }
    for (const [end, way] of chains) {
      const piece = this.piece(end);
      const frames = way.map((cell) => ({ transform: `translate(${this.at(cell)[0]}px, ${this.at(cell)[1]}px)` }));
      piece?.animate(frames, { duration: MOVE_MS * (way.length - 1) ** 0.5, easing: "ease-in-out" });
    }
  }
}
