// The story of a match: what each event must be after those before it, as far as it takes no rules of a game.
import { createHash } from "node:crypto";
import { agree, canonical, check, utf8 } from "./canonical.mjs";

const { abs, floor, max, min } = Math;
const UNITS = { "": 1, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const positive = (number) => max(0, number);
const areTexts = (list) => Array.isArray(list) && list.every((one) => typeof one === "string");

// Time controls, by their text with D for each duration and N for each number: the clock of the start, what a move may
// take, and the clock after a move that took `t`. On the clock before the move `r` is left, and its counter is at `n`.
const plain = (start, { free = 0, more = 0, extra = 0 }) =>
  [{ remaining_ms: start }, (r) => r + extra, (t, r) => ({ remaining_ms: r - positive(t - free) + more })];
const CONTROLS = {
  "none": () => plain(0, { free: Infinity, extra: Infinity }),
  "D": (main) => plain(main, {}),
  "D+D": (main, more) => plain(main, { more }),
  "D+Dd": (main, free) => plain(main, { free, extra: free }),
  "D+Db": (main, free) => plain(main, { free }),
  "D/move": (free) => plain(0, { free, extra: free }),
  "D/move+D": (free, bank) => plain(bank, { free, extra: free }),
  "D+NxD": (main, periods, each) => [{ remaining_ms: main, periods }, (r, n) => r + n * each,
    (t, r, n) => ({ remaining_ms: positive(r - t), periods: n - floor(positive(t - r) / each) })],
  "N/D": (moves_left, session) => [{ remaining_ms: session, moves_left }, (r) => r,
    (t, r, n) => (n > 1 ? { remaining_ms: r - t, moves_left: n - 1 } : { remaining_ms: r - t + session, moves_left })],
};

function control(text) {
  const shape = text.replace(/[0-9]+(ms|[smh])/g, "D").replace(/[0-9]+/g, "N");
  const numbers = [...text.matchAll(/([0-9]+)(ms|[smh]|)/g)].map(([, digits, unit]) => Number(digits) * UNITS[unit]);
  check(Object.hasOwn(CONTROLS, shape), `time: ${text} is no time control`);
  return CONTROLS[shape](...numbers);
}

// Holds a ledger to what the clock says to its move; returns the clock after it, or null if the move came too late.
function reckon({ policy: { credit, move_cap_ms }, controls, clocks, banks, turn, since }, ledger) {
  const [seat, { handed_over, arrived, round_trip = 0 }] = [turn - 1, ledger];
  const [[, available, after], clock] = [controls[seat], Object.values(clocks[seat])];
  const sent = min(max(handed_over ?? arrived, since), arrived);
  const own = handed_over === undefined ? 0 : positive(min(sent - since, credit.hand_over_most_ms));
  const network = min(positive(round_trip), credit.network_most_ms, banks[seat], arrived - sent);
  const charged = positive(arrived - since) - own - network;
  const left = positive(min(available(...clock), move_cap_ms) - charged);
  agree(ledger, { started: since, credited: own + network, charged, left }, "ledger.");
  banks[seat] = min(banks[seat] - network + credit.refill_ms, credit.bank_ms);
  return left > 0 ? after(charged, ...clock) : null;
}

// Opens the comment of a move; returns by how much its bot thought that it was ahead: not a number if it did not say.
function unseal({ ply, comment }, key) {
  check(/^([0-9a-f]{128})+$/.test(comment), `the comment on ply ${ply} is not whole blocks`);
  const sealed = Buffer.from(comment, "hex");
  const shake = createHash("shake256", { outputLength: sealed.length }).update(key, "hex").update(`\n${ply}`);
  const stream = shake.digest();
  const text = utf8.decode(sealed.map((byte, n) => byte ^ stream[n])).trimEnd();
  const said = JSON.parse(text);
  const { evaluation = 0, line = [], centipawns = 0, mate = 0, depth = 0, nodes = 0, time_ms = 0, ...more } = said;
  const numbers = [evaluation, centipawns, mate, depth, nodes, time_ms];
  check(canonical(said) === text && evaluation >= 0 && evaluation <= 1000 && areTexts(line) && canonical(more) === "{}"
    && numbers.every(Number.isSafeInteger) && min(depth, nodes, time_ms) >= 0, `the comment on ply ${ply} is not one`);
  return said.evaluation - 500;
}

// Whether what both bots said with the last moves bears out an end by evaluation.
function areAgreed({ moves, rules }, winner) {
  const { evaluation, evaluation_plies, draw_evaluation = 0, draw_plies, draw_from_ply = 0 } = rules;
  const says = ({ ply, seat, ahead }) => winner
    ? (seat === winner ? ahead : -ahead) >= evaluation : abs(ahead) <= draw_evaluation && ply >= draw_from_ply;
  const last = moves.slice(moves.findLastIndex((move) => !says(move)) + 1);
  return last.length >= (winner ? evaluation_plies : draw_plies) && new Set(last.map((move) => move.seat)).size === 2;
}

function create(m, { time, policy, position = "", opening = [], adjudication: rules = {}, rated, players }) {
  const [first, second = first] = time.split(":"); // two for time odds
  check(areTexts([position]), "position: expected a text");
  check(areTexts(opening), "opening: expected moves");
  check(!rated || players[0] !== players[1], "rated, of a player against itself");
  check(!rated || first === second, "rated, with time odds");
  const [controls, bank] = [[control(first), control(second)], policy.credit.bank_ms];
  Object.assign(m, { policy, rules, controls, clocks: controls.map(([start]) => start), banks: [bank, bank], moves: [],
    ply: opening.length, turn: 1, since: null, waits: true, strikes: [0, 0], rejected: [0, 0], next: null });
  return { format: 1 };
}

function move(m, event) {
  const { ply, seat, ledger, comment } = event;
  agree(event, { ply: m.ply, seat: m.turn });
  const clock = reckon(m, ledger);
  check(clock, "kind is moved, but the flag had fallen");
  check(ledger.arrived <= event.at, "ledger.arrived is after at");
  m.clocks = m.clocks.with(seat - 1, clock);
  m.moves.push({ ply, seat, comment });
  m.ply += 1;
  if (m.rules.plies > 0 && m.ply >= m.rules.plies) m.next = "ended";
  return { clocks: m.clocks };
}

// A request that was refused without a strike: how many are kept, and what a reader can say of the answer.
function reject(m, { seat, asked, reason, facts }) {
  check(++m.rejected[seat - 1] <= m.policy.kept_refusals, `kind is rejected, more often than is kept for seat ${seat}`);
  check(reason !== "PLY_MISMATCH" || asked.ply !== m.ply, "asked.ply is the match's, and the answer denies it");
  const other = 3 - m.turn;
  return {
    MATCH_NOT_ACTIVE: { facts: { ...facts, phase: m.waits && "pending" } }, // never after the start
    NOT_YOUR_TURN: { seat: other, facts: { seat: `${other}`, turn: `${m.turn}` } },
    PLY_MISMATCH: { facts: { actual: `${asked?.ply}`, expected: `${m.ply}` } },
  }[reason];
}

function end(m, { result, winner, reason, cause, seat, key, late }) {
  if (key !== undefined) {
    const sealed = m.moves.filter((move) => move.comment);
    check(/^[0-9a-f]{64}$/.test(key) && sealed.length, "key: nothing that it could open");
    for (const move of sealed) move.ahead = unseal(move, key);
  }
  const byEvaluation = ["adjudicated_evaluation", "adjudicated_level"].includes(reason);
  check(!byEvaluation || areAgreed(m, winner), "reason: the comments do not bear it out");
  check(reason !== "adjudicated_length" || m.next, "reason: the match is not that long");
  if (cause === "rule_violation") agree(m.policy, { illegal_moves: m.strikes[m.turn - 1] }, "policy.");
  if (late) agree(late, { ply: m.ply }, "late.");
  check(!late || (runs(m) && reckon(m, late.ledger) === null), "late: the flag had not fallen");
  Object.assign(m, { next: "signature", reason });
  const loser = ["time", "rule_violation"].includes(cause) ? m.turn : seat;
  if (result !== "win") return { seat: loser, winner: 0 };
  return { seat: loser, winner: cause !== "rules" && loser ? 3 - loser : winner };
}

// Of a match `m`: where each kind of event may stand, what its fields must be, and how it goes on from there.
const runs = (m) => m.since !== null;
const begin = (m, { at, turn }) => Object.assign(m, { since: at, turn, waits: false });
const STORY = {
  created: { may: (m) => m.next === "created", must: create },
  started: { may: (m) => m.waits, must: ({ clocks }) => ({ clocks }), then: begin },
  moved: { may: runs, must: move, then: begin },
  refused: { may: runs, must: ({ ply, turn, strikes }) => ({ ply, seat: turn, strikes: ++strikes[turn - 1] }) },
  rejected: { must: reject },
  draw_offered: { must: ({ ply }) => ({ ply }) },
  interrupted: { then: (m) => Object.assign(m, { since: null }) },
  resumed: { may: (m) => !m.waits && !runs(m), must: ({ ply, turn, clocks }) => ({ ply, turn, clocks }), then: begin },
  ended: { must: end },
};

// Goes on with the next event, whatever its kind; complains if it can't be here or its fields are not what they must be.
export function follow(m, event) {
  const { may, must, then } = Object.hasOwn(STORY, event.kind) ? STORY[event.kind] : {};
  check(may?.(m) ?? true, `kind is ${event.kind}, which can't be here`);
  agree(event, must?.(m, event) ?? {});
  then?.(m, event);
}
