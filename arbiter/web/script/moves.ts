// The list of moves beside the board. It consists of short lists, each with a layout and a picture of its own: a new move
// has the browser lay out and paint only the last one, however long the match is.
import type { Move } from "./shapes.ts";

const TOGETHER = 20; // moves in each of the lists, as in the template match.html
const ABOVE = 96; // pixels of the list above the marked move

export class Moves {
  readonly #root: HTMLElement | null;
  #marked: Element | null = null;
  #scrolling: number | undefined;

  constructor(root: HTMLElement | null) {
    this.#root = root;
  }

  add(move: Move): void {
    const [item, link, spent] = [document.createElement("li"), document.createElement("a"), document.createElement("span")];
    item.className = `seat${move.seat}`;
    link.textContent = move.shown;
    link.setAttribute("href", `?ply=${move.ply + 1}`);
    link.setAttribute("data-ply", `${move.ply + 1}`);
    spent.className = "quiet";
    if (move.spent_ms !== null) spent.textContent = `${(move.spent_ms / 1000).toFixed(1)} s`;
    item.append(link, " ", spent);
    this.#last(move.ply)?.append(item);
  }

  // Marks the move that led to a ply, and scrolls to it.
  mark(ply: number): void {
    const here = this.#root?.children[Math.floor((ply - 1) / TOGETHER)]?.children[(ply - 1) % TOGETHER] ?? null;
    if (here === this.#marked) return;
    (this.#marked ?? this.#root?.querySelector("[aria-current]"))?.removeAttribute("aria-current");
    here?.setAttribute("aria-current", "step");
    this.#marked = here;
    this.#scroll();
  }

  // Returns the list to which the move at a ply is added.
  #last(ply: number): Element | null {
    if (ply % TOGETHER === 0) {
      const list = document.createElement("ol");
      list.start = ply + 1;
      this.#root?.append(list);
    }
    return this.#root?.lastElementChild ?? null;
  }

  // Scrolls to the marked move before the next frame. To read its place forces a layout of the page, which is then done once
  // for all changes.
  #scroll(): void {
    this.#scrolling ??= requestAnimationFrame(() => {
      this.#scrolling = undefined;
      if (!this.#root || !this.#marked) return;
      this.#root.scrollTop += this.#marked.getBoundingClientRect().top - this.#root.getBoundingClientRect().top - ABOVE;
    });
  }
}
