/** Unary calls, and watching. */

import assert from "node:assert/strict";
import test from "node:test";
import { ArbiterError, Client, ConnectionFailed, MatchService, Phase, Scope } from "game-arbiter-client";
import { refusal } from "./messages.js";
import { Peer } from "./peer.js";
import { soon, until } from "./queue.js";

async function clientOf(t: test.TestContext, options = {}) {
  const peer = await Peer.start();
  const logged: string[] = [];
  const log = (level: string, text: string) => logged.push(`${level} ${text}`);
  const client = new Client({ server: peer.address, token: "secret", log, ...options });
  t.after(() => {
    client.close();
    peer.close();
  });
  return { peer, client, logged };
}

test("what the server is, as plain values", async (t) => {
  const { peer, client } = await clientOf(t);
  peer.answers.GetServerInfo = () => ({
    software: "arbiter",
    limits: { silence_ms: 20_000n },
    nowMs: 1_800_000_000_000n,
  });
  const info = await client.serverInfo();
  assert.deepEqual([info.limits, info.nowMs], [{ silence_ms: 20_000 }, 1_800_000_000_000]);
  assert.equal(peer.asked[0]?.token, "secret");
});

test("a refusal has its reason, code and facts", async (t) => {
  const { peer, client } = await clientOf(t);
  peer.answers.GetGame = () => refusal("GAME_UNKNOWN", "INVALID_ARGUMENT", { what: "chess" });
  await assert.rejects(client.getGame("chess"), (error) => {
    assert(error instanceof ArbiterError);
    assert.deepEqual(
      [error.reason, error.code, error.facts.what],
      ["GAME_UNKNOWN", "INVALID_ARGUMENT", "chess"],
    );
    return true;
  });
});

test("a refusal for now is tried again; registering is not", async (t) => {
  const { peer, client } = await clientOf(t);
  const answers: object[] = [
    refusal("DRAINING", "UNAVAILABLE", { retry_after_ms: "1" }),
    { software: "arbiter" },
  ];
  peer.answers.GetServerInfo = () => answers.shift() ?? {};
  assert.equal((await client.serverInfo()).software, "arbiter");
  peer.answers.RegisterPlayer = () => refusal("RATE_LIMITED", "RESOURCE_EXHAUSTED", { retry_after_ms: "7" });
  await assert.rejects(client.registerPlayer("alice"), {
    reason: "RATE_LIMITED",
    temporary: true,
    retryAfterMs: 7,
  });
});

test("where no arbiter answers, the error says what to check", async (t) => {
  const { peer, client } = await clientOf(t, { patienceMs: 0 });
  peer.close();
  await assert.rejects(client.serverInfo(), (error) => error instanceof ConnectionFailed);
});

test("a client that is closed ends the calls that are under way, and those that wait to be tried again", async (t) => {
  const { peer, client } = await clientOf(t, { patienceMs: 60_000 });
  peer.answers.GetGame = () => undefined;
  peer.answers.LegalMoves = () => undefined;
  peer.answers.GetServerInfo = () => refusal("DRAINING", "UNAVAILABLE", { retry_after_ms: "50000" });
  const calls = [client.getGame("pods"), client.legalMoves({ game: "pods", moves: [] }), client.serverInfo()];
  for (const call of calls) call.catch(() => {});
  await until(() => peer.asked.length === 3, "three calls");
  client.close();
  for (const call of calls) await soon(assert.rejects(call), "its end");
});

test("lists are read to their end, page by page", async (t) => {
  const { peer, client } = await clientOf(t);
  peer.answers.ListMatches = ({ pageToken }: { pageToken: string }) => {
    const from = Number(pageToken || 0);
    const matches = [from, from + 1].map((n) => ({ matchId: `m${n}`, phase: Phase.ENDED }));
    return { matches, nextPageToken: from < 4 ? String(from + 2) : "" };
  };
  const ids = async (most?: number) =>
    (await client.listMatches({ player: "bob" }, { most })).map(({ matchId }) => matchId);
  assert.deepEqual(await ids(), ["m0", "m1", "m2", "m3", "m4", "m5"]);
  assert.deepEqual(await ids(3), ["m0", "m1", "m2"]);
  assert.equal(peer.asked[0]?.request.player, "bob");
});

test("calls that change something choose a request id, or take one", async (t) => {
  const { peer, client } = await clientOf(t);
  peer.answers.CreateMatch = () => ({ match: { matchId: "m1" } });
  peer.answers.CreateSeek = () => ({ seek: { challengeId: "c1" } });
  assert.equal((await client.createMatch({ game: "pods", players: ["alice", "bob"] })).matchId, "m1");
  await client.createMatch({ game: "pods", players: ["alice", "bob"], requestId: "mine" });
  assert.equal((await client.createSeek({ game: "pods" })).challengeId, "c1");
  const ids = peer.asked.map(({ request }) => request.requestId);
  assert.match(String(ids[0]), /^[0-9a-f]{32}$/);
  assert.equal(ids[1], "mine");
  assert.notEqual(ids[0], ids[2]);
});

test("who one is, with scopes that are newer than this client left at 0", async (t) => {
  const { peer, client } = await clientOf(t);
  peer.answers.GetPlayer = () => ({ player: { name: "alice" }, scopes: [1, 3, 99] });
  const { player, scopes } = await client.myself();
  assert.deepEqual([player?.name, scopes], ["alice", [Scope.PLAY, Scope.OBSERVE, Scope.UNSPECIFIED]]);
});

