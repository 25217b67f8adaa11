/** What the tests of all clients read: refusals, items of the stream, lines of moves. */

import assert from "node:assert/strict";
import test from "node:test";
import { type DescField, type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { Metadata, status } from "@grpc/grpc-js";
import {
  ArbiterError,
  Bot,
  boardArray,
  type CellContent,
  type Challenge,
  type Code,
  ConnectionFailed,
  OpeningBook,
  plainText,
  stderrLog,
  type Thinking,
  thinkTimeMs,
} from "game-arbiter-client";
import { parse } from "../src/credentials.js";
import { fromRefusal, fromRpc } from "../src/errors.js";
import { PlayItemSchema, PlayResponseSchema } from "../src/generated/arbiter/v1/play_pb.js";
import { RefusalSchema } from "../src/generated/arbiter/v1/refusal_pb.js";
import { plain } from "../src/plain.js";
import { joined } from "../src/seats.js";
import { canonical, ownControl, sameControl } from "../src/time_control.js";
import { vectors } from "./vectors.js";

interface ExpectedError {
  error: string;
  reason: string;
  code: string;
  message: string | null;
  facts: Record<string, string>;
  temporary: boolean;
  retry_after_ms: number;
}

const REFUSALS: {
  messages: { name: string; refusal: string; expected: ExpectedError }[];
  statuses: {
    name: string;
    code: Code;
    status_message: string;
    details: string | null;
    expected: ExpectedError;
  }[];
} = vectors("refusals.json");
const ITEMS: { name: string; response: string; expected: object[] }[] = vectors("items.json");
const LINES: {
  name: string;
  known: string[];
  ply: number;
  last_moves: { ply: number; seat: number; move: string }[];
  gap: boolean;
  moves: string[];
}[] = vectors("lines.json");

function bytes(base64: string): Buffer {
  return Buffer.from(base64, "base64");
}

function isAs(error: ArbiterError | ConnectionFailed, expected: ExpectedError): void {
  if (expected.error === "ConnectionFailed") {
    assert(error instanceof ConnectionFailed);
    return;
  }
  assert(error instanceof ArbiterError);
  const { reason, code, facts, temporary, retryAfterMs } = error;
  assert.deepEqual(
    { reason, code, facts, temporary, retry_after_ms: retryAfterMs },
    {
      reason: expected.reason,
      code: expected.code,
      facts: expected.facts,
      temporary: expected.temporary,
      retry_after_ms: expected.retry_after_ms,
    },
  );
  if (expected.message !== null) assert.equal(error.message, expected.message);
}

/** Returns a plain value as the vectors write it: fields by their names in the proto, enumerations by name. */
function written(schema: DescMessage, value: Record<string, unknown>): object {
  const parts = schema.fields.map((field) => {
    const arm =
      field.oneof && (value[field.oneof.localName] as { case?: string; value?: unknown } | undefined);
    const found = field.oneof
      ? arm?.case === field.localName
        ? arm.value
        : undefined
      : value[field.localName];
    return [field.name, found === undefined ? null : part(field, found)];
  });
  return Object.fromEntries(parts);
}

function part(field: DescField, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => part(field, each));
  if (field.message) return written(field.message, value as Record<string, unknown>);
  if (field.enum) return field.enum.value[value as number]?.localName;
  return value;
}

test("refusals on a stream", () => {
  assert(REFUSALS.messages.length > 0);
  for (const { refusal, expected } of REFUSALS.messages) {
    isAs(fromRefusal(fromBinary(RefusalSchema, bytes(refusal))), expected);
  }
});

for (const { name, code, status_message: details, details: trailer, expected } of REFUSALS.statuses) {
  test(`a call that failed: ${name}`, () => {
    const metadata = new Metadata();
    if (trailer !== null) metadata.set("grpc-status-details-bin", bytes(trailer));
    isAs(fromRpc(Object.assign(new Error(), { code: status[code], details, metadata }), "here:1"), expected);
  });
}

for (const { name, response, expected } of ITEMS) {
  test(`items: ${name}`, () => {
    const { items } = plain(PlayResponseSchema, fromBinary(PlayResponseSchema, bytes(response)));
    const known = items.flatMap(({ item }) => {
      if (item.case === undefined) return [];
      const field = PlayItemSchema.fields.find((each) => each.localName === item.case);
      assert(field?.message);
      return [
        { kind: field.name, ...written(field.message, item.value as unknown as Record<string, unknown>) },
      ];
    });
    assert.deepEqual(known, expected);
  });
}

test("the moves up to a turn", () => {
  assert(LINES.length > 0);
  for (const { name, known, ply, last_moves: lastMoves, gap, moves } of LINES) {
    const found = joined(known, { ply, lastMoves } as never);
    assert.deepEqual(found ?? null, gap ? null : moves, name);
  }
});

