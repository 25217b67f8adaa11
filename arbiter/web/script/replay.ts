// The positions of a match, fetched from the server in parts when they are first needed.
import type { Position } from "./shapes.ts";

export class Replay {
  readonly #match: string;
  readonly #known = new Map<number, Position>();
  #wanted = 0;

  constructor(match: string) {
    this.#match = match;
  }

  keep(ply: number, position: Position): void {
    this.#known.set(ply, position);
  }

  // Returns the position after `ply` moves; undefined if another one was requested meanwhile.
  async at(ply: number, last: number): Promise<Position | undefined> {
    this.#wanted = ply;
    if (!this.#known.has(ply)) await this.#fetch(Math.max(0, Math.min(ply - (ply % 20), last)));
    return this.#wanted === ply ? this.#known.get(ply) : undefined;
  }

  async #fetch(from: number): Promise<void> {
    const answer = await fetch(`/matches/${this.#match}/plies?from=${from}`);
    if (!answer.ok) return;
    const part = await answer.json() as { from: number; plies: Position[] };
    part.plies.forEach((position, n) => this.#known.set(part.from + n, position));
  }
}
