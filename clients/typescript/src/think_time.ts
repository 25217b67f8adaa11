/**
 * How long to think for a move: a share of the main time, and most of what the time control adds for every move. The
 * rules, the same in every client, are in `clients/README.md`; `clients/vectors/think_times.json` has the numbers.
 */

import { eachMoveMs } from "./time_control.js";

/** How many plies a game still has, from any position, unless the bot knows better. */
export const EXPECTED_PLIES = 60;

const HELD_BACK_MS = 1_000; // of the main time, but never more than half of it: the way to the server in a long game
const MOST = 0.7; // share of the time that is added, or lost, after the move
const BEFORE_FLAG = 0.6; // share of the time until the flag falls, for one choice
const RESERVE_MS = 15; // reserve before the flag falls
const SWITCH_MS = 5; // the same for each other match in the process
const LEAST_MS = 5; // for one choice, while the flag is far away
const FAR_MS = 200;

/** What the time for a move is computed from. */
export interface Thinking {
  /** The bot's own time control. */
  readonly timeControl: string;
  /** The time until the flag falls, in ms. */
  readonly leftMs: number;
  /** The main time left, in ms; with a fixed time a move, the bank. */
  readonly mainMs: number;
  /** Moves to go in the session; 0 (the default): there is none. */
  readonly movesLeft?: number;
  /** Plies to the end of the game, of both players; 60 by default. */
  readonly expectedPlies?: number;
  /** How many matches think in this process; 1 by default. */
  readonly matches?: number;
}

/** Returns the time for a move in ms, never negative. */
export function thinkTimeMs(thinking: Thinking): number {
  const {
    timeControl,
    leftMs,
    mainMs,
    movesLeft = 0,
    expectedPlies = EXPECTED_PLIES,
    matches = 1,
  } = thinking;
  const moves = Math.max(1, Math.ceil(expectedPlies / 2));
  const shareMs = (mainMs - Math.min(HELD_BACK_MS, mainMs / 2)) / Math.min(movesLeft || moves, moves);
  const eachMs = MOST * eachMoveMs(timeControl);
  const byoYomi = timeControl.includes("x");
  const wantedMs = byoYomi ? Math.max(shareMs, eachMs) : shareMs + eachMs;
  const atLeastMs = leftMs > FAR_MS ? LEAST_MS : 0;
  const reserveMs = RESERVE_MS + SWITCH_MS * (matches - 1);
  return Math.max(0, Math.min(Math.max(wantedMs, atLeastMs), BEFORE_FLAG * leftMs, leftMs - reserveMs));
}
