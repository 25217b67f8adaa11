/** The Play stream: connect, send the hello, answer pings, reconnect after a lost connection. */

import { setTimeout as sleep } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ClientDuplexStream } from "@grpc/grpc-js";
import { Tries } from "./addresses.js";
import type { Connection } from "./channel.js";
import { ArbiterError, type ClientError, ConnectionFailed, fromRefusal, fromRpc, PASSING } from "./errors.js";
import type { MoveAnswer } from "./generated/arbiter/v1/match_pb.js";
import {
  ClientHelloSchema,
  PlayActSchema,
  type PlayItem,
  type PlayRequest,
  type PlayResponse,
  PlayService,
  type ServerHello,
} from "./generated/arbiter/v1/play_pb.js";
import type { Log } from "./log.js";
import { Outbox } from "./outbox.js";
import { monotonicMs } from "./values.js";

/** How long the server's hello may take, in ms. */
const HELLO_WAIT_MS = 10_000;
/** The pause before the same request after a refusal that names none, in ms. */
const RETRY_MS = 500;

/** The bot's description in its hello. */
export type Introduction = MessageInitShape<typeof ClientHelloSchema>;

type Call = ClientDuplexStream<PlayRequest, PlayResponse>;

/**
 * A bot's session: one stream after another, until it is stopped or the server does not want it.
 *
 * Once all addresses have failed, the first connection is tried again for the connection's patience; one that is lost
 * is tried again until it is back. `tell` gets every item that the session does not handle itself, and when it arrived
 * (`monotonicMs`).
 */
