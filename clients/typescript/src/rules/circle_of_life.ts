/**
 * The rules of Circle of Life, by Nick Bentley, for bots that look ahead without the server.
 *
 * The board is a hexagon of side 5 with rows lettered from the bottom up; it starts empty. A move places a stone. A
 * critter is a connected group of one colour, at most four stones; its species is its shape. The critter that a stone
 * becomes part of eats every enemy critter next to it of the species that it feeds on.
 */

import { ClientError } from "../errors.js";

/** Seat 1 (`S`) or seat 2 (`s`). */
export type Seat = 1 | 2;

/** Why the rules refuse a text, as the arbiter would say it. */
export type RuleReason =
  | "MOVE_MALFORMED"
  | "MOVE_ILLEGAL"
  | "POSITION_MALFORMED"
  | "GAME_UNKNOWN"
  | "PARAMETER_INVALID";

/** The rules refuse a move, a position's text or a variant. */
export class RuleError extends ClientError {
  override name = "RuleError";

  constructor(
    readonly reason: RuleReason,
    message: string,
  ) {
    super(message);
  }
}

/** How a game ended. */
export interface Outcome {
  readonly winner: Seat;
  /** `target_eaten`: the winner has eaten enough. `cannot_evolve`: it was to move and had no cell to place on. */
  readonly reason: "target_eaten" | "cannot_evolve";
}

/** A position; playing a move returns a new one. */
export interface Position {
  /** What stands on each cell, in the order of `CELLS`: 0 nothing, 1 or 2 a stone of that seat. */
  readonly stones: Uint8Array;
  /** The enemy stones that seat 1 and seat 2 have eaten. */
  readonly eaten: readonly [number, number];
  /** The seat to move. */
  readonly turn: Seat;
  /** The cells on which the seat to move may place, in the order of `CELLS`; none once there is an outcome. */
  readonly open: readonly number[];
  readonly outcome: Outcome | undefined;
}

interface Group {
  readonly cells: readonly number[];
  readonly species: number;
}

const SIDE = 5;
const ROWS = 2 * SIDE - 1;
const LARGEST = 4;
const SIGNS = ".Ss";

/** The stones and the sum of the squared distances over all pairs of them, which together tell a species. */
const SPECIES: readonly (readonly [stones: number, squares: number])[] = [
  [1, 0], // singleton
  [2, 1], // pair
  [3, 5], // bend
  [3, 6], // line of three
  [3, 3], // triangle
  [4, 11], // key
  [4, 17], // sled
  [4, 13], // arch
  [4, 16], // snake
  [4, 8], // diamond
  [4, 12], // propeller
  [4, 20], // line of four
];

const places = Array.from({ length: ROWS }, (_, row) => {
  const offset = Math.abs(SIDE - 1 - row);
  // Along a row x grows by 2; (x - row) / 2 and row are coordinates in which all six neighbours are alike.
  return Array.from({ length: ROWS - offset }, (_, k) => ({ row, k, q: (2 * k + offset - row) / 2 }));
}).flat();

/** The names of the cells, `a1` to `i5`: bytewise, which is also the order of the legal moves. */
export const CELLS: readonly string[] = places.map(({ row, k }) => `${"abcdefghi"[row]}${k + 1}`);

const NUMBER = new Map(CELLS.map((name, cell) => [name, cell]));
const NEIGHBOURS: readonly (readonly number[])[] = places.map((_, cell) =>
  places.flatMap((_, other) => (distance(cell, other) === 1 ? [other] : [])),
);
/** The cells in the order of a position's text, row by row from the top. */
const LINES: readonly (readonly number[])[] = Array.from({ length: ROWS }, (_, line) =>
  places.flatMap(({ row }, cell) => (row === ROWS - 1 - line ? [cell] : [])),
);

/** Returns the square of the distance of two cells; neighbours lie 1 apart. */
function distance(cell: number, other: number): number {
  const [a, b] = [places[cell], places[other]];
  if (!a || !b) return Number.NaN;
  const [dq, dr] = [a.q - b.q, a.row - b.row];
  return dq * dq + dq * dr + dr * dr;
}

/** One variant of the game: `circle-of-life`, or `circle-of-life(target=7)`. */
export class CircleOfLife {
  /** How many stones are to be eaten for a win. */
  readonly target: number;

  /** Throws RuleError: GAME_UNKNOWN, PARAMETER_INVALID. */
  constructor(variant = "circle-of-life") {
    const [, parameters] = /^circle-of-life(?:\((.*)\))?$/.exec(variant) ?? [];
    if (!variant.startsWith("circle-of-life") || (parameters === undefined && variant !== "circle-of-life")) {
      throw new RuleError("GAME_UNKNOWN", `'${variant}' is no variant of circle-of-life`);
    }
    const [, target = ""] = /^target=([1-9][0-9]?)$/.exec(parameters || "target=20") ?? [];
    if (!target || Number(target) > 60) {
      throw new RuleError("PARAMETER_INVALID", `'${parameters}': expected target=1 to target=60`);
    }
    this.target = Number(target);
  }

  /** The canonical name of the variant. */
  get variant(): string {
    return this.target === 20 ? "circle-of-life" : `circle-of-life(target=${this.target})`;
  }

