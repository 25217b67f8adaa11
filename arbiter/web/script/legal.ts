// Shows the legal moves at the shown ply. A person can compose them as in play; they are not sent.
import { ask } from "./ask.ts";
import type { Board } from "./board.ts";
import { Picker } from "./picker.ts";
import type { Choices } from "./shapes.ts";

export class Legal {
  readonly #box: HTMLInputElement | null;
  readonly #said: Element | null;
  readonly #picker: Picker;
  #shown = "";
  #choices: Choices | undefined;

  constructor(root: HTMLElement, svg: SVGSVGElement, board: Board, changed: () => void) {
    const find = <E extends Element>(selector: string): E | null => root.querySelector<E>(selector);
    [this.#box, this.#said] = [find("[data-legal]"), find("[data-legal-said]")];
    this.#picker = new Picker(svg, board, null, find("[data-legal-options]"), (move) => {
      if (this.#choices) this.#picker.offer(this.#choices);
      this.#say(`${move} is legal here.`);
    });
    this.#box?.addEventListener("change", changed);
  }

  // Shows the legal moves at a ply if the box is checked. apart: the person has no move to make at this ply.
  async show(match: string, ply: number, apart: boolean): Promise<void> {
    const wanted = this.#box?.checked && apart ? `${match} ${ply}` : "";
    if (wanted === this.#shown) return;
    this.#shown = wanted;
    this.#picker.clear();
    this.#say("");
    if (!wanted) return;
    const answer = await ask(`/matches/${match}/choices?ply=${ply}`);
    if (this.#shown !== wanted) return;
    if (!answer.ok) return this.#say("They can't be read now.");
    this.#choices = await answer.json() as Choices;
    if (this.#shown !== wanted) return;
    const count = this.#choices.moves.length;
    this.#say(count === 1 ? "1 legal move" : `${count} legal moves`);
    this.#picker.offer(this.#choices);
  }

  #say(words: string): void {
    if (this.#said && (words || !this.#shown)) this.#said.textContent = words;
  }
}
