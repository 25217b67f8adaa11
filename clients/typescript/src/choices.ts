/** From a bot's choice to the acts on its stream. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Choice, Move } from "./bot.js";
import type { MoveCommentSchema } from "./generated/arbiter/v1/match_pb.js";
import { type PlayAct, PlayActSchema } from "./generated/arbiter/v1/play_pb.js";

const CERTAIN = 1_000; // the evaluation of a position that the mover is sure to win
const MOST_LINE_MOVES = 32;
const LONGEST_LINE_MOVE = 500;

/** Returns the acts that a choice at a ply comes to, the one that answers the turn last. Throws TypeError. */
export function actsOf(choice: Choice, matchId: string, ply: number): [...PlayAct[], PlayAct] {
  const answer = (act: MessageInitShape<typeof PlayActSchema>["act"] & object) =>
    create(PlayActSchema, { matchId, act });
  const move = (played: string | Move) => {
    const { text, evaluation, line } = typeof played === "string" ? { text: played } : moveIn(played);
    const comment = commentOf(evaluation, line);
    return answer({ case: "move", value: { ply, move: text, ...(comment && { comment }) } });
  };
  if (typeof choice === "object" && choice !== null) {
    if ("offerDraw" in choice) return [answer({ case: "offerDraw", value: {} }), move(choice.offerDraw)];
    if ("claimDraw" in choice) return [answer({ case: "claimDraw", value: {} })];
    if ("resign" in choice) return [answer({ case: "resign", value: {} })];
  }
  return [move(choice)];
}

function moveIn(choice: unknown): Move {
  if (typeof choice === "object" && choice !== null && "text" in choice && typeof choice.text === "string") {
    return choice as Move;
  }
  const found = JSON.stringify(choice);
  throw new TypeError(
    `choose returned ${found}: expected a move or its text, or offerDraw, claimDraw or resign`,
  );
}

/** Returns the comment on a move. Parts that do not fit are left out: a comment must not cost the move. */
function commentOf(
  evaluation: unknown,
  line: unknown,
): MessageInitShape<typeof MoveCommentSchema> | undefined {
  const score = typeof evaluation === "number" && Number.isInteger(evaluation) ? evaluation : -1;
  const moves: unknown[] = Array.isArray(line) ? line.slice(0, MOST_LINE_MOVES) : [];
  const end = moves.findIndex((move) => !isShown(move));
  const kept = (end < 0 ? moves : moves.slice(0, end)) as string[];
  const scored = score >= 0 && score <= CERTAIN;
  return scored || kept.length > 0 ? { ...(scored && { evaluation: score }), line: kept } : undefined;
}

function isShown(move: unknown): boolean {
  return typeof move === "string" && move.length <= LONGEST_LINE_MOVE && /^[\x21-\x7e]+$/.test(move);
}
