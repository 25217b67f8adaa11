/** Challenges, seeks and tournaments: what the bot's settings make of them. */

import assert from "node:assert/strict";
import test from "node:test";
import { ArbiterError, type Challenge, type PlayOptions, play, TournamentPhase } from "game-arbiter-client";
import { ended, match, refusal, turn } from "./messages.js";
import { Peer } from "./peer.js";
import { playing, Scripted } from "./players.js";
import { until } from "./queue.js";

class Picky extends Scripted {
  override games = ["pods"];
  override timeControls = ["1m+1s"];
  override opponents = ["bob", "carol"];
}

function challenge(challengeId: string, game = "pods", timeControl = "1m+1s", challenger = "bob") {
  return { challengeId, challenger, opponent: "alice", terms: { game, timeControl } };
}

async function playingOn(t: test.TestContext, bot: Scripted, options: PlayOptions = {}) {
  const peer = await Peer.start();
  peer.answers.DeclineChallenge = () => ({});
  peer.answers.AcceptChallenge = ({ challengeId }: { challengeId: string }) => ({
    match: { matchId: `of ${challengeId}`, game: "pods", players: ["bob", "alice"] },
  });
  const run = playing(t, peer, bot, options);
  const verdicts = () =>
    Object.fromEntries(
      peer.asked
        .filter(({ method }) => /Challenge$/.test(method))
        .map(({ method, request }) => [request.challengeId, request.reason ?? method]),
    );
  return { peer, verdicts, ...run };
}

test("challenges are accepted by the bot's settings", async (t) => {
  const { peer, verdicts } = await playingOn(t, new Picky());
  const stream = await peer.met();
  for (const value of [
    challenge("c1", "pods(size=5)"),
    challenge("c2", "hop-it"),
    challenge("c3", "pods", "none"),
    challenge("c4", "pods", "1m+1s", "mallory"),
    challenge("c5", "pods", "1m+1s", "alice"),
  ]) {
    stream.say({ case: "challenge", value });
  }
  await until(() => peer.asked.length === 4, "four answers");
  assert.deepEqual(verdicts(), {
    c1: "AcceptChallenge",
    c2: "this bot plays pods",
    c3: "this bot plays at 1m+1s",
    c4: "this bot plays against bob, carol",
  });
});

test("no more matches are accepted than the bot plays at once", async (t) => {
  class One extends Scripted {
    override mostMatches = 1;
  }
  const { peer, verdicts } = await playingOn(t, new One());
  const stream = await peer.met();
  stream.say({ case: "challenge", value: challenge("c1") }, { case: "challenge", value: challenge("c2") });
  await until(() => peer.asked.length === 2, "two answers");
  assert.deepEqual(verdicts(), {
    c1: "AcceptChallenge",
    c2: "this bot plays 1 matches at once, and is playing them",
  });
});

test("a bot may decide about challenges itself", async (t) => {
  class Own extends Scripted {
    override challenged({ challengeId }: Challenge): boolean | string {
      if (challengeId === "c3") throw new Error("oops");
      return challengeId === "c1" || "x".repeat(300);
    }
  }
  const { peer, verdicts } = await playingOn(t, new Own());
  const stream = await peer.met();
  for (const id of ["c1", "c2", "c3"]) stream.say({ case: "challenge", value: challenge(id) });
  await until(() => peer.asked.length === 3, "three answers");
  assert.deepEqual(verdicts(), {
    c1: "AcceptChallenge",
    c2: "x".repeat(200),
    c3: "the bot failed to consider it",
  });
});

test("a bot that accepts no challenges says so", async (t) => {
  const bot = new Scripted();
  bot.acceptChallenges = false;
  const { peer, verdicts } = await playingOn(t, bot);
  const stream = await peer.met();
  stream.say({ case: "challenge", value: challenge("c1") });
  await until(() => peer.asked.length === 1, "an answer");
  assert.deepEqual(verdicts(), { c1: "this bot accepts no challenges" });
});

test("open seeks of others are accepted where they suit, and left alone where not", async (t) => {
  const bot = new Picky();
  bot.acceptSeeks = true;
  bot.mostMatches = 1;
  const { peer, verdicts } = await playingOn(t, bot);
  const stream = await peer.stream();
  assert.equal((await stream.meet()).seeks, true);
  for (const value of [challenge("c1", "hop-it"), challenge("c2"), challenge("c3"), challenge("c4")]) {
    stream.say({ case: "seek", value: { ...value, opponent: "" } });
  }
  stream.say({ case: "challenge", value: challenge("c5") });
  await until(() => peer.asked.length === 2, "answers");
  assert.deepEqual(Object.keys(verdicts()), ["c2", "c5"]);
  assert.equal(verdicts().c2, "AcceptChallenge");
});

