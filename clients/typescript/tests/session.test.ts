/** The session: hello, pings, reconnects with resend, and the ends of a stream. */

import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ArbiterError,
  Bot,
  type Choice,
  ConnectionFailed,
  type FinishedMatch,
  Phase,
  type Turn,
} from "game-arbiter-client";
import { ended, letter, match, refusal, turn } from "./messages.js";
import { Peer } from "./peer.js";
import { playing, Scripted } from "./players.js";
import { soon, until } from "./queue.js";

class Fixed extends Bot {
  readonly name = "fixed";
  override version = "7";
  override games = ["pods"];
  override mostMatches = 3;
  override capabilities = ["x"];
  override acceptSeeks = true;
  override extras = { board: true, legalMovesUpTo: 9 };
  readonly told: string[] = [];

  choose({ ply }: Turn): string {
    this.told.push(`turn ${ply}`);
    return letter(ply);
  }

  override started({ matchId, opponent }: { matchId: string; opponent: string }): void {
    this.told.push(`started ${matchId} ${opponent}`);
  }

  override ended({ matchId, score }: FinishedMatch): void {
    this.told.push(`ended ${matchId} ${score}`);
  }
}

/** Thinks until it is told what to play. */
class Thinker extends Bot {
  readonly name = "thinker";
  thinking = 0;
  #answer!: (choice: Choice) => void;

