/** Playing a bot: `run` for programs that are nothing but a bot, `play` for others. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Bot } from "./bot.js";
import type { Tls } from "./channel.js";
import { Client } from "./client.js";
import { call, type Hooks } from "./hooks.js";
import { type Log, saysItWaits, stderrLog } from "./log.js";
import { BotRunner, type OnError } from "./runner.js";
import type { Introduction } from "./session.js";
import { type PlayingSession, startSession } from "./thread.js";
import { canonical, invalidSetting } from "./time_control.js";
import type { FinishedMatch } from "./values.js";
import { PROTOCOL_VERSION, SOFTWARE, SOFTWARE_VERSION } from "./version.js";

/** The time limit for the server to end the stream after the bot, in ms. */
const FAREWELL_WAIT_MS = 5_000;
/** The time limit for withdrawing the bot's seeks before that. */
const WITHDRAWAL_WAIT_MS = 2_000;

/** The options of a bot's run. An absent one comes from the environment, or has a default. */
export interface PlayOptions {
  /** HOST:PORT, or several addresses of one arbiter with commas; by default ARBITER_SERVER, or 127.0.0.1:7400. */
  readonly server?: string | undefined;
  /** The player; by default ARBITER_NAME, or the bot's name. */
  readonly name?: string | undefined;
  /**
   * By default ARBITER_TOKEN, or the token of the player in the credentials file; without one the player is registered.
   */
  readonly token?: string | undefined;
  /** By default that of ARBITER_ROOT_CERTIFICATE and the related variables, or none. */
  readonly tls?: Tls | "none" | undefined;
  /**
   * Stop after so many matches have ended; by default never. The bot agrees to no more than that, and plays those under
   * way to their end.
   */
  readonly matches?: number | undefined;
  /** How many choices may be under way at once; 8 by default. */
  readonly thinkers?: number;
  /** What an error in `choose` costs: the match (`resign`), the time on its clock (`wait`), or the run (`raise`). */
  readonly onError?: OnError;
  /** How long to wait for a server that was never reached, in ms; 10 s by default. A lost one is tried for ever. */
  readonly patienceMs?: number;
  /** The invitation to register with, where one is needed. */
  readonly invitation?: string | undefined;
  /** Stops the bot when it is aborted. */
  readonly signal?: AbortSignal;
  /** Functions of the program for its metrics and logs. */
  readonly hooks?: Hooks;
  /** The log; by default everything but details goes to standard error. */
  readonly log?: Log;
}

/**
 * Plays a bot until so many `matches` have ended, or the signal is aborted; returns once all acts are sent and the
 * stream has ended.
 *
 * Throws ArbiterError if the server refuses the bot (SESSION_SUPERSEDED: the same player plays elsewhere), and before
 * anything is sent if one of its time controls is none (PARAMETER_INVALID);
 * ConnectionFailed, CredentialsError, BotFailed.
 */
export function play<Memory extends object>(bot: Bot<Memory>, options: PlayOptions = {}): Promise<void> {
  return playAs(bot, options);
}

/** Plays a bot as `play` does; with `told`, which gets the end of each match, it looks for no other matches. */
export async function playAs<Memory extends object>(
  bot: Bot<Memory>,
  options: PlayOptions,
  told?: (finished: FinishedMatch<Memory>) => void,
): Promise<void> {
  const {
    signal,
    thinkers = 8,
    onError = "resign",
    matches,
    hooks = {},
    log = hooks.log ?? stderrLog(),
  } = options;
  checkControls(bot);
  const name = options.name || process.env.ARBITER_NAME || bot.name;
  const client = new Client({ patienceMs: 10_000, ...options, name, log });
  client.connection.onWait = saysItWaits(log, client.connection.patienceMs);
  const stopped = aborted(signal);
  try {
    await Promise.race([client.enrol(name, options.invitation), stopped]);
    if (signal?.aborted) return;
    const alone = told ? { games: [], seeks: false, tournaments: false } : {};
    const introduced = { ...introduction(bot), ...alone };
    const assignment = { connection: client.connection.options, introduction: introduced };
    const thread = startSession(assignment, {
      item: (item, receivedMs) => runner.take(item, receivedMs),
      log,
      connected: (server, player) => {
        client.connection.greet();
        call(log, "connected", () => hooks.connected?.(server, player));
      },
      disconnected: (server, error) => {
        client.connection.isUp = false;
        call(log, "disconnected", () => hooks.disconnected?.(server, error));
      },
    });
    const runner = new BotRunner(bot, client, thread, { onError, thinkers, matches, hooks, told }, log);
    try {
      await Promise.race([thread.ended, runner.outcome.catch(() => {}), stopped]);
      runner.close();
      await farewell(runner, thread);
      await Promise.race([runner.outcome, undefined]); // throws what the run ended with, if it did
    } finally {
      runner.close();
      await thread.close();
    }
  } finally {
    client.close();
  }
}

/** Withdraws the bot's seeks, sends its last acts, and waits until the server ends the stream too. */
async function farewell<Memory extends object>(
  runner: BotRunner<Memory>,
  thread: PlayingSession,
): Promise<void> {
  await Promise.race([runner.withdraw(), sleep(WITHDRAWAL_WAIT_MS, undefined, { ref: false })]);
  thread.stop();
  await Promise.race([thread.ended.catch(() => {}), sleep(FAREWELL_WAIT_MS, undefined, { ref: false })]);
}

/** Plays a bot as `play` does, until it is done, or told to stop by SIGINT (Ctrl-C) or SIGTERM. */
export async function run<Memory extends object>(
  bot: Bot<Memory>,
  options: Omit<PlayOptions, "signal"> = {},
): Promise<void> {
  const told = new AbortController();
  const stop = () => told.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    await play(bot, { ...options, signal: told.signal });
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

/** Throws the arbiter's refusal for what is no time control: with it, the bot would wait for a match in vain. */
function checkControls({ timeControls, seeks }: Bot<never>): void {
  if (typeof timeControls === "string") {
    const allowed = `a list of them: ["${timeControls}"]`;
    throw invalidSetting(
      timeControls,
      "timeControls",
      allowed,
      `timeControls is no list: expected ${allowed}`,
    );
  }
  for (const text of [...timeControls, ...seeks.flatMap(({ timeControl }) => timeControl || [])])
    canonical(text);
}

/** Returns the profile of the bot. */
function introduction(bot: Bot<never>): Introduction {
  return {
    protocolVersion: PROTOCOL_VERSION,
    software: SOFTWARE,
    softwareVersion: SOFTWARE_VERSION,
    botName: bot.name,
    botVersion: bot.version,
    capabilities: ["ready", ...bot.capabilities], // the client says when the bot is ready for a match
    games: [...bot.games],
    mostMatches: bot.mostMatches,
    extras: bot.extras,
    seeks: bot.acceptSeeks,
    tournaments: bot.enterTournaments,
  };
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}