test("a seek that somebody else has accepted is no trouble", async (t) => {
  const bot = new Scripted();
  bot.acceptSeeks = true;
  const { peer, logged } = await playingOn(t, bot);
  peer.answers.AcceptChallenge = () => refusal("CHALLENGE_NOT_FOUND", "NOT_FOUND");
  const stream = await peer.met();
  stream.say({ case: "seek", value: challenge("c1") });
  await until(() => logged.length === 1, "the log");
  assert.match(logged[0] ?? "", /^debug/);
});

test("seeks are left alone without a word where the bot does not accept them", async (t) => {
  const { peer } = await playingOn(t, new Scripted());
  const stream = await peer.stream();
  assert.equal((await stream.meet()).seeks, false);
  stream.say({ case: "seek", value: challenge("c1") }, { case: "challenge", value: challenge("c2") });
  await until(() => peer.asked.length === 1, "an answer");
  assert.equal(peer.asked[0]?.request.challengeId, "c2");
});

test("the bot's own seeks are kept open while there is room, and only then", async (t) => {
  const bot = new Scripted();
  bot.seeks = [
    { game: "pods", timeControl: "1m+1s", rated: true },
    { game: "hop-it", abandonMs: 0n },
  ];
  bot.mostMatches = 1;
  const { peer, stop } = await playingOn(t, bot);
  let made = 0;
  peer.answers.ListChallenges = () => ({
    challenges: [
      { challengeId: "impatient", challenger: "alice", terms: { game: "hop-it", timeControl: "5m" } },
      {
        challengeId: "old",
        challenger: "alice",
        terms: { game: "hop-it", timeControl: "5m", seat: 1, abandonMs: 0 },
      },
      { challengeId: "other", challenger: "bob", terms: { game: "pods", timeControl: "1m+1s", rated: true } },
    ],
  });
  peer.answers.CreateSeek = ({ terms }: { terms: object }) => {
    made += 1;
    return { seek: { challengeId: `s${made}`, challenger: "alice", terms } };
  };
  const asked = () =>
    peer.asked.map(({ method, request }) => `${method} ${request.challengeId ?? ""}`.trim());
  const stream = await peer.met();
  await until(() => made === 1, "a seek for pods; the one for hop-it is there from before");
  stream.say({ case: "challengeClosed", value: { challengeId: "s1", matchId: "m1" } });
  await until(() => asked().includes("DeclineChallenge old"), "its withdrawal");
  assert.equal(made, 1);
  stream.say(match(), ended());
  await stream.read("acknowledge");
  await until(() => made === 3, "two new seeks");
  stop();
  await stream.closed();
  await until(() => asked().includes("DeclineChallenge s3"), "their withdrawal");
  assert.deepEqual(asked(), [
    "ListChallenges",
    "CreateSeek",
    "DeclineChallenge old",
    "CreateSeek",
    "CreateSeek",
    "DeclineChallenge s2",
    "DeclineChallenge s3",
  ]);
});

test("the stream ends once the bot's seeks are withdrawn, or that takes too long", async (t) => {
  const bot = new Scripted();
  bot.seeks = [{ game: "pods" }];
  const { peer, stop } = await playingOn(t, bot);
  peer.answers.ListChallenges = () => ({});
  peer.answers.CreateSeek = () => ({ seek: { challengeId: "s1" } });
  peer.answers.DeclineChallenge = () => undefined;
  const stream = await peer.met();
  await until(() => peer.asked.length === 2, "a seek");
  const told = performance.now();
  stop();
  await stream.closed();
  assert.ok(performance.now() - told > 1_900);
});

test("what fails about the bot's seeks is done again, and no open seek is forgotten", async (t) => {
  const bot = new Scripted();
  bot.seeks = [{ game: "pods" }, { game: "hop-it" }];
  bot.mostMatches = 1;
  const { peer } = await playingOn(t, bot);
  const failed = refusal("ARGUMENT_INVALID", "INTERNAL");
  const old = { challenges: [{ challengeId: "old", challenger: "alice", terms: { game: "pods" } }] };
  const lists = [failed, old];
  const withdrawals = [failed, {}];
  let made = 0;
  peer.answers.ListChallenges = () => lists.shift();
  peer.answers.CreateSeek = () => ({ seek: { challengeId: `s${++made}`, challenger: "alice" } });
  peer.answers.DeclineChallenge = () => withdrawals.shift();
  const asked = () =>
    peer.asked.map(({ method, request }) => `${method} ${request.challengeId ?? ""}`.trim());
  const stream = await peer.met();
  await until(() => made === 1, "a seek for hop-it; the one for pods is there from before");
  stream.say({ case: "challengeClosed", value: { challengeId: "old", matchId: "m1" } });
  const expected = [
    "ListChallenges",
    "ListChallenges",
    "CreateSeek",
    "DeclineChallenge s1",
    "DeclineChallenge s1",
  ];
  await until(() => asked().length === expected.length, "its withdrawal, twice");
  assert.deepEqual(asked(), expected);
  stream.say(match(), ended());
  await until(() => made === 3, "two new seeks");
});

