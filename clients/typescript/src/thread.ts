/** Where a session runs: in a thread of its own, or in a bundle in the bot's. */

import { once } from "node:events";
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { Connection, type ConnectionOptions } from "./channel.js";
import { ArbiterError, type ClientError, ConnectionFailed } from "./errors.js";
import type { PlayAct, PlayItem } from "./generated/arbiter/v1/play_pb.js";
import { type Level, type Log, saysItWaits } from "./log.js";
import { type Introduction, Session } from "./session.js";

/** What the thread is started with. */
export interface Assignment {
  readonly connection: ConnectionOptions;
  readonly introduction: Introduction;
}

/** A message to the thread. */
export type Order =
  | { readonly kind: "request"; readonly act: PlayAct }
  | { readonly kind: "say"; readonly act: PlayAct }
  | { readonly kind: "stop" };

/** A message from the thread. */
export type Report =
  | { readonly kind: "item"; readonly item: PlayItem; readonly receivedMs: number }
  | { readonly kind: "log"; readonly level: Level; readonly text: string }
  | { readonly kind: "connected"; readonly server: string; readonly player: string }
  | { readonly kind: "disconnected"; readonly server: string; readonly error: ErrorData }
  | { readonly kind: "end"; readonly error: ErrorData | undefined };

/** An error of this package as plain data: classes do not cross threads. */
export type ErrorData =
  | (Pick<ArbiterError, "reason" | "message" | "code" | "facts"> & { readonly cause: string })
  | { readonly message: string; readonly cause: string };

/** Returns an error as plain data. */
export function errorData(error: ClientError): ErrorData {
  const cause = error.cause instanceof Error ? error.cause.message : "";
  if (!(error instanceof ArbiterError)) return { message: error.message, cause };
  const { reason, message, code, facts } = error;
  return { reason, message, code, facts, cause };
}

/** What a session tells. */
export interface Told {
  readonly item: (item: PlayItem, receivedMs: number) => void;
  readonly log: Log;
  readonly connected: (server: string, player: string) => void;
  readonly disconnected: (server: string, error: ClientError) => void;
}

/** A session of a bot, wherever it runs. `ended` is settled as `Session.run` is. */
export interface PlayingSession {
  readonly ended: Promise<void>;
  /** Sends an act that will be answered, and sends it again until then. */
  request(act: PlayAct): void;
  /** Sends an act that is not answered. */
  say(act: PlayAct): void;
  /** Sends the last acts and ends the session; `ended` tells when the server has ended it too. */
  stop(): void;
  /** Ends it at once. */
  close(): Promise<void>;
}

/** Whether sessions shall have threads: tests of what is alike without one save its start, which loads all modules. */
export const threads = { wanted: true };

/** Returns a session and its connection. */
export function sessionOf(
  { connection, introduction }: Assignment,
  told: Told,
): { session: Session; channel: Connection } {
  const channel = new Connection(connection);
  channel.onWait = saysItWaits(told.log, connection.patienceMs);
  const { item, log, connected, disconnected } = told;
  return { session: new Session(channel, introduction, item, log, connected, disconnected), channel };
}

/**
 * Starts a session: in a thread of its own, if its file stands beside this one, so that pings are answered while the
 * bot computes. In a program of one file, as bundlers make it, the session runs in the bot's own thread.
 */
export function startSession(assignment: Assignment, told: Told): PlayingSession {
  const file = workerFile();
  if (file && threads.wanted) return new SessionThread(file, assignment, told);
  if (!file)
    told.log("debug", "this program is one file: pings are answered only while the bot lets other work run");
  return new SessionHere(assignment, told);
}

/** Returns the file of the thread; undefined in a bundle. */
function workerFile(): URL | undefined {
  const here: string | undefined = import.meta.url; // a bundle of CommonJS has none
  if (!here) return undefined;
  const file = new URL("./session_worker.js", here);
  return existsSync(file) ? file : undefined;
}

/** A session in the bot's own thread. */
class SessionHere implements PlayingSession {
  readonly ended: Promise<void>;
  readonly #session: Session;
  readonly #channel: Connection;

  constructor(assignment: Assignment, told: Told) {
    const { session, channel } = sessionOf(assignment, told);
    this.#session = session;
    this.#channel = channel;
    this.ended = session.run();
    this.ended.catch(() => {}); // whoever plays the bot reads it, perhaps later
  }

  request(act: PlayAct): void {
    this.#session.outbox.request(act);
  }

  say(act: PlayAct): void {
    this.#session.outbox.say(act);
  }

  stop(): void {
    this.#session.stop();
  }

  async close(): Promise<void> {
    this.#session.stop();
    this.#channel.close();
  }
}

/** A session in a thread of its own. */
class SessionThread implements PlayingSession {
  readonly ended: Promise<void>;
  readonly #worker: Worker;

  constructor(file: URL, assignment: Assignment, told: Told) {
    this.#worker = new Worker(file, { workerData: assignment });
    this.ended = new Promise((resolve, reject) => {
      this.#worker.on("message", (report: Report) => {
        if (report.kind === "item") told.item(report.item, report.receivedMs);
        else if (report.kind === "log") told.log(report.level, report.text);
        else if (report.kind === "connected") told.connected(report.server, report.player);
        else if (report.kind === "disconnected") told.disconnected(report.server, errorOf(report.error));
        else if (report.error === undefined) resolve();
        else reject(errorOf(report.error));
      });
      this.#worker.on("error", reject); // an error of the client itself must not get lost
    });
  }

  request(act: PlayAct): void {
    this.#order({ kind: "request", act });
  }

  say(act: PlayAct): void {
    this.#order({ kind: "say", act });
  }

  stop(): void {
    this.#order({ kind: "stop" });
  }

  async close(): Promise<void> {
    const exit = once(this.#worker, "exit");
    await this.#worker.terminate();
    await exit.catch(() => {});
  }

  #order(order: Order): void {
    this.#worker.postMessage(order);
  }
}

function errorOf(data: ErrorData): ClientError {
  const options = data.cause ? { cause: new Error(data.cause) } : undefined;
  if ("reason" in data) return new ArbiterError(data.reason, data.message, data.code, data.facts, options);
  return new ConnectionFailed(data.message, options);
}
