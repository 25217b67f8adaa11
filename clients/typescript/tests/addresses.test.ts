/** Several addresses of one arbiter: the next one is tried where one is gone or about to stop. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { ArbiterError, Client, ConnectionFailed, credentials } from "game-arbiter-client";
import { Addresses, Tries } from "../src/addresses.js";
import { match, refusal, turn } from "./messages.js";
import { Peer } from "./peer.js";
import { playing, Scripted } from "./players.js";

const DRAINING = refusal("DRAINING", "UNAVAILABLE", { retry_after_ms: "60000" });

/** Returns an address at which every connection is closed at once. */
async function nowhere(t: TestContext): Promise<string> {
  const server = createServer((socket) => socket.destroy());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns two peers, and a client of both. */
async function two(t: TestContext, options: { patienceMs?: number } = {}) {
  const [first, second] = [await Peer.start(), await Peer.start()];
  const client = new Client({ server: `${first.address},${second.address}`, token: "secret", ...options });
  t.after(() => {
    client.close();
    first.close();
    second.close();
  });
  return { first, second, client };
}

test("all addresses are tried before there is a pause", () => {
  const addresses = new Addresses(["a:1", "b:1", "c:1"]);
  const tries = new Tries(addresses);
  const gone = new ConnectionFailed("gone");
  const asks = { retry_after_ms: "9000" };
  const limited = new ArbiterError("RATE_LIMITED", "slower", "RESOURCE_EXHAUSTED", asks);
  assert(tries.failedMs("a:1", limited) >= 9_000);
  assert.equal(addresses.current, "a:1"); // what is refused to one caller is no reason to leave
  tries.reset();
  assert.equal(tries.failedMs("a:1", gone), 0);
  assert.equal(tries.failedMs("b:1", new ArbiterError("DRAINING", "bye", "UNAVAILABLE", asks)), 0);
  assert.equal(addresses.current, "c:1");
  const pauseMs = tries.failedMs("c:1", gone);
  assert(pauseMs >= 50 && pauseMs <= 100); // nobody asks for more than the one that asks for least
  assert.equal(addresses.current, "a:1");
});

test("a call goes on at the next address, and names all where none answers", async (t) => {
  const { first, client } = await two(t, { patienceMs: 0 });
  const at = await nowhere(t);
  const other = new Client({ server: `${at},${first.address}`, token: "secret", patienceMs: 0 });
  t.after(() => other.close());
  first.answers.GetMatch = () => ({ match: { matchId: "m1" } });
  assert.equal((await other.getMatch("m1")).matchId, "m1");
  assert.equal(other.connection.address, first.address);
  assert.equal((await client.getMatch("m1")).matchId, "m1");
  first.answers.GetMatch = () => DRAINING;
  await assert.rejects(other.getMatch("m1"), (error: Error) => {
    assert(error instanceof ConnectionFailed);
    assert(
      error.message.startsWith(`no arbiter answers at ${first.address} (said DRAINING), nor at ${at} (`),
    );
    return true;
  });
});

test("what is sent once is sent to an address that answers", async (t) => {
  const peer = await Peer.start();
  const client = new Client({ server: `${await nowhere(t)},${peer.address}` });
  t.after(() => {
    client.close();
    peer.close();
  });
  peer.answers.GetServerInfo = () => ({});
  peer.answers.RegisterPlayer = () => ({ token: "token-1" });
  assert.equal((await client.registerPlayer("alice")).token, "token-1");
  assert.equal(peer.asked.filter(({ method }) => method === "RegisterPlayer").length, 1);
});

test("watching goes on at the next address, after the last revision", async (t) => {
  const { first, second, client } = await two(t);
  const event = (revision: bigint) => ({
    items: [{ item: { case: "event", value: { matchId: "m1", revision } } }],
  });
  first.answers.Observe = () => [event(1n), DRAINING];
  second.answers.Observe = () => [event(2n)];
  const seen: number[] = [];
  for await (const { revision } of client.observe("m1")) seen.push(Number(revision));
  assert.deepEqual(seen, [1, 2]);
  const asked = second.asked.filter(({ method }) => method === "Observe").map(({ request }) => request.of);
  assert.deepEqual(
    asked.map((of) => (of as { value: { afterRevision: bigint } }).value.afterRevision),
    [1n],
  );
});

test("a bot goes on at the next address with the move that was not answered", async (t) => {
  const { first, second } = await two(t);
  const server = [await nowhere(t), first.address, second.address].join(",");
  const { logged } = playing(t, first, new Scripted("a", "b"), { server });
  let stream = await first.met();
  stream.say(match(), turn(0));
  const lost = await stream.read("move");
  stream.end(DRAINING);
  stream = await second.met();
  assert.deepEqual(await stream.read("move"), lost);
  stream.receipt(lost);
  stream.end(DRAINING);
  await first.met(); // and back, past the one that is not there
  assert(logged.some((text) => text.includes(`trying again at ${second.address} in 0 ms`)));
});

test("a token is kept for every address", async (t) => {
  const before = process.env.ARBITER_CREDENTIALS;
  process.env.ARBITER_CREDENTIALS = join(mkdtempSync(join(tmpdir(), "arbiter-")), "credentials.json");
  t.after(() => {
    if (before === undefined) delete process.env.ARBITER_CREDENTIALS;
    else process.env.ARBITER_CREDENTIALS = before;
  });
  await credentials.save(["a:1", "b:2"], "alice", "secret");
  assert.equal(credentials.find("b:2", "alice"), "secret");
  assert.equal(credentials.find(["c:3", "a:1"], "alice"), "secret");
  assert.equal(credentials.find(["c:3"], "alice"), undefined);
});
