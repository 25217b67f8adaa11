/** Functions of the program for its metrics and logs. */

import { type ArbiterError, type ClientError, textOf } from "./errors.js";
import type { Log } from "./log.js";
import type { Turn } from "./values.js";

/**
 * Each may be left out. The client calls them while it works, so they return at once. One that throws is logged, and
 * costs nothing else.
 */
export interface Hooks {
  /** After each hello of a server. */
  readonly connected?: (server: string, player: string) => void;
  /** When a connection after a hello is lost. */
  readonly disconnected?: (server: string, error: ClientError) => void;
  /** When the bot has chosen: the time from the turn's arrival, in ms. */
  readonly thought?: (turn: Turn<never>, milliseconds: number) => void;
  /** When a choice was refused. */
  readonly refused?: (turn: Turn<never>, error: ArbiterError) => void;
  /** For each line of the log, unless the option `log` is set. */
  readonly log?: Log;
}

/** Calls a hook, if it is there. */
export function call(log: Log, name: keyof Hooks, hook: (() => void) | undefined): void {
  try {
    hook?.();
  } catch (error) {
    log("error", `the hook ${name} failed: ${textOf(error)}`);
  }
}
