// A board: shows the page's symbols at the cells that the server sends.
import type { Contents, Placed } from "./shapes.ts";

const SVG = "http://www.w3.org/2000/svg";
const MOVE_MS = 220;
const ITEMS = ["ground", "last", "signs", "pieces", "over"] as const;
const FILLED: string[] = [...ITEMS, "ways", "links"];
const LETTER_DROP = 0.35; // distance from a text's centre down to its baseline, in font sizes, as in arbiter/drawing/shapes.py

export function svg(name: string, attributes: Record<string, string>, ...children: Element[]): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

type Part = [
  key: string, // everything on which the element depends
  make: () => Element,
  kind?: string, // elements of one kind differ only in their cell
  cell?: number,
];

export class Board {
  readonly #root: SVGSVGElement;
  readonly #game: string;
  readonly #inks: string[];
  readonly #centres: [number, number][];
  readonly #layers = new Map<string, Element>();
  readonly #shown = new Map<string, Map<string, Element>>(); // by layer: its elements by key
  readonly #kinds = new WeakMap<Element, string>();
  readonly #moving = new WeakMap<Element, Animation>();
  #held = -1;

  constructor(root: SVGSVGElement) {
    this.#root = root;
    this.#game = root.dataset["game"] ?? "";
    this.#inks = (root.dataset["inks"] ?? "").split(" ");
    const tiles = [...root.querySelectorAll(".tiles use")];
    this.#centres = tiles.map((tile) => [Number(tile.getAttribute("x")), Number(tile.getAttribute("y"))]);
    for (const layer of root.children) {
      const name = layer.getAttribute("class") ?? "";
      this.#layers.set(name, layer);
      if (FILLED.includes(name)) this.#shown.set(name, this.#drawn(layer));
    }
  }

  // Shows a position; `animate`: with an animation of the last move.
  show(contents: Contents, said: string, animate: boolean): void {
    if (this.#held >= 0) this.drop();
    for (const name of ITEMS) {
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

  // Returns the element of the piece on a cell.
  piece(cell: number): Element | null {
    return this.#layers.get("pieces")?.querySelector(`[data-at="${cell}"]`) ?? null;
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

  // Fills a layer with these parts, in this order; the order of neighbours of one kind is free. Elements that the layer
  // already has stay, since most of a board does not change. An element whose cell has changed is moved: to create one, or
  // to change its order in the layer, costs the browser several times as much.
  #fill(name: string, parts: Part[]): void {
    const layer = this.#layers.get(name);
    if (!layer) return;
    const [before, now] = [this.#shown.get(name) ?? new Map<string, Element>(), new Map<string, Element | undefined>()];
    const made = new Map<string, Part>();
    for (const part of parts) {
      const own = unused(now, part[0]);
      now.set(own, before.get(own));
      if (!before.has(own)) made.set(own, part);
    }
    const left = new Map<string, Element[]>();
    for (const [key, element] of before) {
      if (now.has(key)) continue;
      const kind = this.#kinds.get(element);
      if (kind === undefined) element.remove();
      else left.set(kind, [...left.get(kind) ?? [], element]);
    }
    for (const [key, part] of made) now.set(key, this.#moved(left, part) ?? this.#made(part));
    for (const elements of left.values()) for (const element of elements) element.remove();
    this.#shown.set(name, now as Map<string, Element>);
    const ranks = new Map([...layer.children].map((element, n) => [element, n]));
    const rank = (element: Element): number => ranks.get(element) ?? ranks.size;
    const elements = [...now.values()] as Element[];
    let [next, from] = [layer.firstElementChild, 0];
    parts.forEach(([, , kind], n) => {
      if (kind !== undefined && kind === parts[n + 1]?.[2]) return;
      for (const element of elements.slice(from, n + 1).sort((one, other) => rank(one) - rank(other))) {
        if (element === next) next = next.nextElementSibling;
        else layer.insertBefore(element, next);
      }
      from = n + 1;
    });
  }

  // Moves an unused element to the cell of a new part of the same kind.
  #moved(left: Map<string, Element[]>, [, , kind, cell]: Part): Element | undefined {
    const element = kind === undefined || cell === undefined ? undefined : left.get(kind)?.pop();
    if (!element || cell === undefined) return undefined;
    this.#moving.get(element)?.cancel();
    const [x, y] = this.at(cell);
    element.setAttribute("transform", `translate(${x} ${y})`);
    element.setAttribute("data-at", `${cell}`);
    return element;
  }

  #made([, make, kind]: Part): Element {
    const made = make();
    if (kind !== undefined) this.#kinds.set(made, kind);
    return made;
  }

  // Returns the elements that the server has drawn in a layer, by the keys of their parts.
  #drawn(layer: Element): Map<string, Element> {
    const found = new Map<string, Element>();
    for (const element of layer.children) {
      const of = (name: string): string => element.getAttribute(name) ?? "";
      let key = `${of("class")} ${of("d") || of("points")}`;
      if (element.tagName === "line") key = ["class", "x1", "y1", "x2", "y2"].map(of).join(" ");
      if (element.tagName === "g") {
        const symbol = element.querySelector("use")?.getAttribute("href")?.slice(this.#game.length + 2) ?? "";
        const text = element.textContent;
        this.#kinds.set(element, `${symbol} ${text}`);
        key = `${symbol} ${of("data-at")} ${text}`;
      }
      found.set(unused(found, key), element);
    }
    return found;
  }

  #items([symbol, text, cells]: Placed): Part[] {
    const id = `${this.#game}-${symbol}`;
    return cells.map((cell) => [`${symbol} ${cell} ${text}`, () => {
      const [x, y] = this.at(cell);
      const item = svg("g", { transform: `translate(${x} ${y})`, "data-at": `${cell}` }, svg("use", { href: `#${id}` }));
      if (text) item.append(this.#text(id, text));
      return item;
    }, `${symbol} ${text}`, cell]);
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

  // Animates the piece at the end of each chain of moves.
  #animate(contents: Contents): void {
    const chains = new Map<number, number[]>(); // by the last cell: all cells of the path
    for (const [from, to] of contents.moves ?? []) {
      const way = chains.get(from) ?? [from];
      chains.delete(from);
      chains.set(to, [...way, to]);
    }
    for (const [end, way] of chains) {
      const piece = this.piece(end);
      const frames = way.map((cell) => ({ transform: `translate(${this.at(cell)[0]}px, ${this.at(cell)[1]}px)` }));
      const going = piece?.animate(frames, { duration: MOVE_MS * (way.length - 1) ** 0.5, easing: "ease-in-out" });
      if (piece && going) this.#moving.set(piece, going);
    }
  }
}

// Returns a key that is not in use: two parts may be equal.
function unused(keys: Map<string, unknown>, key: string): string {
  let own = key;
  while (keys.has(own)) own += "'";
  return own;
}