test("the seeks of a bot that plays elsewhere now are the other's", async (t) => {
  const bot = new Scripted();
  bot.seeks = [{ game: "pods" }];
  const { peer, done } = await playingOn(t, bot);
  peer.answers.ListChallenges = () => ({});
  peer.answers.CreateSeek = ({ terms }: { terms: object }) => ({ seek: { challengeId: "s1", terms } });
  const stream = await peer.met();
  await until(() => peer.asked.length === 2, "a seek");
  stream.end(refusal("SESSION_SUPERSEDED", "ABORTED"));
  await assert.rejects(done, { reason: "SESSION_SUPERSEDED" });
  assert.deepEqual(
    peer.asked.map(({ method }) => method),
    ["ListChallenges", "CreateSeek"],
  );
});

test("a seek that the server does not take ends the run", async (t) => {
  const bot = new Scripted();
  bot.seeks = [{ game: "chess" }];
  const { peer, done } = await playingOn(t, bot);
  peer.answers.ListChallenges = () => ({});
  peer.answers.CreateSeek = () => refusal("GAME_UNKNOWN", "INVALID_ARGUMENT");
  const refused = assert.rejects(
    done,
    (error) => error instanceof ArbiterError && error.reason === "GAME_UNKNOWN",
  );
  await peer.met();
  await refused;
});

test("no more matches are agreed on than are played, and those are finished", async (t) => {
  const bot = new Scripted("a");
  bot.seeks = [{ game: "pods" }, { game: "hop-it" }, { game: "pondlife" }];
  const { peer, done } = await playingOn(t, bot, { matches: 2 });
  let seeks = 0;
  peer.answers.ListChallenges = () => ({});
  peer.answers.CreateSeek = ({ terms }: { terms: object }) => {
    seeks += 1;
    return { seek: { challengeId: `s${seeks}`, terms } };
  };
  peer.answers.DeclineChallenge = () => ({});
  const stream = await peer.met();
  const asked = (name: string) => peer.asked.filter(({ method }) => method === name);
  await until(() => seeks === 2, "two seeks");
  for (const number of [1, 2]) {
    const told = { challengeId: `s${number}`, matchId: `m${number}`, reason: "" };
    stream.say({ case: "challengeClosed", value: told }, match(`m${number}`));
  }
  const terms = { game: "pods", timeControl: "1m+1s" };
  stream.say({ case: "challenge", value: { challengeId: "c1", challenger: "bob", terms } });
  await until(() => asked("DeclineChallenge").length === 1, "the challenge to be declined");
  assert.match(String(asked("DeclineChallenge")[0]?.request.reason), /as many matches/);
  stream.say(match("m3"), ended("m1", "c1"), ended("m2", "c2"));
  for (const _ of [1, 2]) await stream.read("acknowledge");
  stream.say(turn(0, "m3")); // an organiser's: it is under way, and is finished
  assert.equal((await stream.read("move")).matchId, "m3");
  stream.say(ended("m3", "c3"));
  await done;
  assert.equal(seeks, 2);
});

for (const taken of [false, true])
  test(`a challenge is ${taken ? "declined" : "accepted"} once the seek for the last match is ${taken ? "taken" : "withdrawn"}`, async (t) => {
    const bot = new Scripted("a");
    bot.seeks = [{ game: "pods" }];
    const { peer } = await playingOn(t, bot, { matches: 1 });
    peer.answers.ListChallenges = () => ({});
    peer.answers.CreateSeek = ({ terms }: { terms: object }) => ({ seek: { challengeId: "s1", terms } });
    peer.answers.DeclineChallenge = ({ challengeId }: { challengeId: string }) =>
      taken && challengeId === "s1" ? refusal("CHALLENGE_NOT_FOUND", "NOT_FOUND") : {};
    const stream = await peer.met();
    await until(() => peer.asked.length === 2, "a seek");
    const terms = { game: "pods", timeControl: "1m+1s" };
    stream.say({ case: "challenge", value: { challengeId: "c1", challenger: "bob", terms } });
    await until(() => peer.asked.length >= 4, "an answer");
    const asked = peer.asked.slice(2, 4).map(({ method, request }) => [method, request.challengeId]);
    assert.deepEqual(asked, [
      ["DeclineChallenge", "s1"],
      [taken ? "DeclineChallenge" : "AcceptChallenge", "c1"],
    ]);
  });

