/** The small parts: backoff, outbox, thinkers, the credentials file, addresses, the command line's words, generated code. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { ConnectionFailed, CredentialsError, credentials, DEFAULT_SERVER } from "game-arbiter-client";
import { serverAddresses } from "../src/addresses.js";
import { Backoff } from "../src/backoff.js";
import { split, termsOf } from "../src/cli.js";
import { ClientHelloSchema, PlayActSchema } from "../src/generated/arbiter/v1/play_pb.js";
import { Outbox } from "../src/outbox.js";
import { Thinkers } from "../src/thinkers.js";
import { SOFTWARE_VERSION } from "../src/version.js";

const HOME = fileURLToPath(new URL("../../", import.meta.url));
const HELLO = create(ClientHelloSchema, {});

/** Keeps the environment of whoever runs the tests out of them; returns the path of a credentials file of the test's. */
function alone(t: test.TestContext): string {
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  const folder = mkdtempSync(join(tmpdir(), "arbiter-"));
  const kept = Object.entries(before).filter(([name]) => !/^(ARBITER|XDG)_/.test(name));
  process.env = { ...Object.fromEntries(kept), ARBITER_CREDENTIALS: join(folder, "a", "credentials.json") };
  return join(folder, "a", "credentials.json");
}

function act(requestId: string, matchId = "m1") {
  return create(PlayActSchema, { requestId, matchId, act: { case: "resign", value: {} } });
}

function said(outbox: Outbox): string[] | undefined {
  return outbox.take()?.acts.map(({ requestId, act: { case: kind } }) => requestId || String(kind));
}

test("pauses double up to the longest, are cut by up to a half, and start again", () => {
  const pauses = (chance: number, count: number) => {
    const backoff = new Backoff(100, 5_000, () => chance);
    return Array.from({ length: count }, () => backoff.nextMs());
  };
  assert.deepEqual(pauses(0, 8), [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  assert.deepEqual(pauses(1, 3), [50, 100, 200]);
  const backoff = new Backoff(100, 5_000, () => 0);
  for (let tries = 0; tries < 2_000; tries += 1) backoff.nextMs();
  assert.equal(backoff.nextMs(250), 5_250);
  backoff.reset();
  assert.equal(backoff.nextMs(), 100);
});

test("an outbox says the hello first, pongs before all else, and requests until they are answered", () => {
  const outbox = new Outbox();
  outbox.request(act("1"));
  outbox.hold(HELLO);
  outbox.request(act("2"));
  assert.deepEqual(said(outbox), ["hello"]);
  assert.equal(said(outbox), undefined);
  outbox.release();
  outbox.request(act("3", "m2"));
  outbox.say(create(PlayActSchema, { act: { case: "acknowledge", value: {} } }));
  outbox.say(create(PlayActSchema, { act: { case: "pong", value: {} } }), true);
  assert.deepEqual(said(outbox), ["pong", "1", "2", "3", "acknowledge"]);
  outbox.answered("2");
  outbox.hold(HELLO);
  assert.deepEqual(said(outbox), ["hello"]);
  outbox.release();
  outbox.again("1"); // is on its way already
  assert.deepEqual(said(outbox), ["1", "3"]);
  outbox.again("1");
  outbox.again("2"); // has been answered
  assert.deepEqual(said(outbox), ["1"]);
  outbox.ended("m1");
  outbox.again("1");
  assert.deepEqual([said(outbox), outbox.settled], [undefined, false]);
  outbox.answered("3");
  assert.equal(outbox.settled, true);
});

test("an outbox is done once it is closed, released and empty", () => {
  const outbox = new Outbox();
  outbox.hold(HELLO);
  outbox.request(act("1"));
  outbox.close();
  assert.equal(outbox.done, false);
  said(outbox);
  assert.equal(outbox.done, false); // the request waits for the server's hello
  outbox.release();
  assert.deepEqual([outbox.done, said(outbox), outbox.done], [false, ["1"], true]);
});

test("places to think are given in order, and given back by what fails", async () => {
  const thinkers = new Thinkers(2);
  const log: string[] = [];
  const work = async (name: string) => {
    log.push(name);
    await new Promise(setImmediate);
    if (name === "a") throw new Error("a");
    log.push(`${name} done`);
    return name;
  };
  const all = await Promise.allSettled(["a", "b", "c", "d"].map((name) => thinkers.run(() => work(name))));
  assert.deepEqual(
    all.map(({ status }) => status),
    ["rejected", "fulfilled", "fulfilled", "fulfilled"],
  );
  assert.deepEqual(log.slice(0, 3), ["a", "b", "c"]);
  assert.equal(log.at(-1), "d done");
});

test("tokens are kept in a file that only its owner may read", async (t) => {
  const file = alone(t);
  assert.deepEqual(credentials.entries(), {});
  await credentials.save("127.0.0.1:7400", "alice", 'a "token"');
  await credentials.save("127.0.0.1:7400", "bob", "b");
  await credentials.save("[::1]:7400", "alice", "c");
  await credentials.save("127.0.0.1:7400", "bob", "d");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(credentials.find("127.0.0.1:7400", "alice"), 'a "token"');
  assert.equal(credentials.find("127.0.0.1:7400", "bob"), "d");
  assert.equal(credentials.find("127.0.0.1:7400", "constructor"), undefined);
  assert.deepEqual(Object.keys(credentials.entries()), ["127.0.0.1:7400", "[::1]:7400"]);
  assert.deepEqual(readdirSync(join(file, "..")).sort(), ["credentials.json", "credentials.json.lock"]);
});

test("bots that register at the same time do not lose each other's tokens", async (t) => {
  alone(t);
  const names = Array.from({ length: 12 }, (_, n) => `bot-${n}`);
  await Promise.all(names.map((name) => credentials.save("here:1", name, name)));
  assert.deepEqual(Object.keys(credentials.entries()["here:1"] ?? {}).sort(), names.sort());
});

test("a file of an earlier version is rewritten", async (t) => {
  const file = alone(t);
  delete process.env.ARBITER_CREDENTIALS;
  process.env.XDG_CONFIG_HOME = join(file, "..", "config");
  const folder = join(process.env.XDG_CONFIG_HOME, "arbiter");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "credentials.toml"), '["here:1"]\nalice = "TOKEN"\n');
  assert.equal(credentials.find("here:1", "alice"), "TOKEN");
  await credentials.renew();
  assert.deepEqual(readdirSync(folder).sort(), ["credentials.json", "credentials.json.lock"]);
  assert.deepEqual(JSON.parse(readFileSync(credentials.path(), "utf8")), { "here:1": { alice: "TOKEN" } });
  assert.equal(credentials.find("here:1", "alice"), "TOKEN");
});

