/** What becomes of what a bot chooses, and of what it does wrong. */

import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  Bot,
  BotFailed,
  breathe,
  type Choice,
  Client,
  type FinishedMatch,
  type LiveMatch,
  type Turn,
} from "game-arbiter-client";
import { PlayItemSchema } from "../src/generated/arbiter/v1/play_pb.js";
import { BotRunner } from "../src/runner.js";
import { ended, letter, match, refusal, turn } from "./messages.js";
import { Peer } from "./peer.js";
import { playing, Scripted } from "./players.js";
import { until } from "./queue.js";

const ILLEGAL = ["MOVE_ILLEGAL", "FAILED_PRECONDITION"] as const;

async function playingOn(t: test.TestContext, bot: Bot, options = {}) {
  const peer = await Peer.start();
  const run = playing(t, peer, bot, options);
  return { peer, stream: await peer.met(), ...run };
}

test("a bot says what it expects", async (t) => {
  const { stream } = await playingOn(
    t,
    new Scripted(
      { text: "a", evaluation: 612, line: ["a", "b"] },
      { offerDraw: { text: "b", line: ["b"] } },
      "c",
    ),
  );
  const moves = [];
  for (const ply of [0, 1, 2]) {
    stream.say(turn(ply));
    if (ply === 1) stream.receipt(await stream.read("offerDraw"));
    const act = await stream.read("move");
    moves.push(act.value);
    stream.receipt(act);
  }
  assert.deepEqual([moves[0]?.comment?.evaluation, moves[0]?.comment?.line], [612, ["a", "b"]]);
  assert.deepEqual(
    [moves[1]?.move, moves[1]?.comment?.evaluation, moves[1]?.comment?.line],
    ["b", undefined, ["b"]],
  );
  assert.equal(moves[2]?.comment, undefined);
});

test("a comment that does not fit costs nothing", async (t) => {
  const comments: unknown[] = [
    { evaluation: -1 },
    { evaluation: 1001, line: [7] },
    { evaluation: 0.5, line: ["\ud800"] },
    { evaluation: "much", line: ["é"] },
    { evaluation: 2n ** 99n, line: ["x".repeat(501)] },
    { evaluation: null, line: [null] },
    { line: 5 },
  ];
  const choices = comments.map((comment) => ({ text: "a", ...(comment as object) }));
  const { stream } = await playingOn(t, new Scripted(...choices));
  for (const number of choices.keys()) {
    stream.say(turn(0, `m${number}`));
    const { value } = await stream.read("move");
    assert.deepEqual([value.move, value.comment], ["a", undefined]);
  }
});

test("a line is cut before the first move that does not fit", async (t) => {
  const long = Array.from({ length: 40 }, (_, n) => `x${n}`);
  const { stream } = await playingOn(
    t,
    new Scripted({ text: "a", line: ["a", "b b", "c"] }, { text: "a", line: long }),
  );
  stream.say(turn(0));
  assert.deepEqual((await stream.read("move")).value.comment?.line, ["a"]);
  stream.say(turn(0, "m2"));
  assert.deepEqual((await stream.read("move")).value.comment?.line, long.slice(0, 32));
});

test("a refused move is chosen again, with the refusal", async (t) => {
  const bot = new Scripted("bad", "good");
  const { stream } = await playingOn(t, bot);
  stream.say(turn(0));
  const bad = await stream.read("move");
  stream.refuse(bad, ...ILLEGAL, { move: "bad", strikes_left: "3" });
  const good = await stream.read("move");
  assert.deepEqual([good.value.move, good.value.ply], ["good", 0]);
  assert.notEqual(good.requestId, bad.requestId);
  const { refused } = bot.turns[1] as Turn;
  assert.equal(refused?.reason, "MOVE_ILLEGAL");
  assert.deepEqual(refused?.facts, { move: "bad", strikes_left: "3" });
});

