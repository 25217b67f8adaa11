/** Time controls, compared by meaning: `60s+2s` is `1m+2s`. The arbiter writes the canonical form, a bot any form. */

import { ArbiterError } from "./errors.js";

const ALLOWED = "5m, 5m+3s, 5m+3sd, 5m+3sb, 300ms/move, 300ms/move+10s, 1m+3x10s, 40/30m or none";
const LONGEST_TEXT = 40; // characters
const LONGEST_MS = 168 * 3_600_000; // of each duration
const MOST_PERIODS = 100;
const MOST_MOVES = 1_000;

/** Unit to ms, large to small. */
const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
const TIME = "[1-9][0-9]{0,8}(?:ms|s|m|h)";
const FORM = new RegExp(
  `^(?:none|${TIME}(?:\\+${TIME}[db]?)?|${TIME}/move(?:\\+${TIME})?` +
    `|${TIME}\\+([1-9][0-9]{0,3})x${TIME}|([1-9][0-9]{0,3})/${TIME})$`,
);
const EACH_MOVE = /([0-9]{1,9})(ms|[smh])\/move|\+(?:[0-9]+x)?([0-9]{1,9})(ms|[smh])[db]?$/;

/** Returns the arbiter's refusal for a setting that can't be used. */
export function invalidSetting(what: string, where: string, allowed: string, message: string): ArbiterError {
  return new ArbiterError("PARAMETER_INVALID", message, "INVALID_ARGUMENT", { what, where, allowed });
}

/**
 * Returns the canonical form of a time control: each duration in the largest unit that divides it. Throws ArbiterError
 * for a text that is none, as the arbiter does.
 */
export function canonical(text: string): string {
  const found = text.length <= LONGEST_TEXT ? FORM.exec(text) : null;
  if (!found || Number(found[1] ?? 1) > MOST_PERIODS || Number(found[2] ?? 1) > MOST_MOVES) {
    const shown = JSON.stringify(text.slice(0, LONGEST_TEXT));
    throw invalidSetting(text, "time", ALLOWED, `${shown} is no time control: expected ${ALLOWED}`);
  }
  return text.replace(/([0-9]+)(ms|s|m|h)/g, (span: string, number: string, unit: string) => {
    const ms = Number(number) * (UNITS[unit] ?? 1);
    if (ms > LONGEST_MS) {
      const message = `${span} in the time control '${text}' is more than 168h`;
      throw invalidSetting(text, "time", ALLOWED, message);
    }
    const [name = "ms", length = 1] = Object.entries(UNITS).find(([, each]) => ms % each === 0) ?? [];
    return `${ms / length}${name}`;
  });
}

/** Returns whether two texts are the same time control. Texts that are none are compared as they are. */
export function sameControl(one: string, other: string): boolean {
  try {
    return one === other || canonical(one) === canonical(other);
  } catch {
    return false; // of a newer arbiter, say
  }
}

/** Returns the time control of a seat: the match's, unless the two differ. */
export function ownControl(
  match: { readonly timeControl: string; readonly timeControls: readonly string[] },
  seat: number,
): string {
  return match.timeControls[seat - 1] ?? match.timeControl;
}

/** Returns the time in ms that a time control adds for every move: increment, delay, fixed time or period; else 0. */
export function eachMoveMs(control: string): number {
  const [, fixed, fixedUnit, added, addedUnit] = EACH_MOVE.exec(control) ?? [];
  return Number(fixed ?? added ?? 0) * (UNITS[fixedUnit ?? addedUnit ?? "ms"] ?? 0);
}
