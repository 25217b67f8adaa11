// Composes a move of picks: what fits is what the legal moves, which the server sent, go on with. No rules are here.
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

  // Returns the picks that may come next.
  options(): number[] {
    const next = this.#fitting().map(([, picks]) => picks[this.picked.length]);
    return [...new Set(next.filter((pick) => pick !== undefined))];
  }

  // Returns the moves that are whole now.
  whole(): string[] {
    return this.#fitting().filter(([, picks]) => picks.length === this.picked.length).map(([move]) => move);
  }

  // Takes a pick; returns the move if only one fits, with nothing left to be picked on the board.
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
