/** Bots as processes of their own, with the command line and the environment that every bot has. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { CircleOfLife } from "game-arbiter-client/rules/circle_of_life";
import { ended, refusal, turn } from "./messages.js";
import { Peer } from "./peer.js";
import { start } from "./programs.js";
import { until } from "./queue.js";

async function peerOf(t: test.TestContext): Promise<Peer> {
  const peer = await Peer.start();
  t.after(() => peer.close());
  return peer;
}

for (const told of ["SIGINT", "SIGTERM"] as const) {
  test(`a bot that gets ${told} ends without a word`, async (t) => {
    const peer = await peerOf(t);
    const words = ["--server", peer.address, "--name", "alice", "--token", "secret"];
    const { child, ends } = start(t, "samples/first_move", words);
    const stream = await peer.met();
    child.kill(told);
    await stream.closed();
    assert.deepEqual(await ends(), { out: "", err: "", code: 0 });
  });
}

test("a bot that waits for an answer ends just as well", async (t) => {
  const peer = await peerOf(t);
  peer.answers.LegalMoves = () => undefined;
  const { child, ends } = start(t, "samples/first_move", [], {
    ARBITER_SERVER: peer.address,
    ARBITER_TOKEN: "secret",
  });
  const stream = await peer.met();
  stream.say(turn(0));
  await until(() => peer.asked.length === 1, "a question");
  child.kill("SIGTERM");
  await stream.closed();
  assert.deepEqual(await ends(), { out: "", err: "", code: 0 });
});

test("a bot that is not wanted says why in one line", async (t) => {
  const peer = await peerOf(t);
  const { ends } = start(t, "samples/first_move", [], {
    ARBITER_SERVER: peer.address,
    ARBITER_TOKEN: "secret",
  });
  (await peer.met()).end(refusal("SESSION_SUPERSEDED", "ABORTED"));
  assert.deepEqual(await ends(), { out: "", err: "first_move.js: said SESSION_SUPERSEDED\n", code: 1 });
});

test("a player without a token is registered, and its token kept; a token that nobody knows is replaced", async (t) => {
  const peer = await peerOf(t);
  let count = 0;
  peer.answers.RegisterPlayer = ({ name }: { name: string }) => {
    count += 1;
    return { player: { name }, token: `token-${count}` };
  };
  peer.answers.GetPlayer = () => refusal("TOKEN_INVALID", "UNAUTHENTICATED");
  const environment = { ARBITER_SERVER: peer.address, ARBITER_NAME: "carol" };
  const first = start(t, "samples/first_move", ["--matches", "1"], environment);
  const stream = await peer.met();
  assert.deepEqual(stream.metadata.get("authorization"), ["Bearer token-1"]);
  stream.say(ended());
  await stream.read("acknowledge");
  assert.deepEqual(await first.ends(), { out: "pods against bob: 1 (territory)\n", err: "", code: 0 });
  const kept = JSON.parse(readFileSync(first.credentials, "utf8"));
  assert.deepEqual(kept, { [peer.address]: { carol: "token-1" } });
  const again = start(t, "samples/first_move", [], {
    ...environment,
    ARBITER_CREDENTIALS: first.credentials,
  });
  assert.deepEqual((await peer.met()).metadata.get("authorization"), ["Bearer token-2"]);
  again.child.kill("SIGTERM");
  assert.equal((await again.ends()).code, 0);
});

test("with a token the credentials file is not read", async (t) => {
  const peer = await peerOf(t);
  const broken = join(mkdtempSync(join(tmpdir(), "arbiter-")), "credentials.json");
  writeFileSync(broken, "{");
  const { child, ends } = start(t, "samples/first_move", [], {
    ARBITER_SERVER: peer.address,
    ARBITER_TOKEN: "secret",
    ARBITER_CREDENTIALS: broken,
  });
  assert.deepEqual((await peer.met()).metadata.get("authorization"), ["Bearer secret"]);
  child.kill("SIGTERM");
  assert.equal((await ends()).code, 0);
});

test("a name that is taken is said to be", async (t) => {
  const peer = await peerOf(t);
  peer.answers.RegisterPlayer = () => refusal("PLAYER_EXISTS", "ALREADY_EXISTS", { id: "first-move" });
  const { ends, credentials } = start(t, "samples/first_move", ["--server", peer.address]);
  const { err, code } = await ends();
  assert.match(err, /^first_move\.js: there is a player first-move already: [^\n]+\n$/);
  assert(err.includes(credentials));
  assert.equal(code, 1);
});

test("mistakes get one line and exit code 1", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "arbiter-"));
  writeFileSync(join(folder, "garbage.pem"), "garbage");
  const mistakes: [string[], RegExp][] = [
    [["--bogus"], /Unknown option '--bogus'/],
    [["word"], /'word' is no option/],
    [["--server", "nowhere"], /'nowhere' is no address/],
    [["--matches", "none"], /expected a number from 1 on/],
    [["--most-matches", "0"], /expected a number from 1 on/],
    [["--seek", "pods a=b"], /does not belong into a seek/],
    [["--root-certificate", "/nowhere.pem"], /can't read \/nowhere.pem/],
    [["--root-certificate", join(folder, "garbage.pem")], /garbage.pem is no PEM file/],
    [["--client-key", "/nowhere.pem"], /go together/],
  ];
  for (const [words, said] of mistakes) {
    const { out, err, code } = await start(t, "samples/first_move", words).ends();
    assert.deepEqual([out, code], ["", 1], words.join(" "));
    assert.match(err, said);
    assert.match(err, /^first_move\.js: [^\n]+\n$/);
  }
});

test("--help lists the options", async (t) => {
  const { out, code } = await start(t, "samples/observer", ["--help"]).ends();
  assert.equal(code, 0);
  for (const option of [
    "server",
    "name",
    "token",
    "games",
    "most-matches",
    "matches",
    "seek",
    "accept-seeks",
  ]) {
    assert.match(out, new RegExp(`--${option}\\b`));
  }
});

test("options change what the bot says of itself", async (t) => {
  const peer = await peerOf(t);
  const words = [
    "--games",
    "pods(size=5,x=1),hop-it",
    "--most-matches",
    "2",
    "--accept-seeks",
    "--enter-tournaments",
  ];
  start(t, "samples/first_move", words, { ARBITER_SERVER: peer.address, ARBITER_TOKEN: "secret" });
  const { games, mostMatches, seeks, tournaments } = await (await peer.stream()).meet();
  assert.deepEqual([games, mostMatches, seeks, tournaments], [["pods(size=5,x=1)", "hop-it"], 2, true, true]);
});

test("pings are answered while a thought holds on to its thread", async (t) => {
  const peer = await peerOf(t);
  start(t, "tests/blocking", [], { ARBITER_SERVER: peer.address, ARBITER_TOKEN: "secret" });
  const stream = await peer.met();
  stream.say(turn(0));
  stream.say({ case: "ping", value: { number: 1n } });
  await stream.read("pong"); // before the move
  await stream.read("move");
});

test("the bot that looks ahead by its own rules takes what it can eat", async (t) => {
  const peer = await peerOf(t);
  start(t, "samples/circle_of_life", [], { ARBITER_SERVER: peer.address, ARBITER_TOKEN: "secret" });
  const stream = await peer.met();
  const position = "...../....../......./......../....S.s../......../......./....../..... 1 19 0";
  stream.say(turn(0, "m1", { game: "circle-of-life", position, availableMs: 60_000n }));
  const { value } = await stream.read("move");
  const rules = new CircleOfLife();
  const { outcome } = rules.play(rules.parse(position), value.move);
  assert.deepEqual(outcome, { winner: 1, reason: "target_eaten" });
  assert.equal(value.comment?.evaluation, 1_000);
});
