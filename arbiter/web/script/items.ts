// A layer of a board: symbols on cells, some with a text.
import { say } from "./pairs.ts";
import type { Placed } from "./shapes.ts";
import { svg } from "./svg.ts";

const LETTER_DROP = 0.35; // distance from a text's centre down to its baseline, in font sizes, as in arbiter/drawing/shapes.py
const LONGER = 43.2; // font size of a text of several letters, times their number, as in arbiter/drawing/symbols.py

// A symbol on a cell.
export interface Item {
  readonly element: SVGElement;
  readonly symbol: string;
  cell: number;
  text: string;
  label: Element | undefined;
  going: Animation | undefined; // the animation of its last move
}

export class Items {
  readonly #layer: Element;
  readonly #game: string;
  readonly #at: (cell: number) => [number, number];
  #shown: Map<string, Item>; // by symbol and cell

  constructor(layer: Element, game: string, at: (cell: number) => [number, number]) {
    [this.#layer, this.#game, this.#at] = [layer, game, at];
    this.#shown = new Map();
    for (const element of layer.children) {
      const item = this.#drawn(element as SVGElement);
      this.#shown.set(unused(this.#shown, `${item.symbol} ${item.cell}`), item);
    }
  }

  // Returns the item on a cell.
  on(cell: number): Item | undefined {
    for (const item of this.#shown.values()) if (item.cell === cell) return item;
    return undefined;
  }

  // Shows these items. Most of a board does not change with a move, and to create an element costs the browser several times
  // as much as to move it or to change its text. So items stay where they are, and the others are moved to new cells.
  fill(placed: Placed[]): void {
    const [before, now] = [this.#shown, new Map<string, Item>()];
    const wanted: [key: string, symbol: string, text: string, cell: number][] = [];
    for (const [symbol, text, cells] of placed) {
      for (const cell of cells) {
        const key = unused(now, `${symbol} ${cell}`);
        const item = before.get(key);
        now.set(key, item as Item); // one that is not there yet follows below, in its place
        if (!item) {
          wanted.push([key, symbol, text, cell]);
          continue;
        }
        before.delete(key);
        this.#write(item, text);
      }
    }
    const changed = wanted.length > 0 || before.size > 0;
    const free = bySymbol(before.values());
    for (const [key, symbol, text, cell] of wanted) {
      const item = free.get(symbol)?.pop() ?? this.#made(symbol);
      this.#move(item, cell);
      this.#write(item, text);
      now.set(key, item);
    }
    for (const items of free.values()) for (const { element } of items) element.remove();
    this.#shown = now;
    if (changed) this.#order(placed);
  }

  // Brings elements into the order of their symbols, but only if a cell has two of them.
  #order(placed: Placed[]): void {
    const cells = new Set<number>();
    for (const { cell } of this.#shown.values()) cells.add(cell);
    if (cells.size === this.#shown.size) return;
    const ranks = new Map<Element, number>([...this.#layer.children].map((element, n) => [element, n]));
    const found = bySymbol(this.#shown.values());
    let next = this.#layer.firstElementChild;
    for (const symbol of new Set(placed.map(([symbol]) => symbol))) {
      const elements = (found.get(symbol) ?? []).map(({ element }) => element);
      for (const element of elements.sort((one, other) => (ranks.get(one) ?? 0) - (ranks.get(other) ?? 0))) {
        if (element === next) next = next.nextElementSibling;
        else this.#layer.insertBefore(element, next);
      }
    }
  }

  // Returns the item of an element that the server has drawn.
  #drawn(element: SVGElement): Item {
    const symbol = element.querySelector("use")?.getAttribute("href")?.slice(this.#game.length + 2) ?? "";
    const label = element.querySelector("text") ?? undefined;
    const cell = Number(element.getAttribute("data-at"));
    return { element, symbol, cell, text: label?.textContent ?? "", label, going: undefined };
  }

  #made(symbol: string): Item {
    const element = svg("g", {}, svg("use", { href: `#${this.#game}-${symbol}` }));
    this.#layer.append(element);
    return { element, symbol, cell: -1, text: "", label: undefined, going: undefined };
  }

  #move(item: Item, cell: number): void {
    item.going?.cancel();
    const [x, y] = this.#at(cell);
    item.cell = cell;
    item.element.setAttribute("transform", `translate(${x} ${y})`);
    item.element.setAttribute("data-at", `${cell}`);
  }

  #write(item: Item, text: string): void {
    if (item.text === text) return;
    const length = item.text.length;
    item.text = text;
    if (item.label && text.length === length) say(item.label, text);
    else {
      item.label?.remove();
      item.label = text ? this.#label(item.symbol, text) : undefined;
      if (item.label) item.element.append(item.label);
    }
  }

  #label(symbol: string, text: string): Element {
    const { x = "0", y = "0", size = "0", text: kind = "" } = document.getElementById(`${this.#game}-${symbol}`)?.dataset ?? {};
    const fitted = text.length === 1 ? Number(size) : Math.min(Number(size), LONGER / text.length);
    const made = svg("text", {
      class: kind, x, y: `${Number(y) + LETTER_DROP * fitted}`, "font-size": `${fitted}`, "text-anchor": "middle",
    });
    made.textContent = text;
    return made;
  }
}

function bySymbol(items: Iterable<Item>): Map<string, Item[]> {
  const found = new Map<string, Item[]>();
  for (const item of items) {
    const those = found.get(item.symbol);
    if (those) those.push(item);
    else found.set(item.symbol, [item]);
  }
  return found;
}

// Returns a key that is not in use: a cell may have one symbol twice, with different texts.
function unused(keys: Map<string, unknown>, key: string): string {
  let own = key;
  while (keys.has(own)) own += "'";
  return own;
}