test("the second refusal of a turn resigns", async (t) => {
  const { stream, logged } = await playingOn(t, new Scripted("bad", "worse"));
  stream.say(turn(0));
  stream.refuse(await stream.read("move"), ...ILLEGAL);
  stream.refuse(await stream.read("move"), ...ILLEGAL);
  assert.equal((await stream.read("resign")).matchId, "m1");
  assert.match(logged.at(-1) ?? "", /^error .*it resigns: ArbiterError: said MOVE_ILLEGAL$/);
});

test("the bot's own answer to a refusal is sent", async (t) => {
  class Stubborn extends Scripted {
    override refused(): Choice {
      return "other";
    }
  }
  const { stream } = await playingOn(t, new Stubborn("bad"));
  stream.say(turn(0));
  stream.refuse(await stream.read("move"), ...ILLEGAL);
  assert.equal((await stream.read("move")).value.move, "other");
});

for (const reason of ["STORE_UNAVAILABLE", "UNKNOWN"] as const) {
  test(`a refusal for now (${reason}) sends the same request again`, async (t) => {
    const { stream } = await playingOn(t, new Scripted("a"));
    stream.say(turn(0));
    const sent = await stream.read("move");
    const code = reason === "UNKNOWN" ? "RESOURCE_EXHAUSTED" : "UNAVAILABLE";
    stream.refuse(sent, reason, code, { retry_after_ms: "1" });
    assert.deepEqual(await stream.read("move"), sent);
  });
}

for (const [reason, code] of [
  ["PLY_MISMATCH", "ABORTED"],
  ["NOT_YOUR_TURN", "FAILED_PRECONDITION"],
  ["MATCH_NOT_ACTIVE", "FAILED_PRECONDITION"],
] as const) {
  test(`a move that came too late (${reason}) costs nothing`, async (t) => {
    const { stream } = await playingOn(t, new Scripted("a", "b"));
    stream.say(turn(0));
    stream.refuse(await stream.read("move"), reason, code);
    stream.say(turn(2));
    assert.equal((await stream.read("move")).value.move, "b");
  });
}

test("an error resigns that match, loudly", async (t) => {
  const { stream, logged } = await playingOn(t, new Scripted(new RangeError("oops"), "a"));
  stream.say(turn(0));
  assert.equal((await stream.read("resign")).matchId, "m1");
  stream.say(turn(0, "m2"));
  assert.equal((await stream.read("move")).matchId, "m2");
  assert.match(
    logged[0] ?? "",
    /^error scripted failed in match m1 at ply 0, and it resigns: RangeError: oops\nRangeError: oops\n +at /,
  );
});

test("what is no choice resigns", async (t) => {
  const nonsense = [5, null, undefined, {}, { text: 7 }, { offerDraw: 5 }, []];
  const { stream, logged } = await playingOn(t, new Scripted(...(nonsense as never[])));
  for (const number of nonsense.keys()) {
    stream.say(turn(0, `m${number}`));
    assert.equal((await stream.read("resign")).matchId, `m${number}`);
  }
  assert.equal(logged.filter((line) => line.includes("choose returned")).length, nonsense.length);
});

const WRAPPED = {
  "as it is": (error: Error) => error,
  "with a cause": (error: Error) => new RangeError("no move", { cause: error }),
  "among several": (error: Error) => new AggregateError([new Error("another"), error]),
  "as a text": (error: Error) => new Error(String(error)),
  "as no error": (error: Error) => error.message as unknown as Error,
};

