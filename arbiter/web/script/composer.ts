// Composes a move from picks. The legal moves, which the server sends, decide which picks are possible: no rules here.
import type { Choices } from "./shapes.ts";

export class Composer {
  readonly #choices: Choices;
  readonly picked: number[] = [];

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  #fitting(): Choices["moves"] {
    return this.#choices.moves.filter(([, picks]) => this.picked.every((pick, n) => picks[n] === pick));
  }

  // Returns the possible next picks.
  options(): number[] {
    const next = this.#fitting().map(([, picks]) => picks[this.picked.length]);
    return [...new Set(next.filter((pick) => pick !== undefined))];
  }

  // Returns the moves that are complete with the picks so far.
  complete(): string[] {
    return this.#fitting().filter(([, picks]) => picks.length === this.picked.length).map(([move]) => move);
  }

  // Adds a pick. Returns the move if only one fits, and none of its other picks is on the board.
  pick(pick: number): string | undefined {
    this.picked.push(pick);
    const [only, ...others] = this.#fitting();
    if (!only || others.length) return undefined;
    const left = only[1].slice(this.picked.length);
    return left.every((each) => (this.#choices.picks[each]?.[1] ?? -1) < 0) ? only[0] : undefined;
  }

  back(): void {
    this.picked.pop();
  }
}
