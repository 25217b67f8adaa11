/** The programs of this package, as processes. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { soon } from "./queue.js";

/** Starts a program of this package; a bot says only what is wrong. */
export function start(
  t: TestContext,
  program: string,
  words: string[] = [],
  environment: Record<string, string> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "arbiter-"));
  const clean = Object.entries(process.env).filter(([name]) => !/^(ARBITER|XDG|NODE)_/.test(name));
  const credentials = join(folder, "credentials.json");
  const env = { ...Object.fromEntries(clean), ARBITER_CREDENTIALS: credentials, ...environment };
  const path = fileURLToPath(new URL(`../${program}.js`, import.meta.url));
  const quiet = program.endsWith("/observer") ? [] : ["--quiet"];
  const child = spawn(process.execPath, [path, ...quiet, ...words], { env });
  t.after(() => child.kill("SIGKILL"));
  const end = Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  const ends = async () => {
    const [out, err, [code]] = await soon(end, "the end of the process");
    return { out, err, code };
  };
  return { child, ends, credentials };
}