test("where a token comes from", async (t) => {
  alone(t);
  await credentials.save("here:1", "alice", "kept");
  assert.equal(credentials.tokenFor("here:1", "alice"), "kept");
  assert.equal(credentials.tokenFor("here:1", ""), "");
  process.env.ARBITER_TOKEN = "environment";
  assert.equal(credentials.tokenFor("here:1", "alice"), "environment");
  assert.equal(credentials.tokenFor("here:1", "alice", "argument"), "argument");
});

test("a credentials file that can't be used is named", async (t) => {
  const file = alone(t);
  await credentials.save("here:1", "alice", "kept");
  for (const content of ["{", "[", 'alice = "token"', "[here]\nalice = 5", "\ufffd\ud800"]) {
    writeFileSync(file, content);
    const named = (error: unknown) => error instanceof CredentialsError && error.message.includes(file);
    assert.throws(() => credentials.entries(), named);
    await assert.rejects(credentials.save("here:1", "bob", "b"), named);
  }
});

test("the credentials file is where the environment says", (t) => {
  alone(t);
  delete process.env.ARBITER_CREDENTIALS;
  process.env.XDG_CONFIG_HOME = "/x";
  assert.equal(credentials.path(), "/x/arbiter/credentials.json");
  delete process.env.XDG_CONFIG_HOME;
  assert.match(credentials.path(), /\/\.config\/arbiter\/credentials\.json$/);
});

test("addresses", (t) => {
  alone(t);
  assert.deepEqual(serverAddresses(undefined), [DEFAULT_SERVER]);
  process.env.ARBITER_SERVER = "there:2";
  assert.deepEqual(serverAddresses(undefined), ["there:2"]);
  assert.deepEqual(serverAddresses(" a:1 , [::1]:7400,a:1"), ["a:1", "[::1]:7400"]);
  for (const wrong of ["here", "here:", ":1", "here:0", "here:65536", "here:x", "::1:7400", "a:1 b:2"]) {
    assert.throws(() => serverAddresses(wrong), ConnectionFailed);
  }
  assert.throws(
    () => serverAddresses("a:1,b"),
    /^ConnectionFailed: 'b' \(number 2 of 2\) is no address: write/,
  );
  assert.throws(() => serverAddresses("a:1,"), /'' \(number 2 of 2\) is no address/);
});

test("seeks and lists of games, as they are written on the command line", () => {
  assert.deepEqual(termsOf("pods"), { game: "pods" });
  assert.deepEqual(termsOf(" pods(size=5)  seat=2 1m+1s rated "), {
    game: "pods(size=5)",
    timeControl: "1m+1s",
    rated: true,
    seat: 2,
  });
  for (const wrong of ["", "pods 1m 2m", "pods seat=3", "pods rated rated"])
    assert.throws(() => termsOf(wrong), /expected/);
  assert.deepEqual(split("pods(size=5,x=1), hop-it,,"), ["pods(size=5,x=1)", "hop-it"]);
});

test("the version is the package's", () => {
  const { version } = JSON.parse(readFileSync(join(HOME, "package.json"), "utf8"));
  assert.equal(SOFTWARE_VERSION, version);
});

test("the generated code is fresh", () => {
  const made = mkdtempSync(join(tmpdir(), "arbiter-"));
  execFileSync("npx", ["buf", "generate", "--output", made], { cwd: HOME, stdio: "pipe" });
  const folder = join("arbiter", "v1");
  const kept = join(HOME, "src", "generated", folder);
  assert.deepEqual(readdirSync(kept).sort(), readdirSync(join(made, folder)).sort());
  for (const name of readdirSync(kept)) {
    const same = readFileSync(join(kept, name), "utf8") === readFileSync(join(made, folder, name), "utf8");
    assert(same, `${name} is not as the protocol is now: npm run generate`);
  }
});

test("the package can be imported while a program runs", async () => {
  const client = await import("game-arbiter-client"); // an export named `then` would be called here
  assert.deepEqual(client.extended({ game: "pods", moves: ["a1"] }, "b2").moves, ["a1", "b2"]);
});
