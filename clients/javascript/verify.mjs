#!/usr/bin/env node
// Verifies transcripts: node verify.mjs KEYS.json FILE… (README.md says what it checks, protos/TRANSCRIPT.md the format).
import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const ms = (text) => Number.parseInt(text, 10) * UNITS[text.replace(/^[0-9]+/, "")];
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const other = (seat) => 3 - seat;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function expect(field, found, expected) {
  if (canonical(found) !== canonical(expected)) {
    throw new Error(`${field} is ${canonical(found)}, expected ${canonical(expected)}`);
  }
}

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw new Error(`${value} is not an integer in range`);
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "nothing";
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}

// A time control: the clock of the start, what a move may take, and the clock after a move that took `t`.
function control(text) {
  const [main, extra] = text.split("+");
  const plain = (r, rest = {}) => ({ remaining_ms: r, ...rest });
  if (text === "none") return { start: plain(0), most: () => Infinity, after: (c) => c };
  if (main.endsWith("/move")) {
    const move = ms(main.slice(0, -5));
    return { start: plain(extra ? ms(extra) : 0), most: (c) => c.remaining_ms + move,
      after: (c, t) => plain(c.remaining_ms - Math.max(0, t - move)) };
  }
  if (main.includes("/")) {
    const [moves, session] = [Number.parseInt(main, 10), ms(main.split("/")[1])];
    return { start: plain(session, { moves_left: moves }), most: (c) => c.remaining_ms,
      after: (c, t) => c.moves_left > 1 ? plain(c.remaining_ms - t, { moves_left: c.moves_left - 1 })
        : plain(c.remaining_ms - t + session, { moves_left: moves }) };
  }
  const start = plain(ms(main));
  if (!extra) return { start, most: (c) => c.remaining_ms, after: (c, t) => plain(c.remaining_ms - t) };
  if (extra.includes("x")) {
    const [periods, period] = [Number.parseInt(extra, 10), ms(extra.split("x")[1])];
    return { start: { ...start, periods }, most: (c) => c.remaining_ms + c.periods * period,
      after: (c, t) => plain(Math.max(0, c.remaining_ms - t),
        { periods: c.periods - Math.floor(Math.max(0, t - c.remaining_ms) / period) }) };
  }
  const [, time, letter] = extra.match(/^([0-9]+(?:ms|s|m|h))([db]?)$/);
  const delay = ms(time);
  if (!letter) return { start, most: (c) => c.remaining_ms, after: (c, t) => plain(c.remaining_ms - t + delay) };
  return { start, most: (c) => c.remaining_ms + (letter === "d" ? delay : 0),
    after: (c, t) => plain(c.remaining_ms - Math.max(0, t - delay)) };
}

// The match, as far as a reader without the rules of games can follow it.
class Match {
  constructor(created) {
    expect("kind", created.kind, "created");
    expect("format", created.format, 1);
    this.policy = created.policy;
    const [first, second = first] = created.time.split(":"); // two for time odds
    this.controls = [control(first), control(second)];
    this.clocks = this.controls.map((one) => one.start);
    this.banks = [this.policy.credit.bank_ms, this.policy.credit.bank_ms];
    const { opening = [] } = created;
    if (!Array.isArray(opening) || !opening.every((move) => typeof move === "string")) throw new Error("opening: expected moves");
    if (created.rated && created.players[0] === created.players[1]) throw new Error("rated, of a player against itself");
    if (created.rated && first !== second) throw new Error("rated, with time odds");
    Object.assign(this, { rules: created.adjudication ?? {}, moves: [], due: false, ply: opening.length, strikes: [0, 0], rejected: [0, 0], comments: [], since: null, turn: 1, ended: null, waits: true });
  }

  // What the clock says to a move: its ledger must be this; returns the clock after it, or null if it came too late.
  reckon(ledger) {
    const [seat, rules] = [this.turn - 1, this.policy.credit];
    const { handed_over: handed, arrived, round_trip: trip } = ledger;
    let [own, network] = [0, 0];
    if (handed !== undefined && arrived > this.since) {
      const sent = Math.min(Math.max(handed, this.since), arrived);
      own = Math.min(sent - this.since, rules.hand_over_most_ms);
      const most = Math.min(rules.network_most_ms, this.banks[seat], arrived - sent);
      if (trip !== undefined) network = Math.min(Math.max(trip, 0), most);
    }
    const charged = Math.max(0, arrived - this.since) - own - network;
    const left = Math.max(0, Math.min(this.controls[seat].most(this.clocks[seat]), this.policy.move_cap_ms) - charged);
    const known = { started: this.since, credited: own + network, charged, left };
    for (const [name, value] of Object.entries(known)) expect(`ledger.${name}`, ledger[name], value);
    this.banks[seat] = Math.min(this.banks[seat] - network + rules.refill_ms, rules.bank_ms);
    return left > 0 ? this.controls[seat].after(this.clocks[seat], charged) : null;
  }