  choose(): Promise<Choice> {
    this.thinking += 1;
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  answer(choice: Choice): void {
    this.#answer(choice);
  }
}

test("a bot says who it is and plays a match", async (t) => {
  const peer = await Peer.start();
  const bot = new Fixed();
  const { done } = playing(t, peer, bot, { matches: 1, threaded: true });
  const stream = await peer.stream();
  assert.deepEqual(stream.metadata.get("authorization"), ["Bearer secret"]);
  const hello = await stream.meet();
  assert.equal(hello.protocolVersion, "1.0");
  assert.equal(hello.software, "arbiter-client-typescript");
  assert.equal(hello.botName, "fixed");
  assert.equal(hello.botVersion, "7");
  assert.deepEqual(hello.games, ["pods"]);
  assert.deepEqual(hello.capabilities, ["ready", "x"]);
  assert.equal(hello.mostMatches, 3);
  assert.deepEqual([hello.extras?.board, hello.extras?.legalMovesUpTo], [true, 9]);
  assert.deepEqual([hello.seeks, hello.tournaments], [true, false]);
  stream.say(match(), turn(0));
  const move = await stream.read("move");
  assert.deepEqual([move.matchId, move.value.ply, move.value.move], ["m1", 0, "a"]);
  assert.match(move.requestId, /./);
  stream.receipt(move);
  stream.say(ended());
  assert.equal((await stream.read("acknowledge")).value.cursor, "c1");
  await stream.closed();
  await soon(done, "the end of the run");
  assert.deepEqual(bot.told, ["started m1 bob", "turn 0", "ended m1 1"]);
});

test("the server hears once the bot is ready for a match that waits", async (t) => {
  const peer = await Peer.start();
  const bot = new Fixed();
  playing(t, peer, bot);
  const stream = await peer.met();
  stream.say(match("m1", { phase: Phase.PENDING }));
  assert.equal((await stream.read("ready")).matchId, "m1");
  assert.deepEqual(bot.told, ["started m1 bob"]);
  stream.say(match("m1", { phase: Phase.PAUSED }));
  assert.equal((await stream.read("ready")).matchId, "m1");
  stream.say(match(), turn(0));
  assert.equal((await stream.read("move")).value.move, "a");
  assert.deepEqual(bot.told, ["started m1 bob", "turn 0"]);
});

test("nothing but the hello is said before the server's", async (t) => {
  const peer = await Peer.start();
  playing(t, peer, new Scripted("a"));
  const stream = await peer.stream();
  await stream.read("hello");
  stream.say(turn(0)); // a server that does not keep the order
  stream.say({ case: "ping", value: { number: 1n } });
  await stream.read("pong");
  stream.say({ case: "hello", value: { player: "alice" } });
  await stream.read("move");
});

test("pings are answered at once, while the bot thinks", async (t) => {
  const peer = await Peer.start();
  const bot = new Thinker();
  playing(t, peer, bot);
  const stream = await peer.met();
  stream.say(turn(0), { case: "ping", value: { number: 18446744073709551615n } });
  assert.equal((await stream.read("pong")).value.number, 18446744073709551615n);
  await until(() => bot.thinking === 1, "a thought");
  bot.answer("a");
  await stream.read("move");
});

test("unanswered requests are sent again in their old order, with their old ids", async (t) => {
  const peer = await Peer.start();
  playing(t, peer, new Scripted({ offerDraw: "a" }, "b", "c"), { threaded: true });
  const first = await peer.met();
  first.say(turn(0));
  const offer = await first.read("offerDraw");
  const moves = [await first.read("move")];
  first.say(turn(0, "m2"));
  moves.push(await first.read("move"));
  first.say(turn(0, "m3"));
  moves.push(await first.read("move"));
  first.receipt(moves[1] as (typeof moves)[0]);
  first.end(refusal("DRAINING", "UNAVAILABLE", { retry_after_ms: "1" }));

  const second = await peer.met();
  assert.deepEqual(await second.read("offerDraw"), offer);
  assert.deepEqual(await second.read("move"), moves[0]);
  assert.deepEqual(await second.read("move"), moves[2]);
  second.say(turn(0), turn(0, "m2"), turn(0, "m3"), { case: "ping", value: { number: 5n } });
  await second.read("pong"); // and none of these turns is chosen for again
});

test("a thought outlives its connection, and its turn is not chosen for again", async (t) => {
  const peer = await Peer.start();
  const bot = new Thinker();
  playing(t, peer, bot);
  const first = await peer.met();
  first.say(turn(0));
  await until(() => bot.thinking === 1, "a thought");
  first.end(refusal("SESSION_SILENT", "ABORTED"));
  const second = await peer.met();
  second.say(turn(0));
  second.say({ case: "ping", value: { number: 1n } });
  await second.read("pong");
  bot.answer("a");
  const move = await second.read("move");
  assert.equal(move.value.move, "a");
  assert.equal(bot.thinking, 1);
  second.receipt(move);
  second.say(turn(0), { case: "ping", value: { number: 2n } }); // late, and dealt with
  await second.read("pong");
  assert.equal(bot.thinking, 1);
});

test("a choice that is made while there is no connection is said on the next one", async (t) => {
  const peer = await Peer.start();
  const bot = new Thinker();
  playing(t, peer, bot);
  const first = await peer.met();
  first.say(turn(0));
  await until(() => bot.thinking === 1, "a thought");
  peer.close();
  bot.answer("a");
  const again = await Peer.start(peer.address);
  t.after(() => again.close());
  const second = await again.met();
  assert.equal((await second.read("move")).value.move, "a");
});

test("a server that is silent for longer than its hello says is left", async (t) => {
  const peer = await Peer.start();
  const { logged } = playing(t, peer, new Scripted());
  await (await peer.stream()).meet(50n);
  await peer.met();
  assert.match(logged[0] ?? "", /silent for 50 ms/);
});

test("a server that says no hello is a connection that never was", async (t) => {
  const peer = await Peer.start();
  const { done } = playing(t, peer, new Scripted(), { patienceMs: 0, threaded: true });
  (await peer.stream()).end(refusal("STORE_UNAVAILABLE", "UNAVAILABLE"));
  await assert.rejects(
    done,
    (error) => error instanceof ArbiterError && error.reason === "STORE_UNAVAILABLE",
  );
});

test("a first try that takes longer than the patience is not the last", async (t) => {
  const peer = await Peer.start();
  playing(t, peer, new Scripted(), { patienceMs: 200 });
  const stream = await peer.stream();
  await sleep(200); // nothing to wait for: this is a slow machine
  stream.end(refusal("STORE_UNAVAILABLE", "UNAVAILABLE", { retry_after_ms: "1" }));
  await peer.met();
});

test("a server that is not there is waited for as long as the patience lasts", async (t) => {
  const peer = await Peer.start();
  peer.close();
  const { done } = playing(t, peer, new Scripted(), { patienceMs: 200, threaded: true });
  await assert.rejects(
    done,
    (error) => error instanceof ConnectionFailed && /is it running there/.test(error.message),
  );
});

test("a bot that is told to stop before it has found a server stops", async (t) => {
  const peer = await Peer.start();
  const { done, stop } = playing(t, peer, new Scripted(), { token: "", patienceMs: 1_000_000 });
  peer.close();
  stop();
  await soon(done, "the end of the run");
});

for (const [reason, code] of [
  ["SESSION_SUPERSEDED", "ABORTED"],
  ["TOKEN_INVALID", "UNAUTHENTICATED"],
  ["PLAYER_SUSPENDED", "PERMISSION_DENIED"],
  ["SCOPE_MISSING", "PERMISSION_DENIED"],
  ["GAME_UNKNOWN", "INVALID_ARGUMENT"],
  ["VERSION_UNSUPPORTED", "FAILED_PRECONDITION"],
  ["MESSAGE_TOO_LARGE", "RESOURCE_EXHAUSTED"],
] as const) {
  test(`${reason} ends the run`, async (t) => {
    const peer = await Peer.start();
    const { done } = playing(t, peer, new Scripted());
    const stream = await peer.met();
    stream.end(refusal(reason, code, { why: "x" }));
    await assert.rejects(done, (error) => {
      assert(error instanceof ArbiterError);
      assert.deepEqual([error.reason, error.code, error.facts], [reason, code, { why: "x" }]);
      return true;
    });
  });
}

for (const [reason, code] of [
  ["DRAINING", "UNAVAILABLE"],
  ["SESSION_SILENT", "ABORTED"],
  ["READER_TOO_SLOW", "ABORTED"],
  ["RATE_LIMITED", "RESOURCE_EXHAUSTED"],
] as const) {
  test(`${reason} is connected again after`, async (t) => {
    const peer = await Peer.start();
    playing(t, peer, new Scripted());
    (await peer.met()).end(refusal(reason, code));
    await peer.met();
  });
}

test("a notice says why a stream ended that just broke off", async (t) => {
  const peer = await Peer.start();
  const { done } = playing(t, peer, new Scripted());
  const stream = await peer.met();
  stream.say({ case: "notice", value: refusal("SESSION_SUPERSEDED", "ABORTED") });
  stream.say({ case: "ping", value: { number: 1n } });
  await stream.read("pong");
  peer.close();
  await assert.rejects(done, { reason: "SESSION_SUPERSEDED" });
});

test("a bot that is told to stop says what is to be said, and waits for the server's end", async (t) => {
  const peer = await Peer.start();
  const bot = new Thinker();
  const { done, stop } = playing(t, peer, bot);
  const stream = await peer.met();
  stream.say(match(), turn(0), match("m2"));
  await until(() => bot.thinking === 1, "a thought");
  stream.say(ended("m2", "c2"));
  assert.equal((await stream.read("acknowledge")).value.cursor, "c2");
  stop();
  await stream.closed();
  await soon(done, "the end of the run");
  bot.answer("a"); // too late, and nobody minds
});

test("a stop while the server is away ends the run", async (t) => {
  const peer = await Peer.start();
  const { done, stop, logged } = playing(t, peer, new Scripted());
  await peer.met();
  peer.close();
  await until(() => logged.length > 0, "the loss");
  stop();
  await soon(done, "the end of the run");
});

test("items and fields that are newer than this client are passed over", async (t) => {
  const peer = await Peer.start();
  playing(t, peer, new Scripted("a"));
  const stream = await peer.met();
  stream.say({ case: undefined }, turn(0));
  await stream.read("move");
});

test("an outage is two lines, and hooks are told of it", async (t) => {
  const peer = await Peer.start();
  const told: string[] = [];
  const logged: string[] = [];
  const log = (level: string, line: string) => level === "debug" || logged.push(`${level} ${line}`);
  const connected = (_: string, player: string) => told.push(`connected as ${player}`);
  const disconnected = (_: string, error: Error) => {
    told.push(`disconnected: ${error.message}`);
    throw new Error("a hook that fails");
  };
  playing(t, peer, new Scripted(), { log, hooks: { connected, disconnected }, threaded: true });
  (await peer.met()).end(refusal("DRAINING", "UNAVAILABLE"));
  for (const _ of [1, 2, 3]) {
    const stream = await peer.stream();
    await stream.read("hello");
    stream.end(refusal("STORE_UNAVAILABLE", "UNAVAILABLE"));
  }
  const stream = await peer.met();
  stream.say({ case: "ping", value: { number: 1n } });
  await stream.read("pong");
  await until(() => told.length === 3, "the hooks");
  assert.deepEqual(told, ["connected as alice", "disconnected: said DRAINING", "connected as alice"]);
  const lines = logged
    .filter((line) => !line.includes("hook"))
    .map((line) => line.replace(/[0-9.]+ s$/, "T s"));
  assert.deepEqual(lines, [
    `info connected to ${peer.address} as alice`,
    `warning the connection to ${peer.address} is lost, trying again: said DRAINING`,
    `warning connected to ${peer.address} as alice again, after T s`,
  ]);
  assert(logged.includes("error the hook disconnected failed: Error: a hook that fails"), logged.join("\n"));
});

test("a match that the bot has moved in goes on, and each seat has its own time control", async (t) => {
  const peer = await Peer.start();
  const logged: string[] = [];
  const thought: number[] = [];
  const refused: string[] = [];
  const bot = new Scripted("a", { resign: true });
  playing(t, peer, bot, {
    log: (_, line) => logged.push(line),
    hooks: {
      thought: (_, milliseconds) => thought.push(milliseconds),
      refused: (_, error) => refused.push(error.reason),
    },
  });
  const stream = await peer.met();
  const odds = { timeControl: "5m:2m", timeControls: ["5m", "2m"] };
  stream.say(match("new", { turn: 1, ...odds }), match("answered", { ply: 1, turn: 1 }));
  stream.say(match("moved", { ply: 1, turn: 2 }), match("older", { ply: 8, turn: 1 }), turn(0, "new"));
  stream.refuse(await stream.read("move"), "MOVE_ILLEGAL", "FAILED_PRECONDITION");
  await stream.read("resign");
  const said = logged.filter((line) => / (begins|goes on): /.test(line)).map((line) => line.split(":")[0]);
  assert.deepEqual(said, ["new begins", "answered begins", "moved goes on", "older goes on"]);
  assert.deepEqual(refused, ["MOVE_ILLEGAL"]);
  assert.equal(thought.length, 2);
  assert(logged.includes("move refused in match new: said MOVE_ILLEGAL"), logged.join("\n"));
  const { timeControl, matchTimeControl } = (bot.turns[0] as Turn).match;
  assert.deepEqual([timeControl, matchTimeControl], ["5m", "5m:2m"]);
});
