/** A scripted peer: a real gRPC server whose every word is the test's own. */

import assert from "node:assert/strict";
import {
  create,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type Metadata,
  Metadata as NewMetadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type StatusObject,
  type sendUnaryData,
} from "@grpc/grpc-js";
import type { Code, Reason } from "../src/errors.js";
import { GameService } from "../src/generated/arbiter/v1/game_pb.js";
import { MatchService } from "../src/generated/arbiter/v1/match_pb.js";
import {
  type ClientHello,
  type PlayAct,
  type PlayItemSchema,
  type PlayRequest,
  type PlayResponse,
  PlayResponseSchema,
  PlayService,
} from "../src/generated/arbiter/v1/play_pb.js";
import { PlayerService } from "../src/generated/arbiter/v1/player_pb.js";
import { RatingService } from "../src/generated/arbiter/v1/rating_pb.js";
import type { Refusal } from "../src/generated/arbiter/v1/refusal_pb.js";
import { ServerService } from "../src/generated/arbiter/v1/server_pb.js";
import { TournamentService } from "../src/generated/arbiter/v1/tournament_pb.js";
import { details, PLAYER, refusal } from "./messages.js";
import { Queue } from "./queue.js";

const SERVICES: readonly DescService[] = [
  GameService,
  MatchService,
  PlayService,
  PlayerService,
  RatingService,
  ServerService,
  TournamentService,
];

type Item = NonNullable<MessageInitShape<typeof PlayItemSchema>["item"]>;
type Acts = { [Act in PlayAct["act"] as Act["case"] & string]: NonNullable<Act["value"]> };
/** What a call of a test's peer comes to: a message, several of a stream, or a refusal. */
export type Answer = object | Refusal;

/** One Play stream, seen from the server. */
export class Stream {
  readonly acts = new Queue<PlayAct | "closed">();

  constructor(private readonly call: ServerDuplexStream<PlayRequest, PlayResponse>) {
    call.on("data", (request: PlayRequest) => {
      for (const act of request.acts) this.acts.put(act);
    });
    call.on("end", () => {
      this.acts.put("closed");
      call.end();
    });
    call.on("error", () => {});
  }

  /** The metadata that came with the call. */
  get metadata(): Metadata {
    return this.call.metadata;
  }

  /** Sends items, together. */
  say(...items: Item[]): void {
    this.call.write(create(PlayResponseSchema, { items: items.map((item) => ({ item })) }));
  }

  /** Returns the next thing that the bot says, which must be of this kind. */
  async read<Kind extends keyof Acts>(kind: Kind) {
    const act = await this.acts.get(kind);
    assert.notEqual(act, "closed", `the bot ended the stream instead of saying ${kind}`);
    const found = act as PlayAct;
    assert.equal(found.act.case, kind);
    const { requestId, matchId } = found;
    return { requestId, matchId, value: found.act.value as Acts[Kind] };
  }

  /** Waits until the bot has ended its side; anything that it says before is a failure. */
  async closed(): Promise<void> {
    assert.equal(await this.acts.get("the end"), "closed");
  }

  /** Reads the bot's hello and answers it. */
  async meet(silenceMostMs = 60_000n): Promise<ClientHello> {
    const { value } = await this.read("hello");
    this.say({ case: "hello", value: { player: PLAYER, silenceMostMs } });
    return value;
  }

  /** Says that a move was played. */
  receipt({ requestId, matchId, value }: { requestId: string; matchId: string; value?: object }): void {
    const ply = value && "ply" in value ? Number(value.ply) + 1 : 0;
    const answer = { case: "receipt", value: { requestId, matchId, ply } } as const;
    this.say({ case: "answer", value: { requestId, matchId, answer } });
  }

  /** Refuses a request. */
  refuse(
    { requestId, matchId }: { requestId: string; matchId: string },
    reason: Reason,
    code: Code,
    facts?: Record<string, string>,
  ): void {
    const answer = { case: "refusal", value: refusal(reason, code, facts) } as const;
    this.say({ case: "answer", value: { requestId, matchId, answer } });
  }

  /** Ends the stream with a refusal. */
  end(refused: Refusal): void {
    this.call.emit("error", statusOf(refused));
  }
}