  step(event) {
    if (this.ended) throw new Error(`kind is ${event.kind}, but the match has ended`);
    if (this.due) expect("kind", event.kind, "ended");
    const runs = this.since !== null;
    const needs = { started: this.waits, resumed: !this.waits && !runs, moved: runs, refused: runs }[event.kind] ?? true;
    if (!needs) throw new Error(`kind is ${event.kind}, which can't be here`);
    if (["moved", "refused", "resumed", "draw_offered"].includes(event.kind)) expect("ply", event.ply, this.ply);
    if (["moved", "refused"].includes(event.kind)) expect("seat", event.seat, this.turn);
    if (event.kind === "resumed") expect("turn", event.turn, this.turn);
    if (event.kind === "moved") {
      const clock = this.reckon(event.ledger);
      if (clock === null) throw new Error("kind is moved, but the flag had fallen");
      if (event.ledger.arrived > event.at) throw new Error("ledger.arrived is after at");
      this.clocks = this.turn === 1 ? [clock, this.clocks[1]] : [this.clocks[0], clock];
      if (event.comment) this.comments.push([event.ply, event.comment]);
      this.moves.push([event.ply, event.seat]);
      this.ply += 1;
      this.due = this.rules.plies > 0 && this.ply >= this.rules.plies;
    }
    if (["started", "resumed", "moved"].includes(event.kind)) {
      expect("clocks", event.clocks, this.clocks);
      Object.assign(this, { since: event.at, turn: event.turn, waits: false });
    }
    if (event.kind === "refused") expect("strikes", event.strikes, ++this.strikes[this.turn - 1]);
    if (event.kind === "rejected") this.reject(event);
    if (event.kind === "interrupted") this.since = null;
    if (event.kind === "ended") this.end(event);
  }

  // A request that was refused without a strike: how many are kept, and what a reader can say of the answer.
  reject({ seat, asked, reason, facts }) {
    const kept = ++this.rejected[seat - 1];
    if (!(kept <= this.policy.kept_refusals)) throw new Error(`kind is rejected, for the ${kept}th time of seat ${seat}`);
    if (reason === "MATCH_NOT_ACTIVE") expect("facts.phase", [facts.phase, this.waits], ["pending", true]);
    if (reason === "NOT_YOUR_TURN") expect("facts", facts, { seat: `${other(this.turn)}`, turn: `${this.turn}` });
    if (reason === "NOT_YOUR_TURN") expect("seat", seat, other(this.turn));
    if (reason !== "PLY_MISMATCH") return;
    expect("facts", facts, { actual: `${asked.ply}`, expected: `${this.ply}` });
    if (asked.ply === this.ply) throw new Error("asked.ply is the match's, and the answer says that it is not");
  }

  // The key that the end discloses opens every comment.
  open(key) {
    if (!/^[0-9a-f]{64}$/.test(key) || !this.comments.length) throw new Error("key: nothing that it could open");
    const said = new Map();
    for (const [ply, sealed] of this.comments) {
      if (!/^([0-9a-f]{128})+$/.test(sealed)) throw new Error(`the comment on ply ${ply} is not whole blocks`);
      const bytes = Buffer.from(sealed, "hex");
      const secret = Buffer.concat([Buffer.from(key, "hex"), Buffer.from(`\n${ply}`)]);
      const stream = createHash("shake256", { outputLength: bytes.length }).update(secret).digest();
      const text = utf8.decode(bytes.map((byte, n) => byte ^ stream[n])).trimEnd();
      const { evaluation = 0, line = [], ...more } = JSON.parse(text);
      if (canonical(JSON.parse(text)) !== text || Object.keys(more).length || !(evaluation >= 0 && evaluation <= 1000)
        || !line.every((move) => typeof move === "string")) throw new Error(`the comment on ply ${ply} is not one`);
      said.set(ply, JSON.parse(text).evaluation);
    }
    return said;
  }