  /** Returns the empty board. */
  initial(): Position {
    return this.#after(2, new Uint8Array(CELLS.length), [0, 0]);
  }

  /** Returns the legal moves, in bytewise order. */
  moves(position: Position): string[] {
    return position.open.map((cell) => CELLS[cell] as string);
  }

  /** Returns the position after a move. Throws RuleError: MOVE_MALFORMED, MOVE_ILLEGAL. */
  play(position: Position, move: string): Position {
    const cell = NUMBER.get(move);
    if (cell === undefined) throw new RuleError("MOVE_MALFORMED", `'${move}' is no cell`);
    if (!position.open.includes(cell))
      throw new RuleError("MOVE_ILLEGAL", `no stone may be placed on ${move}`);
    return this.place(position, cell);
  }

  /** Returns the position after a stone on one of the `open` cells. */
  place(position: Position, cell: number): Position {
    const mover = position.turn;
    const stones = position.stones.slice();
    const eaten: [number, number] = [...position.eaten];
    stones[cell] = mover;
    const eater = groupAt(stones, cell);
    const prey = (eater.species + SPECIES.length - 1) % SPECIES.length;
    for (const near of eater.cells.flatMap((each) => NEIGHBOURS[each] ?? [])) {
      if (stones[near] !== 3 - mover) continue;
      const { cells, species } = groupAt(stones, near);
      if (species !== prey) continue;
      for (const each of cells) stones[each] = 0;
      eaten[mover - 1] = (eaten[mover - 1] as number) + cells.length;
    }
    return this.#after(mover, stones, eaten);
  }

  /** Returns the text of a position. */
  text({ stones, turn, eaten }: Position): string {
    const rows = LINES.map((line) => line.map((cell) => SIGNS[stones[cell] ?? 0]).join(""));
    return `${rows.join("/")} ${turn} ${eaten[0]} ${eaten[1]}`;
  }

  /** Returns the position of a text. Throws RuleError: POSITION_MALFORMED. */
  parse(text: string): Position {
    const [, board = "", seat, first, second] =
      /^(\S+) ([12]) (0|[1-9]\d{0,8}) (0|[1-9]\d{0,8})$/.exec(text) ?? [];
    const rows = board.split("/");
    const fits = LINES.every(
      (line, number) => rows[number]?.length === line.length && /^[.Ss]+$/.test(rows[number]),
    );
    if (!fits || rows.length !== LINES.length) {
      throw new RuleError("POSITION_MALFORMED", `'${text.slice(0, 100)}' is no position of circle-of-life`);
    }
    const stones = new Uint8Array(CELLS.length);
    for (const [number, line] of LINES.entries()) {
      for (const [k, cell] of line.entries()) stones[cell] = SIGNS.indexOf(rows[number]?.[k] ?? ".");
    }
    // The outcome follows from the text, with the other seat as the last mover.
    return this.#after(seat === "1" ? 2 : 1, stones, [Number(first), Number(second)]);
  }

  /** Returns the position after a turn of `mover`, with its outcome. */
  #after(mover: Seat, stones: Uint8Array, eaten: readonly [number, number]): Position {
    const turn: Seat = mover === 1 ? 2 : 1;
    if ((eaten[mover - 1] as number) >= this.target) {
      return { stones, eaten, turn, open: [], outcome: { winner: mover, reason: "target_eaten" } };
    }
    const open = openCells(stones, turn);
    const outcome: Outcome | undefined =
      open.length > 0 ? undefined : { winner: turn, reason: "cannot_evolve" };
    return { stones, eaten, turn, open, outcome };
  }
}

/** Returns the empty cells where a stone of a seat makes a critter of at most four. */
function openCells(stones: Uint8Array, seat: Seat): number[] {
  const sizes = new Map<number, number>(); // of the critter, by each of its cells
  const critter = new Int8Array(CELLS.length).fill(-1); // by cell: the first cell of its critter
  for (let cell = 0; cell < stones.length; cell += 1) {
    if (stones[cell] !== seat || critter[cell] !== -1) continue;
    const cells = connected(stones, cell);
    for (const each of cells) critter[each] = cell;
    sizes.set(cell, cells.length);
  }
  const found: number[] = [];
  for (let cell = 0; cell < stones.length; cell += 1) {
    if (stones[cell] !== 0) continue;
    const joins = new Set<number>();
    for (const near of NEIGHBOURS[cell] ?? []) if (stones[near] === seat) joins.add(critter[near] as number);
    let size = 1;
    for (const first of joins) size += sizes.get(first) as number;
    if (size <= LARGEST) found.push(cell);
  }
  return found;
}

/** Returns the group that a stone is part of; one of more than four, which only a set position can hold, has no species. */
function groupAt(stones: Uint8Array, cell: number): Group {
  const cells = connected(stones, cell);
  let squares = 0;
  for (const one of cells) for (const other of cells) if (one < other) squares += distance(one, other);
  const species = SPECIES.findIndex(([count, sum]) => count === cells.length && sum === squares);
  return { cells, species };
}

function connected(stones: Uint8Array, cell: number): number[] {
  const cells = [cell];
  for (const each of cells) {
    for (const near of NEIGHBOURS[each] ?? []) {
      if (stones[near] === stones[cell] && !cells.includes(near)) cells.push(near);
    }
  }
  return cells;
}
