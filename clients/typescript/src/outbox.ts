/** The queue of the bot's acts: sent in order, in batches, and repeated until they are answered. */

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
 * is sent only once. Between `hold` and `release` only the hello is sent. `onReady` is called when there are acts to
 * take, or when there will be no more.
 */
export class Outbox {
  onReady: () => void = () => {};
  #urgent: PlayAct[] = [];
  #queue: PlayAct[] = [];
  readonly #unanswered = new Map<string, PlayAct>();
  #held = true;
  #closed = false;

  /** Begins a new stream: sends the hello, and nothing else until `release`. */
  hold(hello: ClientHello): void {
    this.#held = true;
    this.#queue = [];
    this.#urgent = [create(PlayActSchema, { act: { case: "hello", value: hello } })];
    this.onReady();
  }

  /** Continues after the server's hello: unanswered requests are sent again, in their old order. */
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

  /** Sends an act that is not answered, `atOnce` before all others; it is lost if the stream breaks. */
  say(act: PlayAct, atOnce = false): void {
    if (atOnce) this.#urgent.push(act);
    else this.#push(act);
    this.onReady();
  }

  /** Removes an act, which has been answered, from the list. */
  answered(requestId: string): void {
    this.#unanswered.delete(requestId);
  }

  /** Removes all acts about a match, which has ended, from the list. */
  ended(matchId: string): void {
    for (const act of this.#unanswered.values()) if (act.matchId === matchId) this.answered(act.requestId);
  }

  /** Sends an unanswered act again. */
  again(requestId: string): void {
    const act = this.#unanswered.get(requestId);
    if (act && !this.#queue.includes(act)) this.#push(act);
    this.onReady();
  }

  /** Takes no more acts: `done` is true once all have been taken. */
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

  /** Returns all acts to send, pongs first; undefined if there are none. */
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
