/** The connection to a server: address, transport security, token, and the calls. */

import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
  create,
  type DescMessage,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  Client as Channel,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientUnaryCall,
  connectivityState,
  credentials,
  type CallOptions as GrpcOptions,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { Addresses, Tries } from "./addresses.js";
import { ArbiterError, ConnectionFailed, CredentialsError, fromRpc, mayPass, wasAway } from "./errors.js";
import { ServerService } from "./generated/arbiter/v1/server_pb.js";

const LARGEST_MESSAGE_BYTES = 64 * 1024 * 1024;

/**
 * Transport security, from PEM files.
 *
 * Without a root certificate, the system's are used. A client certificate is given together with its key (mTLS).
 */
export interface Tls {
  readonly rootCertificate?: string | undefined;
  readonly clientCertificate?: string | undefined;
  readonly clientKey?: string | undefined;
}

/** What a connection is made from; plain data, so that it may cross to another thread. */
export interface ConnectionOptions {
  /** Of one arbiter, each HOST:PORT; the first is tried first. */
  readonly addresses: readonly string[];
  /** Empty for none. */
  readonly token: string;
  readonly tls?: Tls | undefined;
  /** How long one call may take, in ms. */
  readonly timeoutMs: number;
  /** How long a server that can't be reached is tried, in ms. */
  readonly patienceMs: number;
}

/** Returns the transport security that the environment names; undefined for none. */
export function environmentTls(): Tls | undefined {
  const { ARBITER_ROOT_CERTIFICATE, ARBITER_CLIENT_CERTIFICATE, ARBITER_CLIENT_KEY } = process.env;
  const tls = {
    rootCertificate: ARBITER_ROOT_CERTIFICATE || undefined,
    clientCertificate: ARBITER_CLIENT_CERTIFICATE || undefined,
    clientKey: ARBITER_CLIENT_KEY || undefined,
  };
  return Object.values(tls).some(Boolean) ? tls : undefined;
}

/** How one call is made. */
export interface CallOptions {
  /** Ends the call when it is aborted: its promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The connection to one arbiter, at one of its addresses at a time, with a token for every call. The first call opens
 * it.
 */
export class Connection {
  readonly addresses: Addresses;
  readonly timeoutMs: number;
  readonly patienceMs: number;
  readonly tls: Tls | undefined;
  /** The token that goes with every call; empty for none. */
  token: string;
  /** How many calls have failed because the arbiter was away or busy. */
  outages = 0;
  /** Whether the bot's stream has been greeted, and has not ended. */
  isUp = false;
  /** Called with the reason why a call waits. */
  onWait: (error: ConnectionFailed) => void = () => {};
  readonly #channels = new Map<string, Channel>();
  readonly #credentials: ReturnType<typeof security>;
  readonly #calls = new Set<ClientUnaryCall>();
  readonly #closed = new AbortController();
  #greeting = new AbortController();