export class Session {
  readonly outbox = new Outbox();
  readonly #tries: Tries;
  readonly #stopped = new AbortController();
  #silenceMs = HELLO_WAIT_MS;
  #met = false;
  #up = false; // between a hello and the end of its stream
  #lostMs: number | undefined; // when the connection was lost; undefined while there is one
  #notice: ArbiterError | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly introduction: Introduction,
    private readonly tell: (item: PlayItem, receivedMs: number) => void,
    private readonly log: Log,
    private readonly connected: (server: string, player: string) => void,
    private readonly disconnected: (server: string, error: ClientError) => void,
  ) {
    this.#tries = new Tries(connection.addresses);
  }

  /** Plays until `stop`. Throws ArbiterError if the server ends the session finally, ConnectionFailed. */
  async run(): Promise<void> {
    let giveUpMs = Number.POSITIVE_INFINITY;
    for (;;) {
      const { address } = this.connection;
      const error = await this.#oneStream(address);
      if (this.#stopping) return;
      if (this.#up) this.disconnected(address, error);
      this.#up = false;
      if (error instanceof ArbiterError && !passes(error)) throw error;
      const pauseMs = this.#tries.failedMs(address, error);
      if (this.#met) this.#lose(address, pauseMs, error);
      else if (pauseMs > 0) {
        const nowMs = monotonicMs();
        giveUpMs = Math.min(giveUpMs, nowMs + this.connection.patienceMs);
        if (nowMs + pauseMs > giveUpMs) throw this.#tries.allFailed(error);
        this.connection.onWait(error);
      }
      await sleep(pauseMs, undefined, { signal: this.#stopped.signal }).catch(() => {});
      if (this.#stopping && this.outbox.settled) return;
    }
  }

  /** Sends the last acts and ends the stream; `run` returns once the server has ended it too. */
  stop(): void {
    this.#stopped.abort();
    this.outbox.close();
  }

  get #stopping(): boolean {
    return this.#stopped.signal.aborted;
  }

  /** Logs an outage: once when the connection is lost, and later attempts as details. */
  #lose(address: string, pauseMs: number, error: Error): void {
    if (this.#lostMs === undefined) {
      this.#lostMs = monotonicMs();
      this.log(
        "warning",
        `the connection to ${address} is lost, trying again: ${error.message.split(": ")[0]}`,
      );
    }
    const next = `trying again at ${this.connection.address} in ${Math.round(pauseMs)} ms`;
    this.log("debug", `${next}: ${error.message}`);
  }

  /** Holds one stream for as long as it lasts, and returns why it ended. */
  async #oneStream(address: string): Promise<ArbiterError | ConnectionFailed> {
    this.#notice = undefined;
    this.#silenceMs = HELLO_WAIT_MS;
    const call = this.connection.duplex(PlayService.method.play);
    this.#write(call);
    try {
      await this.#read(call, address);
      return this.#notice ?? new ConnectionFailed(`the arbiter at ${address} ended the stream`);
    } catch (failure) {
      const error = failure instanceof ConnectionFailed ? failure : fromRpc(failure, address);
      const isRefusal = error instanceof ArbiterError && error.reason !== "UNKNOWN";
      return isRefusal ? error : (this.#notice ?? error);
    } finally {
      this.outbox.onReady = () => {};
      call.cancel();
    }
  }

  /** Reads a stream to its end. Throws gRPC's error, or ConnectionFailed if nothing has been heard for too long. */
  async #read(call: Call, address: string): Promise<void> {
    let watchdog: NodeJS.Timeout | undefined;
    const ended = new Promise<void>((resolve, reject) => {
      const listen = () => {
        clearTimeout(watchdog);
        const text = `the arbiter at ${address} has been silent for ${this.#silenceMs} ms`;
        watchdog = setTimeout(() => reject(new ConnectionFailed(text)), this.#silenceMs);
      };
      call.on("error", reject).on("end", resolve);
      call.on("data", (response: PlayResponse) => {
        const receivedMs = monotonicMs();
        for (const item of response.items) this.#take(item, receivedMs);
        listen();
      });
      listen();
    });
    await ended.finally(() => clearTimeout(watchdog));
  }

  #take(item: PlayItem, receivedMs: number): void {
    const { case: arm, value } = item.item;
    if (arm === "ping") {
      const act = { case: "pong", value: { number: value.number } } as const;
      this.outbox.say(create(PlayActSchema, { act }), true);
      return;
    }
    if (arm === "notice") {
      this.#notice = fromRefusal(value);
      this.log("info", `the arbiter is about to end the stream: ${this.#notice.message}`);
      return;
    }
    if (arm === "answer" && this.#isPutOff(value)) return;
    if (arm === "hello") this.#meet(value);
    if (arm === "answer") this.outbox.answered(value.requestId);
    if (arm === "ended") this.outbox.ended(value.matchId);
    this.tell(item, receivedMs);
  }

  #meet(hello: ServerHello): void {
    this.#silenceMs = timeout(Number(hello.silenceMostMs) || HELLO_WAIT_MS);
    this.#met = true;
    this.#up = true;
    const line = `connected to ${this.connection.address} as ${hello.player}`;
    if (this.#lostMs === undefined) this.log("info", line);
    else this.log("warning", `${line} again, after ${((monotonicMs() - this.#lostMs) / 1000).toFixed(1)} s`);
    this.#lostMs = undefined;
    this.connected(this.connection.address, hello.player);
    this.#tries.reset();
    this.outbox.release();
  }

  /** Returns whether a request is only refused for now; it is then sent again later, as it is. */
  #isPutOff({ requestId, answer }: MoveAnswer): boolean {
    if (answer.case !== "refusal") return false;
    const refusal = fromRefusal(answer.value);
    if (!refusal.temporary) return false;
    this.log("debug", `put off: ${refusal.message}`);
    setTimeout(() => this.outbox.again(requestId), timeout(refusal.retryAfterMs || RETRY_MS)).unref();
    return true;
  }

  /** Sends the hello, and then all acts, as long as the stream lasts. */
  #write(call: Call): void {
    let busy = false;
    const flush = () => {
      if (busy) return;
      const request = this.outbox.take();
      if (request) {
        busy = true;
        call.write(request, (error: unknown) => {
          busy = Boolean(error); // a stream that is over takes nothing more, and its reader knows why
          flush();
        });
      } else if (this.outbox.done) {
        busy = true;
        call.end();
      }
    };
    this.outbox.onReady = flush;
    this.outbox.hold(create(ClientHelloSchema, this.introduction));
  }
}

/** Returns whether a new stream may do better than the one that ended with this error. */
function passes(error: ArbiterError): boolean {
  // What is too large once is too large again, as it would be sent again.
  const final = error.reason === "SESSION_SUPERSEDED" || error.reason === "MESSAGE_TOO_LARGE";
  return !final && PASSING.includes(error.code);
}

/** Returns a pause that a timer of Node can keep, in ms. */
function timeout(ms: number): number {
  return Math.min(ms, 2 ** 31 - 1);
}
