/** Bots in one file, as bundlers make it. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { build, type Format } from "esbuild";
import { ended, turn } from "./messages.js";
import { Peer } from "./peer.js";
import { soon } from "./queue.js";

const HERE = fileURLToPath(new URL("..", import.meta.url));

const BOT = `
  import { Bot, main } from "game-arbiter-client";
  class First extends Bot {
    name = "first";
    choose(turn) { return turn.legalMoves[0].text; }
  }
  main(new First());
`;

/** Plays a match with a program that consists of one file, and of the file of the thread where that is wanted. */
async function plays(t: test.TestContext, format: Format, threaded: boolean): Promise<void> {
  const peer = await Peer.start();
  t.after(() => peer.close());
  const folder = mkdtempSync(join(tmpdir(), "arbiter-"));
  const name = format === "cjs" ? "bot.cjs" : "bot.mjs";
  const bundle = { bundle: true, platform: "node", format, logLevel: "error" } as const;
  const requires =
    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  const banner = format === "esm" ? { banner: { js: requires } } : {};
  const stdin = { contents: BOT, resolveDir: HERE };
  await build({ ...bundle, ...banner, stdin, outfile: join(folder, name) });
  if (threaded) {
    await build({
      ...bundle,
      ...banner,
      entryPoints: { session_worker: join(HERE, "src", "session_worker.js") },
      outdir: folder,
    });
    copyFileSync(join(HERE, "..", "package.json"), join(folder, "package.json")); // whose modules are ESM
  }
  const clean = Object.entries(process.env).filter(([each]) => !/^(ARBITER|XDG|NODE)_/.test(each));
  const own = {
    ARBITER_SERVER: peer.address,
    ARBITER_TOKEN: "secret",
    ARBITER_CREDENTIALS: join(folder, "none"),
  };
  const words = [join(folder, name), "--matches", "1", "--verbose"];
  const child = spawn(process.execPath, words, { env: { ...Object.fromEntries(clean), ...own } });
  t.after(() => child.kill("SIGKILL"));
  const end = Promise.all([text(child.stderr), once(child, "exit")]);
  const stream = await peer.met();
  stream.say(turn(0, "m1", { legalMoves: [{ text: "a1", steps: [] }] }));
  assert.equal((await stream.read("move")).value.move, "a1");
  stream.say(ended("m1"));
  await stream.read("acknowledge");
  await stream.closed();
  const [said, [code]] = await soon(end, "the end of the process");
  assert.equal(code, 0, said);
  assert.equal(said.includes("pings are answered only while"), !threaded, said);
}

test("a bundle of ES modules plays without a thread", (t) => plays(t, "esm", false));
test("a bundle of CommonJS plays without a thread", (t) => plays(t, "cjs", false));
test("a bundle with the file of the thread beside it plays with it", (t) => plays(t, "esm", true));
