/** Errors: refusals of the arbiter, failures to reach it, and failures of the bot. */

import { fromBinary } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type Any, AnySchema, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { type Refusal, RefusalReason, RefusalSchema } from "./generated/arbiter/v1/refusal_pb.js";

/**
 * Why a request was refused; the facts of each reason are in the protocol (refusal.proto). `UNKNOWN` is newer than this
 * client, or not from the arbiter: decide by the code.
 */
export type Reason = Exclude<keyof typeof RefusalReason, "UNSPECIFIED"> | "UNKNOWN";

/** The name of a status code, such as `NOT_FOUND`. */
export type Code = keyof typeof status;

/** The base class of this package's errors. Its message is a sentence for people. */
export class ClientError extends Error {
  override name = "ClientError";
}

/** A refusal of the arbiter: a reason, a sentence for people, and facts for programs. */
export class ArbiterError extends ClientError {
  override name = "ArbiterError";

  /** decide by `code` if the reason is `UNKNOWN`; `facts` are those that the protocol lists at the reason. */
  constructor(
    readonly reason: Reason,
    message: string,
    readonly code: Code,
    readonly facts: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Whether the same request may succeed later. */
  get temporary(): boolean {
    return this.code === "UNAVAILABLE" || this.code === "RESOURCE_EXHAUSTED";
  }

  /** The pause that the arbiter asks for before the same request again, in ms; 0 if it asks for none. */
  get retryAfterMs(): number {
    const text = this.facts.retry_after_ms ?? "";
    return /^[0-9]+$/.test(text) ? Number(text) : 0;
  }
}

/** No arbiter answers; the message says where, why, and what to do. The same request may succeed later. */
export class ConnectionFailed extends ClientError {
  override name = "ConnectionFailed";
}

/** A token, certificate or credentials file can't be used; the message says which, and what to do. */
export class CredentialsError extends ClientError {
  override name = "CredentialsError";
}

/** A bot threw an error or returned something that is not a choice; the error is the `cause`. */
export class BotFailed extends ClientError {
  override name = "BotFailed";
}

/** Returns the error that a refusal describes. */
export function fromRefusal(refusal: Refusal, options?: ErrorOptions): ArbiterError {
  const { reason, message, code, facts } = refusal;
  return new ArbiterError(reasonOf(reason), message, codeOf(code), facts, options);
}

/** Returns the reason of a number of the protocol's. */
export function reasonOf(reason: RefusalReason): Reason {
  const name = RefusalReason[reason] as keyof typeof RefusalReason | undefined;
  return name === undefined || name === "UNSPECIFIED" ? "UNKNOWN" : name;
}

/** Returns the error behind a failed call to the server at an address; gRPC's error is its `cause`. */
export function fromRpc(error: unknown, address: string): ArbiterError | ConnectionFailed {
  if (!isServiceError(error)) throw error;
  const refusal = error.metadata.get("grpc-status-details-bin").map(refusalIn).find(Boolean);
  const cause = { cause: error };
  if (refusal) return fromRefusal(refusal, cause);
  const details = error.details || "no further word";
  switch (error.code) {
    case status.UNAVAILABLE: {
      const hint = "is it running there, are host and port right, and does it speak TLS or not as you do?";
      return new ConnectionFailed(`no arbiter answers at ${address}: ${hint} (${details})`, cause);
    }
    case status.DEADLINE_EXCEEDED:
      return new ConnectionFailed(
        `the arbiter at ${address} did not answer in time: try again (${details})`,
        cause,
      );
    case status.UNIMPLEMENTED: {
      const hint = "is no arbiter, or one of another version: is the port right?";
      return new ArbiterError(
        "UNKNOWN",
        `what answers at ${address} ${hint} (${details})`,
        "UNIMPLEMENTED",
        {},
        cause,
      );
    }
    default:
      return new ArbiterError("UNKNOWN", details, codeOf(error.code), {}, cause);
  }
}

/** Returns whether the same request may succeed later: no arbiter answers, or it refuses for now. */
export function mayPass(error: unknown): boolean {
  return error instanceof ConnectionFailed || (error instanceof ArbiterError && error.temporary);
}

/** Codes after which another stream, or another attempt, may succeed. */
export const PASSING: readonly Code[] = [
  "UNAVAILABLE",
  "RESOURCE_EXHAUSTED",
  "ABORTED",
  "INTERNAL",
  "UNKNOWN",
  "CANCELLED",
  "DEADLINE_EXCEEDED",
];

/**
 * Returns whether an error shows that the arbiter was away or busy. So does a temporary status without a reason: an
 * arbiter names one.
 */
export function wasAway(error: unknown): boolean {
  const unnamed = error instanceof ArbiterError && error.reason === "UNKNOWN" && PASSING.includes(error.code);
  return mayPass(error) || unnamed;
}

/** Returns whether an error, or one behind it (a cause, or one of several), shows that the arbiter was away or busy. */
export function comesOfAnOutage(error: unknown): boolean {
  const seen = new Set<unknown>();
  const left = [error];
  while (left.length > 0) {
    const each = left.pop();
    if (wasAway(each)) return true;
    if (!(each instanceof Error) || seen.has(each)) continue;
    seen.add(each);
    left.push(each.cause, ...(each instanceof AggregateError ? each.errors : []));
  }
  return false;
}

/** Returns the error as one line for people. */
export function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** Returns the refusal in the bytes of a google.rpc.Status, if there is one. */
function refusalIn(bytes: unknown): Refusal | undefined {
  if (!(bytes instanceof Uint8Array)) return undefined;
  try {
    const refusals = detailsOf(bytes).map((detail) => anyUnpack(detail, RefusalSchema));
    return refusals.find((refusal) => refusal !== undefined);
  } catch {
    return undefined; // bytes that are no status
  }
}

/** Returns `google.rpc.Status.details`: repeated google.protobuf.Any, field 3. */
function detailsOf(bytes: Uint8Array): Any[] {
  const reader = new BinaryReader(bytes);
  const details: Any[] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 3 && type === WireType.LengthDelimited) details.push(fromBinary(AnySchema, reader.bytes()));
    else reader.skip(type, field);
  }
  return details;
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "metadata" in error && error.metadata instanceof Metadata;
}

function codeOf(code: number): Code {
  // 0, OK, is no code of an error.
  return (code === 0 ? undefined : (status[code] as Code | undefined)) ?? "UNKNOWN";
}

/** Returns how much the error of a call matters in the log: the session says once that the arbiter is away. */
export function levelOf(error: unknown): "debug" | "warning" {
  return error instanceof ConnectionFailed ? "debug" : "warning";
}
