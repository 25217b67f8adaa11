/** What a server says, made for tests. */

import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import type { Code, Reason } from "../src/errors.js";
import { Cause, MatchSchema, Phase, ResultKind } from "../src/generated/arbiter/v1/match_pb.js";
import { MatchEndedSchema, TurnSchema } from "../src/generated/arbiter/v1/play_pb.js";
import { type Refusal, RefusalReason, RefusalSchema } from "../src/generated/arbiter/v1/refusal_pb.js";

export const PLAYER = "alice";

/** Returns a refusal as the arbiter writes it. */
export function refusal(reason: Reason, code: Code, facts: Record<string, string> = {}): Refusal {
  const number = RefusalReason[reason as keyof typeof RefusalReason];
  return create(RefusalSchema, { reason: number, code: status[code], message: `said ${reason}`, facts });
}

/** Returns the bytes of the google.rpc.Status that carries a refusal. */
export function details(refused: Refusal): Buffer {
  const any = toBinary(AnySchema, anyPack(RefusalSchema, refused));
  const writer = new BinaryWriter().tag(1, WireType.Varint).int32(refused.code);
  return Buffer.from(writer.tag(3, WireType.LengthDelimited).bytes(any).finish());
}

/** Returns a turn whose line is a, b, c, … so far. */
export function turn(ply = 0, matchId = "m1", more: object = {}) {
  const lastMoves = Array.from({ length: ply }, (_, n) => ({ ply: n, seat: 1 + (n % 2), move: letter(n) }));
  const told = { game: "pods", seat: 1 + (ply % 2), position: `after ${ply}`, lastMoves, opponent: "bob" };
  return { case: "turn", value: create(TurnSchema, { matchId, ply, ...told, ...more }) } as const;
}

/** Returns a running match of the player's, in seat 1. */
export function match(matchId = "m1", more: object = {}) {
  const told = { game: "pods", players: [PLAYER, "bob"], phase: Phase.ACTIVE, timeControl: "1m+1s" };
  return { case: "match", value: create(MatchSchema, { matchId, ...told, ...more }) } as const;
}

/** Returns the end of a match that the player won in seat 1. */
export function ended(matchId = "m1", cursor = "c1", more: object = {}) {
  const result = { kind: ResultKind.WIN, winner: 1, reason: "territory", cause: Cause.RULES };
  const told = { game: "pods", seat: 1, opponent: "bob", result, position: "end" };
  return { case: "ended", value: create(MatchEndedSchema, { matchId, cursor, ...told, ...more }) } as const;
}

/** Returns the move at a ply of a line of tests. */
export function letter(ply: number): string {
  return String.fromCharCode(97 + ply);
}