/** A server that answers as the test says: `answers.GetMatch = (request) => …`; undefined is no answer, ever. */
export class Peer {
  readonly streams = new Queue<Stream>();
  readonly asked: { method: string; request: Record<string, unknown>; token: string }[] = [];
  readonly answers: Record<string, (request: never) => Answer | Answer[] | undefined> = {};
  address = "";
  readonly #server = new Server();

  /** Starts a peer on a free port of the loopback, or on the address of one that was there before. */
  static async start(
    address = "127.0.0.1:0",
    credentials = ServerCredentials.createInsecure(),
  ): Promise<Peer> {
    const peer = new Peer();
    for (const service of SERVICES)
      peer.#server.addService(definitionOf(service), peer.#implementation(service));
    const port = await new Promise<number>((resolve, reject) => {
      peer.#server.bindAsync(address, credentials, (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    peer.address = `127.0.0.1:${port}`;
    return peer;
  }

  /** Returns the next stream that a bot opens. */
  stream(): Promise<Stream> {
    return this.streams.get("a stream");
  }

  /** Returns the next stream that a bot opens, once both have said hello. */
  async met(): Promise<Stream> {
    const stream = await this.stream();
    await stream.meet();
    return stream;
  }

  /** Ends every call at once and stops listening. */
  close(): void {
    this.#server.forceShutdown();
  }

  #implementation(service: DescService) {
    const entries = service.methods.map((method) => [method.name, this.#handler(method)]);
    return Object.fromEntries(entries);
  }

  #handler({ name, methodKind, output }: DescMethod) {
    const play = (call: ServerDuplexStream<PlayRequest, PlayResponse>) => this.streams.put(new Stream(call));
    const stream = (call: ServerWritableStream<Message, Message>) => {
      const answers = this.#answer(name, call.request, call.metadata);
      if (answers === undefined) return undefined;
      for (const each of [answers].flat()) {
        if (isRefusal(each)) return call.emit("error", statusOf(each));
        call.write(create(output, each as never));
      }
      return call.end();
    };
    const unary = (call: ServerUnaryCall<Message, Message>, done: sendUnaryData<Message>) => {
      const answer = this.#answer(name, call.request, call.metadata);
      if (answer === undefined) return;
      if (isRefusal(answer)) done(statusOf(answer));
      else done(null, create(output, answer as never));
    };
    return methodKind === "bidi_streaming" ? play : methodKind === "server_streaming" ? stream : unary;
  }

  #answer(method: string, request: Message, metadata: Metadata): Answer | Answer[] | undefined {
    const token = String(metadata.get("authorization")[0] ?? "").replace("Bearer ", "");
    this.asked.push({ method, request: { ...request }, token });
    const answer = this.answers[method];
    return answer ? answer(request as never) : refusal("ARGUMENT_INVALID", "UNIMPLEMENTED");
  }
}

function isRefusal(answer: Answer | Answer[]): answer is Refusal {
  return "$typeName" in answer && answer.$typeName === "arbiter.v1.Refusal";
}

function statusOf(refused: Refusal): StatusObject & Error {
  const metadata = new NewMetadata();
  metadata.set("grpc-status-details-bin", details(refused));
  return Object.assign(new Error(refused.message), {
    code: refused.code,
    details: refused.message,
    metadata,
  });
}

function definitionOf(service: DescService): ServiceDefinition {
  const entries = service.methods.map((method) => {
    const { name, input, output, methodKind } = method;
    const definition = {
      path: `/${service.typeName}/${name}`,
      requestStream: methodKind === "bidi_streaming" || methodKind === "client_streaming",
      responseStream: methodKind === "bidi_streaming" || methodKind === "server_streaming",
      requestSerialize: (message: Message) => Buffer.from(toBinary(input, message)),
      requestDeserialize: (bytes: Buffer) => fromBinary(input, bytes),
      responseSerialize: (message: Message) => Buffer.from(toBinary(output, message)),
      responseDeserialize: (bytes: Buffer) => fromBinary(output, bytes),
    };
    return [name, definition];
  });
  return Object.fromEntries(entries);
}
