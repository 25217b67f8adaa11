/** Circle of Life, checked against what the arbiter's own rules say. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { CircleOfLife, type Position, RuleError } from "game-arbiter-client/rules/circle_of_life";
import { vectors } from "./vectors.js";

interface Ply {
  position: string;
  turn: number;
  outcome: { winner: number; reason: string } | null;
  count: number;
  legal: string[] | null;
  sha256: string;
}

const VECTORS: {
  lines: { name: string; variant: string; start: string | null; moves: string[]; plies: Ply[] }[];
  turns: {
    name: string;
    variant: string;
    position: string;
    move: string;
    after: string;
    outcome: Ply["outcome"];
  }[];
  perft: { variant: string; position: string | null; counts: number[] }[];
  refused_moves: { variant: string; position: string; move: string; reason: string }[];
  positions: ({ variant: string; text: string; reason: string } & Ply)[];
  variants: { variant: string; canonical: string; reason: string }[];
} = vectors("positions/circle-of-life.json");

function isAs(rules: CircleOfLife, position: Position, told: Ply): void {
  const legal = rules.moves(position);
  assert.equal(rules.text(position), told.position);
  assert.equal(position.turn, told.turn);
  assert.deepEqual(position.outcome ?? null, told.outcome);
  assert.equal(legal.length, told.count);
  assert.equal(createHash("sha256").update(legal.join("\n")).digest("hex"), told.sha256);
  if (told.legal) assert.deepEqual(legal, told.legal);
}

function refuses(reason: string, work: () => unknown): void {
  assert.throws(work, (error) => error instanceof RuleError && error.reason === reason);
}

function perft(rules: CircleOfLife, position: Position, depth: number): number {
  if (depth === 0) return 1;
  return position.open.reduce((sum, cell) => sum + perft(rules, rules.place(position, cell), depth - 1), 0);
}

for (const { name, variant, start, moves, plies } of VECTORS.lines) {
  test(`line: ${name}`, () => {
    const rules = new CircleOfLife(variant);
    let position = start === null ? rules.initial() : rules.parse(start);
    for (const [ply, told] of plies.entries()) {
      isAs(rules, position, told);
      const move = moves[ply];
      if (move !== undefined) position = rules.play(position, move);
    }
  });
}

test("each species beside each other one", () => {
  assert(VECTORS.turns.length > 0);
  for (const { name, variant, position, move, after, outcome } of VECTORS.turns) {
    const rules = new CircleOfLife(variant);
    const reached = rules.play(rules.parse(position), move);
    assert.equal(rules.text(reached), after, name);
    assert.deepEqual(reached.outcome ?? null, outcome, name);
  }
});

for (const { variant, position, counts } of VECTORS.perft) {
  test(`perft: ${variant} ${position ?? "from the start"}`, () => {
    const rules = new CircleOfLife(variant);
    const from = position === null ? rules.initial() : rules.parse(position);
    assert.deepEqual(
      counts.map((_, depth) => perft(rules, from, depth + 1)),
      counts,
    );
  });
}

test("moves that are refused", () => {
  assert(VECTORS.refused_moves.length > 0);
  for (const { variant, position, move, reason } of VECTORS.refused_moves) {
    const rules = new CircleOfLife(variant);
    refuses(reason, () => rules.play(rules.parse(position), move));
  }
});

test("positions, right and wrong", () => {
  assert(VECTORS.positions.length > 0);
  for (const told of VECTORS.positions) {
    const rules = new CircleOfLife(told.variant);
    if (told.reason) refuses(told.reason, () => rules.parse(told.text));
    else isAs(rules, rules.parse(told.text), told);
  }
});

test("variants, right and wrong", () => {
  assert(VECTORS.variants.length > 0);
  for (const { variant, canonical, reason } of VECTORS.variants) {
    if (reason) refuses(reason, () => new CircleOfLife(variant));
    else assert.equal(new CircleOfLife(variant).variant, canonical);
  }
});
