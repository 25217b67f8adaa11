/** Whole matches on a real arbiter. */

import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ArbiterError,
  Bot,
  type Choice,
  Client,
  ConnectionFailed,
  type FinishedMatch,
  type Match,
  Phase,
  PlayerService,
  type PlayOptions,
  play,
  type Turn,
} from "game-arbiter-client";
import { CircleOfLife } from "game-arbiter-client/rules/circle_of_life";
import { Arbiter } from "./arbiter.js";
import { certificates } from "./certificates.js";
import { start } from "./programs.js";
import { soon, until } from "./queue.js";

/** Plies of a game with a thousand legal moves a turn. */
const FEW = 4;

/** Plays the first legal move, and keeps what it is told. */
class First extends Bot {
  readonly name: string;
  readonly finished: FinishedMatch[] = [];
  readonly choices: string[] = [];

  constructor(name: string) {
    super();
    this.name = name;
  }

  async choose(turn: Turn): Promise<Choice> {
    this.choices.push(`${turn.match.matchId} ${turn.ply}`);
    if (turn.game === "elevation" && turn.ply >= FEW) return { resign: true };
    return (await this.legalMoves(turn))[0]?.text ?? "";
  }

  override ended(finished: FinishedMatch): void {
    this.finished.push(finished);
  }
}

/** Plays by rules of its own, at a pace that leaves time to pull the plug. */
class Slow extends First {
  readonly #rules = new CircleOfLife();

  override async choose(turn: Turn): Promise<string> {
    this.choices.push(`${turn.match.matchId} ${turn.ply}`);
    await sleep(20);
    return this.#rules.moves(this.#rules.parse(turn.position))[0] ?? "";
  }
}

/** The arbiter of the tests that need none of their own. */
let shared: Promise<Arbiter> | undefined;
test.after(async () => (await shared)?.kill());

/** Returns an arbiter; `enter` has a bot play there and returns the promise of the end of its run. */
async function setUp(t: test.TestContext, own?: Arbiter) {
  shared ??= own ? undefined : Arbiter.start();
  const arbiter = own ?? ((await shared) as Arbiter);
  const admin = arbiter.client(t);
  const told = new AbortController();
  const runs: Promise<void>[] = [];
  t.after(async () => {
    told.abort();
    await Promise.allSettled(runs);
  });
  const enter = async (bot: Bot, more: PlayOptions = {}) => {
    const token = await arbiter.token(admin, bot.name);
    const where = { server: arbiter.address, token, tls: arbiter.tls, log: () => {} };
    const done = play(bot, { ...where, signal: told.signal, ...more });
    done.catch(() => {});
    runs.push(done);
    return { done };
  };
  return { arbiter, admin, enter };
}

/** Waits until a player has a live stream. */
async function isOnline(admin: Client, name: string): Promise<void> {
  const { getPlayer } = PlayerService.method;
  while (!(await admin.connection.ask(getPlayer, { name })).player?.online) await sleep(20);
}

async function isOver(admin: Client, { matchId }: Match): Promise<Match> {
  for (;;) {
    const match = await admin.getMatch(matchId, { withMoves: true });
    if (match.phase === Phase.ENDED) return match;
    await sleep(50);
  }
}

test("two bots play a match of each of five games", async (t) => {
  const { admin, enter } = await setUp(t);
  const [alice, bob] = [new First("alice"), new First("bob")];
  const runs = [await enter(alice, { matches: 5 }), await enter(bob, { matches: 5 })];
  const games = ["circle-of-life", "elevation", "hop-it", "pods(size=3)", "pondlife"]; // whose matches are short
  const matches = [];
  for (const game of games) {
    matches.push(
      await admin.createMatch({ game, players: ["alice", "bob"], timeControl: "2m+1s", rated: true }),
    );
  }
  await soon(Promise.all(runs.map(({ done }) => done)), "the end of both runs");
  assert.deepEqual(alice.finished.map(({ game }) => game).sort(), games.toSorted());
  for (const { match, score, result } of alice.finished) {
    assert.notEqual(score, undefined);
    assert.equal(match?.opponent, "bob");
    assert.match(result.reason, /^[a-z_]+$/);
  }
  for (const match of matches) {
    const { moves, comments } = await admin.getMatch(match.matchId, { withMoves: true });
    assert(moves.length > 0);
    assert.deepEqual(comments, []);
  }
});

test("a match outlives a server that is killed, and no turn is chosen for twice", async (t) => {
  const arbiter = await Arbiter.start();
  t.after(() => arbiter.kill());
  const { admin, enter } = await setUp(t, arbiter);
  const [alice, bob] = [new Slow("alice"), new Slow("bob")];
  await enter(alice);
  await enter(bob);
  const match = await admin.createMatch({
    game: "circle-of-life",
    players: ["alice", "bob"],
    timeControl: "2m+1s",
  });
  const seen: number[] = [];
  const watching = (async () => {
    const observer = arbiter.client(t, { log: () => {} });
    for await (const { revision } of observer.observe(match.matchId)) seen.push(revision);
  })();
  for (const plies of [5, 15]) {
    await until(() => alice.choices.length + bob.choices.length >= plies, `${plies} choices`);
    await arbiter.kill();
    await arbiter.start();
  }
  const { result, moves, revision } = await soon(isOver(admin, match), "the end of the match");
  assert.match(result?.reason ?? "", /^(target_eaten|cannot_evolve)$/);
  for (const bot of [alice, bob]) assert.deepEqual(bot.choices, [...new Set(bot.choices)]);
  assert.equal(alice.choices.length + bob.choices.length, moves.length);
  await soon(watching, "the end of the events");
  assert.deepEqual(
    seen,
    Array.from({ length: revision }, (_, n) => n + 1),
  ); // in order, without a gap, none twice
});

