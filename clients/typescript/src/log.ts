/** The log for the people who run the bot. */

import { plainLines } from "./plain_text.js";

/** How much a line of the log matters. */
export type Level = "debug" | "info" | "warning" | "error";

/** Takes a line of the log. Other people wrote some of its words: `plainText` makes them safe to show. */
export type Log = (level: Level, text: string) => void;

const LEVELS: readonly Level[] = ["debug", "info", "warning", "error"];

/** Returns a log on standard error that leaves out what matters less than `least`, and is safe to show. */
export function stderrLog(least: Level = "info"): Log {
  return (level, text) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return;
    process.stderr.write(`${new Date().toISOString()} ${level.toUpperCase()} ${plainLines(text)}\n`);
  };
}

/** Returns a function that logs once that the client waits for a server that was never reached, and for how long. */
export function saysItWaits(log: Log, patienceMs: number): (error: Error) => void {
  let said = false;
  return (error) => {
    log(said ? "debug" : "warning", `${error.message}; trying for ${patienceMs / 1000} s`);
    said = true;
  };
}