  /** Throws CredentialsError for a certificate that can't be used. */
  constructor(options: ConnectionOptions) {
    this.addresses = new Addresses(options.addresses);
    this.token = options.token;
    this.tls = options.tls;
    this.timeoutMs = options.timeoutMs;
    this.patienceMs = options.patienceMs;
    this.#credentials = security(options.tls);
    setMaxListeners(0, this.#closed.signal); // as many as there are calls that wait to be tried again
  }

  /** The address in use, HOST:PORT. */
  get address(): string {
    return this.addresses.current;
  }

  /** What this connection is made from; the address in use comes first. */
  get options(): ConnectionOptions {
    const { address, token, tls, timeoutMs, patienceMs } = this;
    return { addresses: [address, ...this.addresses.after(address)], token, tls, timeoutMs, patienceMs };
  }

  /** Aborted when the next Play stream begins. */
  get greeting(): AbortSignal {
    return this.#greeting.signal;
  }

  /** Notes that a Play stream has begun: whoever waits for the arbiter waits no longer. */
  greet(): void {
    this.isUp = true;
    for (const [address, channel] of this.#channels) {
      // One that could not connect tries again after a pause of its own, of up to 2 s.
      if (channel.getChannel().getConnectivityState(false) !== connectivityState.TRANSIENT_FAILURE) continue;
      this.#channels.delete(address);
      channel.close();
    }
    const greeted = this.#greeting;
    this.#greeting = new AbortController();
    greeted.abort();
  }

  /**
   * Pauses after an error, but no longer than until a Play stream begins, since a clock may run from then on; it pauses
   * longer where the arbiter is there, and asks for the pause.
   *
   * `greeting` is that of before the attempt that failed. The pause ends too with the connection and with `signal`.
   */
  async rest(ms: number, greeting: AbortSignal, error: unknown, signal?: AbortSignal): Promise<void> {
    const asked = error instanceof ArbiterError && error.code !== "UNAVAILABLE";
    const ends = [this.#closed.signal, ...(asked ? [] : [greeting]), ...(signal ? [signal] : [])];
    await sleep(ms, undefined, { signal: AbortSignal.any(ends) }).catch(() => {});
  }

  /** The channel to the address in use. */
  get #channel(): Channel {
    const { address } = this;
    const channel = this.#channels.get(address) ?? this.#open(address);
    this.#channels.set(address, channel);
    return channel;
  }

  #open(address: string): Channel {
    return new Channel(address, this.#credentials, {
      "grpc.max_receive_message_length": LARGEST_MESSAGE_BYTES,
      "grpc.max_send_message_length": LARGEST_MESSAGE_BYTES,
      "grpc.keepalive_time_ms": 30_000,
      "grpc.keepalive_timeout_ms": 10_000,
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 2_000,
      "grpc.enable_http_proxy": /^(127\.|localhost:|\[::1\]:)/.test(address) ? 0 : 1,
      // Bots of one process must not share a connection: one slow reader would delay the others.
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  /**
   * Makes a call that is answered once: `ask(MatchService.method.resign, { matchId, requestId })`.
   *
   * It is sent again for `patienceMs`, and to each address at least once, while the server can't be reached, unless `again` is false: say so for a request
   * that must not be carried out twice, and carries no id. Throws ArbiterError, ConnectionFailed, the signal's reason.
   */
  ask<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    { again = true, signal }: CallOptions & { readonly again?: boolean } = {},
  ): Promise<MessageShape<O>> {
    return this.#patiently(() => this.#once(method, request, signal), again, signal);
  }

  /** Makes a call that reads, and is answered by a stream that ends; returns all its messages. Otherwise as `ask`. */
  collect<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    { signal }: CallOptions = {},
  ): Promise<MessageShape<O>[]> {
    const work = async () => {
      const found: MessageShape<O>[] = [];
      const call = this.stream(method, request, this.timeoutMs);
      const parts: AsyncIterable<MessageShape<O>> = ended(call, signal);
      for await (const part of parts) found.push(part);
      return found;
    };
    return this.#patiently(work, true, signal);
  }

  /** Makes a call that is answered by a stream, within `timeoutMs` if that is given. Errors are gRPC's own. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    timeoutMs = Number.POSITIVE_INFINITY,
  ): ClientReadableStream<MessageShape<O>> {
    const { path, encode, decode } = codec(method);
    const message = create(method.input, request);
    const options = deadline(timeoutMs);
    return this.#kept(
      this.#channel.makeServerStreamRequest(path, encode, decode, message, this.#metadata(), options),
    );
  }

  /** Opens a stream in both directions. Errors are gRPC's own. */
  duplex<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
  ): ClientDuplexStream<MessageShape<I>, MessageShape<O>> {
    const { path, encode, decode } = codec(method);
    return this.#kept(this.#channel.makeBidiStreamRequest(path, encode, decode, this.#metadata()));
  }