for (const when of ["at its turn", "as its move is refused"] as const) {
  test(`an outage costs no match, however its error is wrapped, ${when}`, async (t) => {
    const causes: unknown[] = [];
    class Asks extends Scripted {
      override async choose(turn: Turn): Promise<Choice> {
        return when === "at its turn" ? this.refused(turn) : "first";
      }

      override async refused(turn: Turn): Promise<Choice> {
        try {
          return (await turn.client.playMoves(turn.line)).positions[0]?.position ?? "";
        } catch (error) {
          causes.push((error as Error).cause);
          throw WRAPPED[turn.match.matchId as keyof typeof WRAPPED](error as Error);
        }
      }
    }
    const { peer, stream } = await playingOn(t, new Asks());
    let tries = 0;
    peer.answers.PlayMoves = () => {
      tries += 1; // longer than the client is patient
      if (tries % 2 === 1) return refusal("DRAINING", "UNAVAILABLE", { retry_after_ms: "60000" });
      return { positions: [{ position: "good" }] };
    };
    for (const how of Object.keys(WRAPPED)) {
      stream.say(turn(0, how));
      if (when !== "at its turn") stream.refuse(await stream.read("move"), ...ILLEGAL);
      assert.equal((await stream.read("move")).value.move, "good", how);
    }
    assert.deepEqual(
      causes.map((cause) => (cause as { code?: number }).code),
      Object.keys(WRAPPED).map(() => 14),
    );
  });
}

test("an error ends the run where that is wanted", async (t) => {
  const { stream, done } = await playingOn(t, new Scripted(new RangeError("oops")), { onError: "raise" });
  stream.say(turn(0));
  await assert.rejects(done, (error) => error instanceof BotFailed && error.cause instanceof RangeError);
});

test("an error may leave the clock running", async (t) => {
  const { stream } = await playingOn(t, new Scripted(new RangeError("oops"), "a"), { onError: "wait" });
  stream.say(turn(0), turn(0, "m2"));
  assert.equal((await stream.read("move")).matchId, "m2");
});

test("an error in a callback costs nothing", async (t) => {
  class Clumsy extends Scripted {
    override started(): void {
      throw new Error("started");
    }
    override async ended(): Promise<void> {
      throw new Error("ended");
    }
  }
  const { stream, logged } = await playingOn(t, new Clumsy("a"));
  stream.say(match(), turn(0));
  await stream.read("move");
  stream.say(ended());
  await stream.read("acknowledge");
  assert.equal(logged.length, 2);
});

test("draws are offered, claimed and answered", async (t) => {
  class Drawish extends Scripted {
    override drawOffered({ opponent }: LiveMatch): boolean {
      return opponent === "bob";
    }
  }
  const { stream } = await playingOn(
    t,
    new Drawish({ offerDraw: "a" }, { claimDraw: true }, { resign: true }),
  );
  stream.say(turn(0));
  assert.equal((await stream.read("offerDraw")).matchId, "m1");
  stream.receipt(await stream.read("move"));
  stream.say({ case: "drawOffered", value: { matchId: "m1", ply: 1 } });
  assert.equal((await stream.read("answerDraw")).value.accept, true);
  stream.say(turn(2, "m1", { drawClaim: "repetition", drawOffered: true }));
  const claim = await stream.read("claimDraw"); // the offer has been answered
  stream.refuse(claim, "DRAW_NOT_AVAILABLE", "FAILED_PRECONDITION", { why: "no claim" });
  await stream.read("resign");
});

test("an offer is declined by default", async (t) => {
  const { stream } = await playingOn(t, new Scripted());
  stream.say(match("m1", { drawOfferedBy: 2 }));
  assert.equal((await stream.read("answerDraw")).value.accept, false);
});

test("matches are played at once, up to the limit of thinkers", async (t) => {
  const thinking: string[] = [];
  let goOn = () => {};
  const told = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  class Waiting extends Bot {
    readonly name = "waiting";
    async choose({ match: { matchId } }: Turn): Promise<string> {
      thinking.push(matchId);
      await told;
      return matchId;
    }
  }
  const { stream } = await playingOn(t, new Waiting(), { thinkers: 2 });
  stream.say(turn(0, "m0"), turn(0, "m1"), turn(0, "m2"), turn(0, "m3"));
  await until(() => thinking.length === 2, "two thoughts");
  stream.say({ case: "ping", value: { number: 1n } });
  await stream.read("pong");
  assert.deepEqual(thinking, ["m0", "m1"]);
  goOn();
  const moves = [];
  for (let n = 0; n < 4; n += 1) moves.push(await stream.read("move"));
  assert.deepEqual(moves.map(({ matchId }) => matchId).sort(), ["m0", "m1", "m2", "m3"]);
  assert(moves.every(({ matchId, value }) => value.move === matchId));
});

