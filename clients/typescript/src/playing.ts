/** Playing a bot: `run` for programs that are nothing but a bot, `play` for others. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Bot } from "./bot.js";
import type { Tls } from "./channel.js";
import { Client } from "./client.js";
import { type Log, saysItWaits, stderrLog } from "./log.js";
import { BotRunner, type OnError } from "./runner.js";
import type { Introduction } from "./session.js";
import { SessionThread } from "./thread.js";
import { PROTOCOL_VERSION, SOFTWARE, SOFTWARE_VERSION } from "./version.js";

/** The time limit for the server to end the stream after the bot, in ms. */
const FAREWELL_WAIT_MS = 5_000;

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
  readonly tls?: Tls | undefined;
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
  /** The log; by default everything but details goes to standard error. */
  readonly log?: Log;
}

/**
 * Plays a bot until so many `matches` have ended, or the signal is aborted; returns once all acts are sent and the
 * stream has ended.
 *
 * Throws ArbiterError if the server refuses the bot (SESSION_SUPERSEDED: the same player plays elsewhere),
 * ConnectionFailed, CredentialsError, BotFailed.
 */
export async function play(bot: Bot, options: PlayOptions = {}): Promise<void> {
  const { signal, thinkers = 8, onError = "resign", matches, log = stderrLog() } = options;
  const name = options.name || process.env.ARBITER_NAME || bot.name;
  const client = new Client({ patienceMs: 10_000, ...options, name, log });
  client.connection.onWait = saysItWaits(log, client.connection.patienceMs);
  const stopped = aborted(signal);
  try {
    await Promise.race([client.enrol(name, options.invitation), stopped]);
    if (signal?.aborted) return;
    const assignment = { connection: client.connection.options, introduction: introduction(bot) };
    const thread = new SessionThread(assignment, (item, receivedMs) => runner.take(item, receivedMs), log);
    const runner = new BotRunner(bot, client, thread, { onError, thinkers, matches }, log);
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
async function farewell(runner: BotRunner, thread: SessionThread): Promise<void> {
  const withdrawn = runner.withdraw();
  thread.stop();
  const said = Promise.all([withdrawn, thread.ended.catch(() => {})]);
  await Promise.race([said, sleep(FAREWELL_WAIT_MS, undefined, { ref: false })]);
}

/** Plays a bot as `play` does, until it is done, or told to stop by SIGINT (Ctrl-C) or SIGTERM. */
export async function run(bot: Bot, options: Omit<PlayOptions, "signal"> = {}): Promise<void> {
  const told = new AbortController();
  const stop = () => told.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    await play(bot, { ...options, signal: told.signal });
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

/** Returns the profile of the bot. */
function introduction(bot: Bot): Introduction {
  return {
    protocolVersion: PROTOCOL_VERSION,
    software: SOFTWARE,
    softwareVersion: SOFTWARE_VERSION,
    botName: bot.name,
    botVersion: bot.version,
    capabilities: [...bot.capabilities],
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