  /** Closes the channel for good; calls under way end. */
  close(): void {
    this.#closed.abort();
    for (const call of this.#calls) call.cancel();
    for (const channel of this.#channels.values()) channel.close();
  }

  /**
   * Does work that is a call; with `again`, tries again for `patienceMs` while the server can't be reached or refuses
   * for now. `wanted` says when nobody wants the answer any more.
   */
  async #patiently<T>(work: () => Promise<T>, again: boolean, wanted?: AbortSignal): Promise<T> {
    const giveUpMs = performance.now() + this.patienceMs;
    const tries = new Tries(this.addresses);
    if (!again) await this.#find(wanted);
    const closed = this.#closed.signal;
    for (;;) {
      wanted?.throwIfAborted();
      const { address, greeting } = this;
      try {
        return await work();
      } catch (failure) {
        wanted?.throwIfAborted();
        const error = fromRpc(failure, address);
        if (wasAway(error)) this.outages += 1;
        const pauseMs = tries.failedMs(address, error);
        if (!again || closed.aborted || !mayPass(error)) throw error;
        if (pauseMs === 0) continue;
        if (performance.now() + pauseMs > giveUpMs) throw tries.allFailed(error);
        if (error instanceof ConnectionFailed) this.onWait(error);
        await this.rest(pauseMs, greeting, error, wanted);
        if (closed.aborted) throw error;
      }
    }
  }

  /** Makes an address current that answers, before a request that is not repeated. */
  async #find(signal: AbortSignal | undefined): Promise<void> {
    if (this.addresses.listed.length === 1) return;
    await this.ask(ServerService.method.getServerInfo, {}, { signal }).catch((error: unknown) => {
      if (!(error instanceof ArbiterError)) throw error;
    });
  }

  #once<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal | undefined,
  ): Promise<MessageShape<O>> {
    const { path, encode, decode } = codec(method);
    const message = create(method.input, request);
    return new Promise((resolve, reject) => {
      const answer = (error: ServiceError | null, value?: MessageShape<O>) =>
        error || value === undefined ? reject(error) : resolve(value);
      const options = deadline(this.timeoutMs);
      const call = this.#channel.makeUnaryRequest(
        path,
        encode,
        decode,
        message,
        this.#metadata(),
        options,
        answer,
      );
      ended(this.#kept(call), signal);
    });
  }

  /** Keeps a call for as long as it is under way, so that `close` can end it. */
  #kept<C extends ClientUnaryCall>(call: C): C {
    this.#calls.add(call);
    call.on("status", () => this.#calls.delete(call));
    return call;
  }

  #metadata(): Metadata {
    const metadata = new Metadata();
    if (this.token) metadata.set("authorization", `Bearer ${this.token}`);
    return metadata;
  }
}

/** Returns a call that ends when a signal is aborted. */
export function ended<C extends ClientUnaryCall>(call: C, signal: AbortSignal | undefined): C {
  if (!signal) return call;
  const cancel = () => call.cancel();
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  call.on("status", () => signal.removeEventListener("abort", cancel));
  return call;
}

function deadline(timeoutMs: number): GrpcOptions {
  return Number.isFinite(timeoutMs) ? { deadline: Date.now() + timeoutMs } : {};
}

/** Returns what gRPC needs to make a call of a method. */
function codec<I extends DescMessage, O extends DescMessage>(method: {
  parent: { typeName: string };
  name: string;
  input: I;
  output: O;
}) {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    encode: (message: MessageShape<I>) => Buffer.from(toBinary(method.input, message)),
    decode: (bytes: Buffer) => fromBinary(method.output, bytes),
  };
}

function security(tls: Tls | undefined) {
  if (!tls) return credentials.createInsecure();
  if (!tls.clientCertificate !== !tls.clientKey) {
    throw new CredentialsError("a client certificate and its key go together: give both, or neither");
  }
  try {
    return credentials.createSsl(pem(tls.rootCertificate), pem(tls.clientKey), pem(tls.clientCertificate));
  } catch (error) {
    throw error instanceof CredentialsError
      ? error
      : new CredentialsError(`the certificates can't be used: ${(error as Error).message}`);
  }
}

function pem(path: string | undefined): Buffer | null {
  if (!path) return null;
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    throw new CredentialsError(`can't read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
  if (!content.includes("-----BEGIN ")) throw new CredentialsError(`${path} is no PEM file`);
  return content;
}