test("a callback of one match does not wait for the thoughts of others", async (t) => {
  const starts: string[] = [];
  class Endless extends Bot {
    readonly name = "endless";
    choose(): Promise<string> {
      return new Promise(() => {});
    }
    override started({ matchId }: LiveMatch): void {
      starts.push(matchId);
    }
  }
  const { stream } = await playingOn(t, new Endless(), { thinkers: 1 });
  stream.say(match(), turn(0), match("m2"), ended("m3", "c3"));
  await stream.read("acknowledge");
  assert.deepEqual(starts, ["m1", "m2"]);
});

test("a turn may come before the receipt of the move that led to it", async (t) => {
  const bot = new Scripted("a", "b", "c");
  const { stream } = await playingOn(t, bot);
  stream.say(turn(0));
  const first = await stream.read("move");
  stream.say(turn(0), turn(1, "m1", { seat: 1 })); // one seat moves twice in a row
  const second = await stream.read("move");
  stream.receipt(first);
  stream.say(turn(1, "m1", { seat: 1 }));
  stream.receipt(second);
  stream.say(turn(2, "m1", { seat: 1 }));
  const third = await stream.read("move");
  assert.deepEqual(
    [first, second, third].map(({ value }) => [value.ply, value.move]),
    [
      [0, "a"],
      [1, "b"],
      [2, "c"],
    ],
  );
  assert.deepEqual(bot.turns[2]?.match.moves, ["a", "b"]);
});

test("a turn with a later ply ends the thought of an older one", async (t) => {
  const answers: ((move: string) => void)[] = [];
  class Slow extends Bot {
    readonly name = "slow";
    choose(): Promise<string> {
      return new Promise((resolve) => answers.push(resolve));
    }
  }
  const { stream } = await playingOn(t, new Slow());
  stream.say(turn(0));
  await until(() => answers.length === 1, "the first thought");
  stream.say(turn(2));
  await until(() => answers.length === 2, "the second thought");
  answers[0]?.("old");
  await breathe();
  answers[1]?.("new");
  const { value } = await stream.read("move");
  assert.deepEqual([value.ply, value.move], [2, "new"]);
});

test("the signal of a turn ends the calls of a choice that is of no use any more", async (t) => {
  const left: unknown[] = [];
  class Asks extends Scripted {
    override async choose(turn: Turn): Promise<Choice> {
      if (turn.ply === 6) return "last";
      await turn.client.playMoves(turn.line, { signal: turn.signal }).catch((error: unknown) => {
        left.push([turn.ply, turn.signal.aborted, (error as Error).name]);
        throw error;
      });
      return "never";
    }
  }
  const { peer, stream, stop, done, logged } = await playingOn(t, new Asks());
  peer.answers.PlayMoves = () => undefined;
  const asked = (count: number) => until(() => peer.asked.length === count, "a call of the bot");
  stream.say(turn(0));
  await asked(1);
  stream.say(turn(2)); // a later turn
  await asked(2);
  assert.deepEqual(left, [[0, true, "AbortError"]]);
  stream.say(ended());
  await stream.read("acknowledge");
  assert.deepEqual(left[1], [2, true, "AbortError"]);
  stream.say(turn(4, "m2"));
  await asked(3);
  stop();
  await until(() => left.length === 3, "the end of the call");
  await done;
  assert.deepEqual(left[2], [4, true, "AbortError"]);
  assert.deepEqual(logged, []);
});

