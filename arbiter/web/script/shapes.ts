// The values that the server sends: see arbiter/web/states.py and arbiter/drawing/contents.py.

export type Placed = [symbol: string, text: string, cells: number[]];

export interface Contents {
  ground?: Placed[];
  last?: Placed[];
  ways?: [kind: string, shaft: string, head: string][];
  signs?: Placed[];
  links?: [owner: number, first: number, second: number][];
  pieces?: Placed[];
  over?: Placed[];
  moves?: [from: number, to: number][];
}

export type Numbers = [what: string, count: number][];

export interface Position {
  board: Contents;
  said: string;
  numbers: [Numbers, Numbers, Numbers];
  signs: [sign: string, meaning: string][];
}

export interface Move {
  ply: number;
  seat: number;
  move: string;
  shown: string; // as people read it
  spent_ms: number | null;
}

// Legal moves: each is its text, and the numbers of its picks (arbiter/web/choices.py).
export interface Choices {
  ply: number;
  claim: string;
  picks: [kind: string, cell: number, words: string][];
  moves: [text: string, picks: number[]][];
}

// The state of a match; an event of a move has its position.
export interface State extends Partial<Position> {
  match: string;
  revision: number;
  now: number;
  ply: number;
  turn: number;
  started: number;
  clocks: number[];
  present?: [boolean, boolean];
  phase?: string;
  active?: boolean; // a player may move
  over?: boolean;
  offer?: number; // the seat whose offer of a draw is open
  result?: string;
  move?: Move;
}

// An event of a match. Absent fields have not changed, or later moves, which follow, have changed them.
export type News = Partial<State> & Pick<State, "match" | "revision" | "now">;