test("an illegal move is refused, counted, and made good", async (t) => {
  class Careless extends First {
    readonly reasons: string[] = [];

    override async choose(turn: Turn): Promise<Choice> {
      return turn.refused || turn.ply > 1 ? super.choose(turn) : "a1";
    }

    override refused(_turn: Turn, { reason }: ArbiterError): undefined {
      this.reasons.push(reason);
    }
  }
  const { admin, enter } = await setUp(t);
  const bob = new Careless("emil");
  const runs = [await enter(new First("dora"), { matches: 1 }), await enter(bob, { matches: 1 })];
  const match = await admin.createMatch({
    game: "circle-of-life",
    players: ["dora", "emil"],
    timeControl: "2m+1s",
  });
  await soon(Promise.all(runs.map(({ done }) => done)), "the end of both runs");
  assert.deepEqual(bob.reasons, ["MOVE_ILLEGAL"]);
  assert.match((await admin.getMatch(match.matchId)).result?.reason ?? "", /^(target_eaten|cannot_evolve)$/);
});

test("a second session of a player ends the first, for good", async (t) => {
  const { admin, enter } = await setUp(t);
  const first = await enter(new First("fay"));
  await isOnline(admin, "fay");
  const second = await enter(new First("fay"), { matches: 1 });
  await assert.rejects(soon(first.done, "its end"), { reason: "SESSION_SUPERSEDED" });
  await admin.createMatch({ game: "hop-it", players: ["fay", "fay"], timeControl: "2m+1s" });
  await soon(second.done, "the end of the second");
});

test("a challenge and a seek become matches", async (t) => {
  const { arbiter, admin, enter } = await setUp(t);
  const [gil, hana, ida] = [new First("gil"), new First("hana"), new First("ida")];
  gil.seeks = [{ game: "hop-it", timeControl: "1m+1s" }];
  gil.mostMatches = 1;
  hana.acceptSeeks = true;
  hana.mostMatches = 1;
  hana.games = ["hop-it"];
  await enter(gil);
  const { done } = await enter(hana, { matches: 1 });
  await soon(done, "a match from a seek");
  assert.deepEqual(
    hana.finished.map(({ opponent, game }) => [opponent, game]),
    [["gil", "hop-it"]],
  );
  const challenged = await enter(ida, { matches: 1 });
  await isOnline(admin, "ida");
  const asking = arbiter.client(t, { token: await arbiter.token(admin, "gil") });
  await asking.createChallenge("ida", { game: "circle-of-life", timeControl: "1m+1s" });
  await soon(challenged.done, "a match from a challenge");
  assert.deepEqual(
    ida.finished.map(({ opponent, game }) => [opponent, game]),
    [["gil", "circle-of-life"]],
  );
});

test("the samples play and watch", async (t) => {
  const { arbiter, admin } = await setUp(t);
  const environment = async (name: string) => ({
    ARBITER_SERVER: arbiter.address,
    ARBITER_TOKEN: await arbiter.token(admin, name),
  });
  const game = "circle-of-life(target=2)";
  const once = ["--matches", "1"];
  const bots = [
    start(t, "samples/search", once, await environment("jan")),
    start(t, "samples/circle_of_life", once, await environment("kim")),
  ];
  const { matchId } = await admin.createMatch({ game, players: ["jan", "kim"], timeControl: "20s+100ms" });
  const observer = start(t, "samples/observer", [matchId], await environment("lea"));
  for (const bot of bots) assert.deepEqual(await bot.ends(), { out: "", err: "", code: 0 });
  const { out, code } = await observer.ends();
  assert.equal(code, 0);
  assert(out.startsWith(`${matchId} 1: ${game}: jan against kim, 20s+100ms\n`), out);
  assert.match(out, /: seat [12] wins: [a-z_]+\n$/);
});

test("over TLS, with certificates on both sides", async (t) => {
  const file = certificates();
  const tls = {
    rootCertificate: file("root.pem"),
    clientCertificate: file("client.pem"),
    clientKey: file("client.key"),
  };
  const papers = ["--tls-certificate", file("server.pem"), "--tls-key", file("server.key")];
  const arbiter = await Arbiter.start([...papers, "--tls-client-authority", file("root.pem")], tls);
  t.after(() => arbiter.kill());
  const { admin, enter } = await setUp(t, arbiter);
  const bot = new First("alice");
  const run = await enter(bot, { matches: 1 });
  await admin.createMatch({ game: "hop-it", players: ["alice", "alice"], timeControl: "2m+1s" });
  await soon(run.done, "the end of the run");
  assert.equal(bot.finished.length, 1);
  for (const wrong of [undefined, { rootCertificate: tls.rootCertificate }, {}]) {
    const client = new Client({ server: arbiter.address, token: "x", tls: wrong, patienceMs: 0 });
    t.after(() => client.close());
    await assert.rejects(client.serverInfo(), ConnectionFailed);
  }
});