  // Whether what both bots said with the last moves bears out an end by evaluation.
  agreed(said, winner) {
    const { evaluation, evaluation_plies, draw_evaluation = 0, draw_plies, draw_from_ply = 0 } = this.rules;
    const [seats, most] = [new Set(), winner ? evaluation_plies : draw_plies];
    for (const [number, [ply, seat]] of this.moves.slice().reverse().entries()) {
      const over = said.get(ply) - 500; // not a number where nothing was said
      const holds = winner ? (seat === winner ? over : -over) >= evaluation : Math.abs(over) <= draw_evaluation && ply >= draw_from_ply;
      if (!holds) return false;
      if (seats.add(seat).size === 2 && number + 1 >= most) return true;
    }
    return false;
  }

  end(event) {
    this.ended = event;
    if (event.result !== "win") expect("winner", event.winner, 0);
    if (event.result === "win" && event.cause !== "rules" && event.seat) expect("winner", event.winner, other(event.seat));
    if (["time", "rule_violation"].includes(event.cause)) expect("seat", event.seat, this.turn);
    if (event.cause === "rule_violation") expect("strikes", this.strikes[this.turn - 1], this.policy.illegal_moves);
    const said = event.key === undefined ? new Map() : this.open(event.key);
    if (event.reason === "adjudicated_length" && !this.due) throw new Error("reason: the match is not that long");
    if (["adjudicated_evaluation", "adjudicated_level"].includes(event.reason) && !this.agreed(said, event.winner)) {
      throw new Error("reason: the comments do not bear it out");
    }
    if (!event.late) return;
    expect("late.ply", event.late.ply, this.ply);
    if (this.since === null || this.reckon(event.late.ledger) !== null) throw new Error("late: the flag had not fallen");
  }
}

function checkSignature(line, match, id, events, head, keys) {
  expect("events", line.events, events);
  expect("head", line.head, head);
  expect("match", line.match, id);
  expect("algorithm", line.algorithm, "ed25519");
  const key = keys.find((one) => one.key_id === line.key);
  if (!key) throw new Error(`key ${line.key} is not among the public keys`);
  const { at } = match.ended;
  if (at < key.valid_from_ms || (key.valid_until_ms && at >= key.valid_until_ms)) {
    throw new Error(`key ${line.key} was not valid at ${at}`);
  }
  const { signature, ...statement } = line;
  if (!/^[0-9a-f]{128}$/.test(signature)) throw new Error("signature is not 128 hexadecimal digits");
  const spki = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), Buffer.from(key.key, "hex")]);
  const message = Buffer.from(`arbiter transcript v1\n${canonical(statement)}`);
  const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" });
  if (!verifySignature(null, message, publicKey, Buffer.from(signature, "hex"))) throw new Error("signature does not hold");
}

// Returns a sentence about a transcript that holds; throws an Error that names the first line that is wrong.
export function verify(bytes, keys) {
  let [number, previous, at, match, id, start] = [0, "0".repeat(64), 0, null, null, 0];
  try {
    while (start < bytes.length) {
      number += 1;
      const end = bytes.indexOf(10, start);
      if (end < 0) throw new Error("cut off");
      const line = bytes.subarray(start, end);
      start = end + 1;
      const text = utf8.decode(line);
      const value = JSON.parse(text);
      if (canonical(value) !== text) throw new Error("not canonical");
      if (value.kind === "signature" && match?.ended) {
        checkSignature(value, match, id, number - 1, previous, keys);
        if (start < bytes.length) throw new Error("there is more after the signature");
        return `${id}: ${number - 1} events, ${match.ply} moves, ${match.ended.reason}`;
      }
      expect("revision", value.revision, number);
      expect("previous", value.previous, previous);
      expect("match", value.match, id ?? value.match);
      if (!(value.at >= at)) throw new Error(`at is ${value.at}, expected ${at} or later`);
      if (match) match.step(value);
      else match = new Match(value);
      [previous, at, id] = [sha256(line), value.at, value.match];
    }
    number += 1;
    throw new Error("expected more: there is no signature");
  } catch (error) {
    throw new Error(`line ${number}: ${error.message}`);
  }
}

function main([keyFile, ...files]) {
  if (!files.length) {
    console.error("usage: node verify.mjs KEYS.json FILE…");
    return 2;
  }
  const { keys } = JSON.parse(readFileSync(keyFile, "utf8"));
  let code = 0;
  for (const file of files) {
    try {
      console.log(`${file}: holds: ${verify(readFileSync(file), keys)}`);
    } catch (error) {
      console.log(`${file}: ${error.message}`);
      code = 1;
    }
  }
  return code;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = main(process.argv.slice(2));
