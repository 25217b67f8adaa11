/** Opening books: moves from the start of a game that are known beforehand. `clients/README.md` describes the file. */

import { readFileSync } from "node:fs";
import { invalidSetting } from "./time_control.js";
import type { Turn } from "./values.js";

const ALLOWED = "GAME MOVE MOVE …";

/** Lines of moves by variant. */
export class OpeningBook {
  readonly #lines = new Map<string, (readonly string[])[]>();

  /** Returns the book in a text. Throws ArbiterError (PARAMETER_INVALID) for a line without moves. */
  static parse(text: string): OpeningBook {
    const book = new OpeningBook();
    for (const [index, line] of text
      .replace(/^\ufeff/, "")
      .split(/\r\n|\r|\n/)
      .entries()) {
      const [game, ...moves] = line.trim().split(/\s+/);
      if (!game || game.startsWith("#")) continue;
      if (moves.length === 0) {
        const where = `line ${index + 1} of the opening book`;
        throw invalidSetting(
          game,
          where,
          ALLOWED,
          `${where} has no move after '${game}': expected ${ALLOWED}`,
        );
      }
      book.#lines.set(game, [...(book.#lines.get(game) ?? []), moves]);
    }
    return book;
  }

  /** Returns the book in a file. Throws the error of reading it, TypeError if it is not UTF-8, and what `parse` throws. */
  static load(path: string): OpeningBook {
    return OpeningBook.parse(new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path)));
  }

  /** Returns the moves that the book has after those played, each once, in the order of the book. */
  moves(game: string, played: readonly string[]): string[] {
    const begun = (this.#lines.get(game) ?? []).filter((line) =>
      played.every((move, ply) => line[ply] === move),
    );
    return [...new Set(begun.flatMap((line) => line.slice(played.length, played.length + 1)))];
  }

  /**
   * Returns one of the moves for a turn by lot, or undefined: a match from a position of its own is in no book. `chance`
   * returns a number from 0 to 1, without 1.
   */
  move(turn: Turn<never>, chance: () => number = Math.random): string | undefined {
    const known = turn.match.startPosition ? [] : this.moves(turn.game, turn.match.moves);
    return known[Math.floor(chance() * known.length)];
  }
}