test("a choice that was made leaves the signal of its turn as it is", async (t) => {
  const bot = new Scripted("a");
  const { stream } = await playingOn(t, bot);
  stream.say(turn(0));
  stream.receipt(await stream.read("move"));
  stream.say(ended());
  await stream.read("acknowledge");
  assert.equal(bot.turns[0]?.signal.aborted, false);
});

test("one bot plays in several runs, one after the other and at once", async (t) => {
  const told: unknown[] = [];
  class Everywhere extends Bot {
    readonly name = "everywhere";
    override mostMatches = 1;
    async choose({ client, match: { matchId } }: Turn): Promise<string> {
      return `${matchId} on ${(await client.serverInfo()).software}`;
    }
    override ended({ matchId }: { matchId: string }): void {
      told.push(matchId);
    }
  }
  const bot = new Everywhere();
  const on = async (software: string, matchId: string) => {
    const { peer, stream, done } = await playingOn(t, bot, { matches: 1 });
    peer.answers.GetServerInfo = () => ({ software });
    stream.say(turn(0, matchId));
    assert.equal((await stream.read("move")).value.move, `${matchId} on ${software}`);
    return async () => {
      stream.say(ended(matchId));
      await stream.read("acknowledge");
      await stream.closed();
      await done;
    };
  };
  const [end, other] = await Promise.all([on("first", "m1"), on("second", "m2")]);
  await end();
  await (await on("third", "m3"))(); // while the second run goes on
  await other();
  await (await on("fourth", "m4"))();
  assert.deepEqual(told, ["m1", "m3", "m2", "m4"]);
});

test("both seats of a match against itself", async (t) => {
  const told: unknown[] = [];
  class Twofold extends Bot<{ plies: number[] }> {
    readonly name = "twofold";
    override started({ seat, opponent, memory }: LiveMatch<{ plies: number[] }>): void {
      // @ts-expect-error: the memory has the bot's own type
      memory.plies = "none";
      memory.plies = [];
      told.push(["started", seat, opponent]);
    }
    choose(turn: Turn<{ plies: number[] }>): Choice {
      turn.match.memory.plies?.push(turn.ply);
      return { text: letter(turn.ply), line: [`seat${turn.seat}`] };
    }
    override ended({ seat, match: own }: FinishedMatch<{ plies: number[] }>): void {
      told.push(["ended", seat, own?.memory, own?.over]);
    }
  }
  const { stream } = await playingOn(t, new Twofold(), { matches: 1 });
  stream.say(match("m1", { players: ["alice", "alice"] }));
  const acts = [];
  for (const ply of [0, 1, 2, 3]) {
    stream.say(turn(ply, "m1", { opponent: "alice" }));
    acts.push(await stream.read("move"));
    const before = acts[ply - 1];
    if (before) stream.receipt(before); // the answer to a move comes after the turn that it led to
  }
  const lines = acts.map(({ value }) => value.comment?.line[0]);
  assert.deepEqual(lines, ["seat1", "seat2", "seat1", "seat2"]);
  stream.refuse(acts[3] as (typeof acts)[0], ...ILLEGAL);
  const again = await stream.read("move");
  assert.deepEqual([again.value.ply, again.value.comment?.line], [3, ["seat2"]]);
  stream.say(ended("m1", "c1", { opponent: "alice" }));
  assert.equal((await stream.read("acknowledge")).value.cursor, "c1");
  await stream.closed();
  assert.deepEqual(told, [
    ["started", 1, "alice"],
    ["started", 2, "alice"],
    ["ended", 1, { plies: [0, 2] }, true],
  ]);
});

test("the end of a match is told to its thought, and what it comes to is not said", async (t) => {
  let stopped = false;
  class Endless extends Bot {
    readonly name = "endless";
    async choose(turn: Turn): Promise<string> {
      while (!turn.match.over) await breathe();
      stopped = true;
      return "late";
    }
  }
  const { stream } = await playingOn(t, new Endless());
  stream.say(turn(0));
  stream.say(ended());
  await stream.read("acknowledge");
  await until(() => stopped, "the end of the thought");
  stream.say({ case: "ping", value: { number: 1n } });
  await stream.read("pong");
});