/** Returns the cases of a file, of which there must be one, with their names as this language writes them. */
function cases<T>(file: string): T[] {
  const found: T[] = vectors(file, camel);
  assert(found.length > 0);
  return found;
}

function camel(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([name, each]) => [name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()), each]),
  );
}

test("time controls have a canonical form", () => {
  for (const { name, text, canonical: expected } of cases<{
    name: string;
    text: string;
    canonical: string | null;
  }>("time_controls.json")) {
    if (expected === null) {
      const refused = (error: unknown) =>
        error instanceof ArbiterError && error.reason === "PARAMETER_INVALID";
      assert.throws(() => canonical(text), refused, name);
    } else assert.equal(canonical(text), expected, name);
    assert.equal(sameControl(text, expected ?? "5m"), expected !== null, name);
    assert(sameControl(text, text));
  }
});

test("each seat has a time control of its own", () => {
  for (const { name, own, ...match } of cases<{
    name: string;
    own: string[];
    timeControl: string;
    timeControls: string[];
  }>("time_odds.json")) {
    assert.deepEqual([ownControl(match, 1), ownControl(match, 2)], own, name);
  }
});

test("the time to think", () => {
  for (const { name, thinkMs, ...thinking } of cases<Thinking & { name: string; thinkMs: number }>(
    "think_times.json",
  )) {
    assert(Math.abs(thinkTimeMs(thinking) - thinkMs) < 0.001, `${name}: ${thinkTimeMs(thinking)}`);
  }
});

test("opening books", () => {
  for (const { name, text, game, played, moves, line } of cases<{
    name: string;
    text: string;
    game: string;
    played: string[];
    moves: string[] | null;
    line: number;
  }>("opening_books.json")) {
    if (moves) assert.deepEqual(OpeningBook.parse(text).moves(game, played), moves, name);
    else assert.throws(() => OpeningBook.parse(text), new RegExp(`line ${line} of the opening book`), name);
  }
});

test("a book has a move for a turn, but not in a match from a position of its own", () => {
  const book = OpeningBook.parse("pods b1 c2\npods b1 d3\n");
  const turnIn = (startPosition: string) =>
    ({ game: "pods", match: { moves: ["b1"], startPosition } }) as never;
  assert.deepEqual(
    [0, 0.99].map((chance) => book.move(turnIn(""), () => chance)),
    ["c2", "d3"],
  );
  assert.equal(book.move(turnIn("elsewhere")), undefined);
});

test("boards as arrays", () => {
  for (const { name, lines, contents, array } of cases<{
    name: string;
    lines: string[][];
    contents: CellContent[];
    array: (string | null)[][];
  }>("board_arrays.json")) {
    const board = { lines: lines.map((cells) => ({ cells })) };
    const found = boardArray(board, contents).map((row) =>
      row.map((cell) => (cell ? `${cell.owner}${cell.piece}` : null)),
    );
    assert.deepEqual(found, array, name);
  }
});

class Settings extends Bot {
  readonly name = "settings";

  choose(): never {
    throw new Error("it has no turn");
  }
}

test("texts of other people are safe to show", (t) => {
  const written: string[] = [];
  t.mock.method(process.stderr, "write", (text: string) => written.push(text) > 0);
  for (const { name, text, plain: expected } of cases<{ name: string; text: string; plain: string }>(
    "plain_texts.json",
  )) {
    assert.equal(plainText(text), expected, name);
    stderrLog()("warning", text);
  }
  t.mock.restoreAll();
  for (const line of written.join("").split("\n").slice(0, -1)) {
    assert.equal(plainText(line), line);
    assert.match(line, /^(20\d\d-\S+ WARNING | {4})/);
  }
});

test("settings exclude challenges", () => {
  for (const { name, settings, challenge, objection } of cases<{
    name: string;
    settings: Record<string, unknown>;
    challenge: Challenge["terms"] & { challenger: string; rating: number | null };
    objection: string;
  }>("filters.json")) {
    const given = Object.entries(settings).map(([key, value]) => [key, value ?? undefined]);
    const bot = Object.assign(new Settings(), Object.fromEntries(given));
    const { challenger, rating, ...terms } = challenge;
    const told = {
      challenger,
      rating: rating ?? undefined,
      terms,
      challengeId: "c1",
      opponent: "",
      createdMs: 0,
    };
    assert.equal(bot.objection(told) ?? "", objection, name);
  }
});

test("credentials files", () => {
  const found: { name: string; text: string; entries: object | null }[] = vectors("credentials.json");
  for (const { name, text, entries } of found) {
    if (entries) assert.deepEqual(parse(text).content, entries, name);
    else assert.throws(() => parse(text), Error, name);
  }
});
