/** What the bot says on its stream: in order, together where it is ready together, and until it is answered. */

import { create } from "@bufbuild/protobuf";
import {
  type ClientHello,
  type PlayAct,
  PlayActSchema,
  type PlayRequest,
  PlayRequestSchema,
} from "./generated/arbiter/v1/play_pb.js";

/**
 * Acts on their way to the server.
 *
 * A request keeps its id and is sent again on every new stream until its answer arrives; a pong or an acknowledgement
 * is said once. Between `hold` and `release` only the hello goes out. `onReady` is called when there is something to
 * take, or when there will be nothing any more.
 */
export class Outbox {
  onReady: () => void = () => {};
  #urgent: PlayAct[] = [];
  #queue: PlayAct[] = [];
  readonly #unanswered = new Map<string, PlayAct>();
  #held = true;
  #closed = false;

  /** Begins a new stream: says hello, and nothing else until `release`. */
  hold(hello: ClientHello): void {
    this.#held = true;
    this.#queue = [];
    this.#urgent = [create(PlayActSchema, { act: { case: "hello", value: hello } })];
    this.onReady();
  }

  /** Goes on after the server's hello: what has not been answered goes out again, in its old order. */
  release(): void {
    this.#held = false;
    this.#queue = [...this.#unanswered.values()];
    this.onReady();
  }

  /** Sends an act that will be answered, under the request id that it has. */
  request(act: PlayAct): void {
    this.#unanswered.set(act.requestId, act);
    this.#push(act);
    this.onReady();
  }

  /** Sends an act that is not answered, `atOnce` before all others; a stream that breaks forgets it. */
  say(act: PlayAct, atOnce = false): void {
    if (atOnce) this.#urgent.push(act);
    else this.#push(act);
    this.onReady();
  }

  /** Takes an act off the list of those that wait for an answer. */
  answered(requestId: string): void {
    this.#unanswered.delete(requestId);
  }

  /** Takes everything that is about a match off that list: it has ended. */
  ended(matchId: string): void {
    for (const act of this.#unanswered.values()) if (act.matchId === matchId) this.answered(act.requestId);
  }

  /** Sends an act again that still waits for its answer. */
  again(requestId: string): void {
    const act = this.#unanswered.get(requestId);
    if (act && !this.#queue.includes(act)) this.#push(act);
    this.onReady();
  }

  /** Says that nothing more will come: `done` is true once everything has been taken. */
  close(): void {
    this.#closed = true;
    this.onReady();
  }

  /** Whether it is closed and everything has been taken. */
  get done(): boolean {
    return this.#closed && !this.#held && this.#urgent.length + this.#queue.length === 0;
  }

  /** Whether nothing waits for an answer. */
  get settled(): boolean {
    return this.#unanswered.size === 0;
  }

  /** Returns all that is ready, pongs first; undefined if there is nothing. */
  take(): PlayRequest | undefined {
    const acts = [...this.#urgent, ...this.#queue];
    this.#urgent = [];
    this.#queue = [];
    return acts.length > 0 ? create(PlayRequestSchema, { acts }) : undefined;
  }

  #push(act: PlayAct): void {
    if (!this.#held) this.#queue.push(act);
  }
}
