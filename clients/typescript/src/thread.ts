/** The session in a thread of its own, so that pings are answered while the bot computes. */

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { ConnectionOptions } from "./channel.js";
import { ArbiterError, type ClientError, ConnectionFailed } from "./errors.js";
import type { PlayAct, PlayItem } from "./generated/arbiter/v1/play_pb.js";
import type { Level, Log } from "./log.js";
import type { Introduction } from "./session.js";

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

/** A session in a thread. `ended` is settled as `Session.run` is. */
export class SessionThread {
  readonly ended: Promise<void>;
  readonly #worker: Worker;

  constructor(
    assignment: Assignment,
    private readonly tell: (item: PlayItem, receivedMs: number) => void,
    private readonly log: Log,
  ) {
    this.#worker = new Worker(new URL("./session_worker.js", import.meta.url), { workerData: assignment });
    this.ended = new Promise((resolve, reject) => {
      this.#worker.on("message", (report: Report) => {
        if (report.kind === "item") this.tell(report.item, report.receivedMs);
        else if (report.kind === "log") this.log(report.level, report.text);
        else if (report.error === undefined) resolve();
        else reject(errorOf(report.error));
      });
      this.#worker.on("error", reject); // an error of the client itself must not get lost
    });
  }

  /** Sends an act that will be answered, and sends it again until then. */
  request(act: PlayAct): void {
    this.#order({ kind: "request", act });
  }

  /** Sends an act that is not answered. */
  say(act: PlayAct): void {
    this.#order({ kind: "say", act });
  }

  /** Sends the last acts and ends the session; `ended` tells when the server has ended it too. */
  stop(): void {
    this.#order({ kind: "stop" });
  }

  /** Ends the thread at once. */
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