test("a gap in the last moves is closed by asking", async (t) => {
  const bot = new Scripted("f");
  const { peer, stream } = await playingOn(t, bot);
  let tries = 0;
  peer.answers.GetMatch = () => {
    tries += 1;
    if (tries === 1) return refusal("DRAINING", "UNAVAILABLE", { retry_after_ms: "1" });
    return { match: { matchId: "m1", moves: ["a", "b", "c", "d", "e", "f"] } };
  };
  stream.say(turn(5, "m1", { lastMoves: [{ ply: 4, seat: 1, move: "e" }] }));
  await stream.read("move");
  assert.deepEqual(bot.turns[0]?.line, { game: "pods", moves: ["a", "b", "c", "d", "e"] });
  assert.deepEqual(peer.asked.at(-1)?.request.withMoves, true);
});

test("legal moves are those that the turn carries, or else the server's", async (t) => {
  class Last extends Bot {
    readonly name = "last";
    async choose(turn: Turn): Promise<string> {
      return (await this.legalMoves(turn)).at(-1)?.text ?? "";
    }
  }
  const { peer, stream } = await playingOn(t, new Last(), { patienceMs: 0 });
  const answers = [
    refusal("DRAINING", "UNAVAILABLE", { retry_after_ms: "1" }),
    refusal("RATE_LIMITED", "RESOURCE_EXHAUSTED"),
  ];
  const chunks = [{ moves: [{ text: "x" }] }, { moves: [{ text: "y" }] }];
  peer.answers.LegalMoves = () => answers.shift() ?? chunks;
  stream.say(turn(0, "m1", { legalMoves: [{ text: "a" }, { text: "b" }] }));
  assert.equal((await stream.read("move")).value.move, "b");
  stream.say(turn(0, "m2"));
  assert.equal((await stream.read("move")).value.move, "y");
  assert.equal(peer.asked[0]?.token, "secret");
});

test("a turn knows how long the bot may think, from now", async (t) => {
  const bot = new Scripted("a", "b");
  const { stream } = await playingOn(t, bot);
  stream.say(turn(0, "m1", { startedMs: 1_000n, nowMs: 1_200n, availableMs: 5_000n }), turn(0, "m2"));
  await stream.read("move");
  await stream.read("move");
  const left = bot.turns[0]?.timeLeftMs ?? 0;
  assert(left > 0 && left <= 4_800, `${left} ms`);
  assert.equal(bot.turns[1]?.timeLeftMs, undefined);
});

test("results are told once, and acknowledged each time", async (t) => {
  let told = 0;
  class Counting extends Scripted {
    override ended(): void {
      told += 1;
    }
  }
  const { stream } = await playingOn(t, new Counting());
  stream.say(ended(), ended(), turn(0));
  await stream.read("acknowledge");
  await stream.read("acknowledge");
  assert.equal(told, 1);
});

test("a bot that stops takes no more turns", async (t) => {
  const client = new Client({ server: "127.0.0.1:1", token: "secret" });
  t.after(() => client.close());
  const said: string[] = [];
  const voice = { request: () => said.push("request"), say: () => said.push("say") };
  const bot = new Scripted("a", "b");
  const runner = new BotRunner(
    bot,
    client,
    voice,
    { onError: "resign", thinkers: 8, matches: undefined, hooks: {} },
    () => {},
  );
  const item = create(PlayItemSchema, { item: turn(0) });
  runner.take(item, 0);
  runner.close();
  runner.take(create(PlayItemSchema, { item: turn(0, "m2") }), 0);
  await sleep(0);
  assert.deepEqual([bot.turns.length, said], [0, []]);
});