test("tournaments: list, look at, enter, withdraw, standings", async (t) => {
  const { peer, client } = await clientOf(t);
  peer.answers.ListTournaments = () => ({ tournaments: [{ tournamentId: "t1" }] });
  peer.answers.GetTournament = () => ({
    tournament: { tournamentId: "t1", spec: { name: "Cup" }, startedMs: 5n },
  });
  peer.answers.EnterTournament = () => ({ entrant: { player: "alice" } });
  peer.answers.WithdrawFromTournament = () => ({ entrant: { player: "alice", withdrawn: true } });
  peer.answers.GetStandings = () => ({ rows: [{ place: 1, player: "alice", halfPoints: 3 }] });
  assert.deepEqual(
    (await client.listTournaments()).map(({ tournamentId }) => tournamentId),
    ["t1"],
  );
  const { spec, startedMs } = await client.getTournament("t1");
  assert.deepEqual([spec?.name, startedMs], ["Cup", 5]);
  assert.equal((await client.enterTournament("t1", { byes: [2] })).player, "alice");
  assert.equal((await client.withdrawFromTournament("t1")).withdrawn, true);
  assert.equal((await client.getStandings("t1")).rows[0]?.halfPoints, 3);
});

test("every other call of the protocol is one line", async (t) => {
  const { peer, client } = await clientOf(t);
  peer.answers.Resign = () => ({ receipt: { revision: 7n } });
  const answer = await client.connection.ask(MatchService.method.resign, { requestId: "r", matchId: "m1" });
  assert.equal(answer.receipt?.revision, 7n);
});

test("a signal ends the call that it was given to, and no other", async (t) => {
  const { peer, client } = await clientOf(t, { patienceMs: 60_000 });
  peer.answers.GetGame = () => undefined;
  peer.answers.LegalMoves = () => undefined;
  peer.answers.Observe = () => undefined;
  peer.answers.GetMatch = () => undefined;
  peer.answers.GetServerInfo = () => refusal("DRAINING", "UNAVAILABLE", { retry_after_ms: "50000" });
  const told = new AbortController();
  const { signal } = told;
  const calls: Promise<unknown>[] = [
    client.getGame("pods", { signal }),
    client.legalMoves({ game: "pods", moves: [] }, { signal }),
    client.observe("m1", { signal }).next(),
    client.serverInfo({ signal }), // waits to be tried again
  ];
  for (const call of calls) call.catch(() => {});
  let others = 0;
  void client.getMatch("m1").catch(() => {
    others += 1;
  });
  await until(() => peer.asked.length === 5, "five calls");
  told.abort(new RangeError("enough"));
  for (const call of calls) await soon(assert.rejects(call, RangeError), "its end");
  await assert.rejects(client.getGame("pods", { signal }), RangeError);
  assert.equal(peer.asked.length, 5); // what is aborted already asks nothing
  assert.equal(others, 0);
});

test("watching a match outlives its connections, without a gap and without a repetition", async (t) => {
  const { peer, client, logged } = await clientOf(t);
  const event = (revision: number) => ({
    items: [{ item: { case: "event", value: { matchId: "m1", revision: BigInt(revision), kind: "moved" } } }],
  });
  const bookmark = { items: [{ token: "t", item: { case: "bookmark", value: { revision: 9n } } }] };
  const streams = [
    [event(1), event(2), refusal("READER_TOO_SLOW", "ABORTED", { resume_from: "2" })],
    [refusal("DRAINING", "UNAVAILABLE", { retry_after_ms: "1" })],
    [event(2), bookmark, { items: [{ item: { case: undefined } }] }, event(3)],
  ];
  peer.answers.Observe = () => streams.shift() ?? [];
  const seen: number[] = [];
  for await (const { revision } of client.observe("m1")) seen.push(revision);
  assert.deepEqual(seen, [1, 2, 3]);
  const asked = peer.asked.map(
    ({ request }) => (request.of as { value: { afterRevision: bigint } }).value.afterRevision,
  );
  assert.deepEqual(asked, [0n, 2n, 2n]);
  assert.equal(logged.length, 2);
});

test("watching everything goes on after the last token", async (t) => {
  const { peer, client } = await clientOf(t);
  const item = (token: string, what: object) => ({ items: [{ token, item: what }] });
  const moved = { case: "event", value: { matchId: "m1", event: { case: "moved", value: { move: "a" } } } };
  const streams = [
    [item("1", moved), item("2", { case: "bookmark", value: {} }), refusal("DRAINING", "UNAVAILABLE")],
    [item("3", { case: undefined }), item("4", moved), refusal("TOKEN_INVALID", "UNAUTHENTICATED")],
  ];
  peer.answers.Observe = () => streams.shift() ?? [];
  const seen: unknown[] = [];
  const watch = async () => {
    for await (const { token, event } of client.observeAll({ label: "cup" })) {
      seen.push([token, event.case === "moved" && event.value.move]);
    }
  };
  await assert.rejects(watch(), { reason: "TOKEN_INVALID" });
  assert.deepEqual(seen, [
    ["1", "a"],
    ["4", "a"],
  ]);
  const all = peer.asked.map(
    ({ request }) => (request.of as { value: { afterToken: string } }).value.afterToken,
  );
  assert.deepEqual(all, ["", "2"]);
});

test("a stream that was never there is given up", async (t) => {
  const { peer, client } = await clientOf(t, { patienceMs: 100 });
  peer.close();
  await assert.rejects(client.observe("m1").next(), ConnectionFailed);
});

test("the record of a match, in one piece", async (t) => {
  const { peer, client } = await clientOf(t);
  peer.answers.GetTranscript = () => [{ lines: Buffer.from("one\n") }, { lines: Buffer.from("two\n") }];
  assert.equal(Buffer.from(await client.transcript("m1")).toString(), "one\ntwo\n");
});
