/** A match of two bots of one program, without a server that somebody runs: for experiments, and for tests of a bot. */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Bot } from "./bot.js";
import { Client } from "./client.js";
import { parse } from "./credentials.js";
import { ConnectionFailed } from "./errors.js";
import type { Log } from "./log.js";
import { playAs } from "./playing.js";
import type { FinishedMatch } from "./values.js";

/** The time limit for the rules to end after their match, in ms. */
const END_WAIT_MS = 10_000;
/** How much of what the rules say on standard error is kept, in characters. */
const LONGEST_SAID = 10_000;
const PLAYERS = ["seat-1", "seat-2"] as const;

/** The terms of a local match; by default it has no clocks and begins at the initial position. */
export interface LocalOptions {
  /** As on a server, two with a colon for time odds; by default none. */
  readonly timeControl?: string;
  /** The first moves, which nobody plays. */
  readonly opening?: readonly string[];
  /** The start position; by default the game's initial one. */
  readonly position?: string;
  /** The arbiter's command; by default ARBITER_COMMAND, or `arbiter`. */
  readonly program?: string;
  /** Ends the match when it is aborted. */
  readonly signal?: AbortSignal;
  /** The log of both bots; by default none. */
  readonly log?: Log;
}

/**
 * Plays a match of two bots, and returns its end as the bot of seat 1 sees it; its `match` has the moves. It starts
 * `arbiter rules serve`, so the arbiter is to be installed. The bots are called and judged as on any server, and their
 * own calls work; their names are seat-1 and seat-2.
 *
 * Throws ArbiterError for an unknown game, a wrong time control, position or opening, BotFailed for an error of a bot,
 * ConnectionFailed if the rules can't be started or end before the match, and the signal's reason.
 */
export async function localMatch<Memory extends object, OtherMemory extends object>(
  first: Bot<Memory>,
  second: Bot<OtherMemory>,
  game: string,
  options: LocalOptions = {},
): Promise<FinishedMatch<Memory>> {
  const rules = await startRules(options.program || process.env.ARBITER_COMMAND || "arbiter");
  const stop = new AbortController();
  const abort = () => stop.abort(options.signal?.reason);
  options.signal?.addEventListener("abort", abort, { once: true });
  if (options.signal?.aborted) abort();
  void rules.over.then((lost) => stop.abort(lost));
  const log = options.log ?? (() => {});
  const { server, tokens } = rules;
  const organiser = new Client({ server, token: tokens.admin, tls: "none", log });
  try {
    const { timeControl = "none", opening = [], position = "" } = options;
    const wanted = { game, players: [...PLAYERS], timeControl, opening: [...opening], position };
    await organiser.createMatch(wanted, { signal: stop.signal });
    let end: FinishedMatch<Memory> | undefined;
    const seat = async <M extends object>(bot: Bot<M>, at: 0 | 1, told: (end: FinishedMatch<M>) => void) => {
      const name = PLAYERS[at];
      const found = { server, token: tokens[name], name, tls: "none", log } as const;
      try {
        await playAs(bot, { ...found, matches: 1, onError: "raise", signal: stop.signal }, told);
      } catch (error) {
        stop.abort(error);
      }
    };
    await Promise.all([seat(first, 0, (told) => (end = told)), seat(second, 1, () => {})]);
    stop.signal.throwIfAborted();
    if (!end) throw new ConnectionFailed("the bot of seat 1 was not told of the end of its match");
    return end;
  } finally {
    organiser.close();
    options.signal?.removeEventListener("abort", abort);
    await rules.end();
  }
}

/** A process of `arbiter rules serve`. */
interface Rules {
  readonly server: string;
  /** By player. */
  readonly tokens: Readonly<Record<string, string>>;
  /** Settled with the error that it is to end before the match, once it has ended. */
  readonly over: Promise<ConnectionFailed>;
  readonly end: () => Promise<void>;
}

async function startRules(program: string): Promise<Rules> {
  const child = spawn(program, ["rules", "serve"], { stdio: ["pipe", "pipe", "pipe"] });
  const command = `\`${program} rules serve\``;
  let said = "";
  child.stderr.on("data", (bytes) => {
    said = `${said}${bytes}`.slice(-LONGEST_SAID);
  });
  child.stdin.on("error", () => {}); // it has ended
  const over = new Promise<ConnectionFailed>((resolve) => {
    child.once("error", (cause) => {
      const what = `can't start ${command}: ${cause.message}`;
      const hint = "install game-arbiter, or name its command in ARBITER_COMMAND";
      resolve(new ConnectionFailed(`${what}: ${hint}`, { cause }));
    });
    child.once("close", (code, signal) => {
      const last = said.trim().split("\n").at(-1);
      const how = signal ?? `exit code ${code}`;
      resolve(
        new ConnectionFailed(
          `${command} has ended before the match: ${[how, last].filter(Boolean).join(": ")}`,
        ),
      );
    });
  });
  const line = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).once("line", resolve);
  });
  const end = async () => {
    child.stdin.end();
    const late = setTimeout(() => child.kill("SIGKILL"), END_WAIT_MS);
    await over;
    clearTimeout(late);
  };
  const first = await Promise.race([line, over]);
  if (first instanceof Error) throw first;
  const [[server, tokens] = ["", {}]] = Object.entries(parse(first).content); // in the form of a credentials file
  return { server, tokens, over, end };
}