test("no more seeks are made than matches are left", async (t) => {
  class Seeking extends Scripted {
    override seeks = [{ game: "pods" }, { game: "hop-it" }, { game: "pondlife" }];
  }
  const { peer, done } = await playingOn(t, new Seeking(), { matches: 2 });
  let count = 0;
  peer.answers.CreateSeek = () => ({ seek: { challengeId: `s${++count}`, challenger: "alice" } });
  peer.answers.ListChallenges = () => ({ challenges: [] });
  const asked = (method: string) => peer.asked.filter((each) => each.method === method);
  const quiet = async () => {
    stream.say({ case: "ping", value: { number: 9n } });
    await stream.read("pong");
  };
  const stream = await peer.met();
  await until(() => asked("CreateSeek").length === 2, "two seeks");
  await quiet();
  stream.say({ case: "challengeClosed", value: { challengeId: "s1", matchId: "m1" } });
  stream.say(match("m1"), ended("m1"));
  await stream.read("acknowledge");
  stream.say({ case: "challengeClosed", value: { challengeId: "s2", matchId: "m2" } });
  stream.say(match("m2"), ended("m2", "c2"));
  await stream.read("acknowledge");
  await stream.closed();
  await done;
  assert.equal(asked("CreateSeek").length, 2);
});

test("ratings of challengers are asked for and limited", async (t) => {
  class Strong extends Scripted {
    override leastRating = 1400;
    override mostRating = 1600;
  }
  const ratings: Record<string, number[]> = { bob: [1500, 1900], carol: [1399.5], dave: [1601], erin: [] };
  const { peer, verdicts } = await playingOn(t, new Strong());
  peer.answers.GetRating = ({ player, game }: { player: string; game: string }) => {
    assert.equal(game, "pods");
    return { versions: ratings[player]?.map((value) => ({ rating: { value } })) };
  };
  const stream = await peer.met();
  for (const player of Object.keys(ratings)) {
    stream.say({ case: "challenge", value: challenge(player, "pods", "1m+1s", player) });
  }
  await until(() => Object.keys(verdicts()).length === 4, "four answers");
  assert.deepEqual(verdicts(), {
    bob: "AcceptChallenge",
    carol: "this bot plays against ratings of at least 1400",
    dave: "this bot plays against ratings of at most 1600",
    erin: "this bot plays against ratings of at least 1400",
  });
});

test("a time control is compared by meaning, and refused at the start where it is none", async (t) => {
  class Slow extends Scripted {
    override timeControls = ["60s+1s", "2h"];
  }
  const { peer, verdicts } = await playingOn(t, new Slow());
  const stream = await peer.met();
  stream.say({ case: "challenge", value: challenge("c1") });
  await until(() => peer.asked.length === 1, "an answer");
  assert.deepEqual(verdicts(), { c1: "AcceptChallenge" });
  const refused = (error: unknown) => error instanceof ArbiterError && error.reason === "PARAMETER_INVALID";
  for (const wrong of [
    { timeControls: ["5 min"] },
    { timeControls: "5m" },
    { seeks: [{ game: "pods", timeControl: "60" }] },
  ]) {
    const bot = Object.assign(new Scripted(), wrong as object);
    await assert.rejects(play(bot, { server: peer.address, token: "secret" }), refused);
  }
});

test("tournaments that suit are entered when they are called, once", async (t) => {
  const bot = new Picky();
  bot.enterTournaments = true;
  const { peer, logged } = await playingOn(t, bot);
  peer.answers.EnterTournament = ({ tournamentId }: { tournamentId: string }) =>
    tournamentId === "t3"
      ? refusal("TOURNAMENT_CLOSED", "FAILED_PRECONDITION")
      : { entrant: { player: "alice" } };
  const stream = await peer.stream();
  assert.equal((await stream.meet()).tournaments, true);
  const call = (tournamentId: string, more: object = {}) => {
    const told = { phase: TournamentPhase.ENTRY, games: ["pods"], timeControl: "1m+1s" };
    stream.say({ case: "tournament", value: { tournamentId, name: tournamentId, ...told, ...more } });
  };
  call("t1", { games: ["pods", "hop-it"] });
  call("t2", { timeControl: "5m" });
  call("t3");
  call("t4", { entered: true });
  call("t3");
  call("t5", { games: ["pods(size=5)", "pods"] });
  await until(() => peer.asked.length === 2, "two entries");
  assert.deepEqual(
    peer.asked.map(({ request }) => request.tournamentId),
    ["t3", "t5"],
  );
  assert.match(logged[0] ?? "", /^warning tournament t3 can't be entered: said TOURNAMENT_CLOSED/);
});
