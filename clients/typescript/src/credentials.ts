/**
 * Tokens: from the environment, or from a file that only its owner may read.
 *
 * The file is `$ARBITER_CREDENTIALS`, or `arbiter/credentials.toml` in `$XDG_CONFIG_HOME` or `~/.config`:
 *
 *     ["127.0.0.1:7400"]
 *     alice = "TOKEN"
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { parse, stringify } from "smol-toml";
import { CredentialsError } from "./errors.js";

/** Tokens by server address and player name. */
export type Entries = Record<string, Record<string, string>>;

/** Returns the path of the credentials file, which need not exist. */
export function path(): string {
  const home = process.env.XDG_CONFIG_HOME || join(homedir(), ".config");
  return process.env.ARBITER_CREDENTIALS || join(home, "arbiter", "credentials.toml");
}

/** Returns everything in the file. Throws CredentialsError if it can't be read or is not a credentials file. */
export function entries(): Entries {
  const file = path();
  let content: unknown;
  try {
    content = parse(new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    const [why] = (error as Error).message.split("\n");
    throw new CredentialsError(`can't use the credentials file ${file}: ${why}; mend it or move it away`);
  }
  if (!isEntries(content)) {
    throw new CredentialsError(
      `${file} is no credentials file: it holds tables of NAME = TOKEN by server address`,
    );
  }
  return content;
}

/**
 * Returns the token of a player on a server, or undefined; of several addresses of it, the first with an entry counts.
 * Throws CredentialsError as `entries` does.
 */
export function find(servers: string | readonly string[], name: string): string | undefined {
  const content = entries();
  const players = each(servers).map((server) => content[server] ?? {});
  return players.find((known) => Object.hasOwn(known, name))?.[name];
}

/** Returns the token to use: the argument, or ARBITER_TOKEN, or the file's entry for the player, or "". */
export function tokenFor(servers: string | readonly string[], name: string, token?: string): string {
  return token || process.env.ARBITER_TOKEN || (name && find(servers, name)) || "";
}

/** Stores a player's token for each address, in place of an earlier one. Throws CredentialsError. */
export async function save(servers: string | readonly string[], name: string, token: string): Promise<void> {
  const file = path();
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Bots that start together register at the same time: each must see the entries of the others.
    const unlock = await lock(`${file}.lock`);
    try {
      const content = entries();
      for (const server of each(servers)) content[server] = { ...content[server], [name]: token };
      replace(file, content);
    } finally {
      unlock();
    }
  } catch (error) {
    if (error instanceof CredentialsError) throw error;
    throw new CredentialsError(`can't write the credentials file ${file}: ${(error as Error).message}`);
  }
}

function each(servers: string | readonly string[]): readonly string[] {
  return typeof servers === "string" ? [servers] : servers;
}

/** Replaces the file atomically: a reader sees the old one or the new one. */
function replace(file: string, content: Entries): void {
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  writeFileSync(draft, stringify(content), { mode: 0o600, flag: "wx" });
  renameSync(draft, file);
}

/**
 * Locks a file as all clients do, with flock(2), and returns how to unlock it. Node has no call for it: the program
 * flock(1) holds the lock as long as its input is open. On a system without that program the last writer wins.
 */
async function lock(file: string): Promise<() => void> {
  closeSync(openSync(file, "a", 0o600));
  const holder = spawn("flock", [file, "cat"], { stdio: ["pipe", "pipe", "ignore"] });
  holder.stdin.on("error", () => {});
  holder.stdin.write("locked?");
  await Promise.race([once(holder.stdout, "data"), once(holder, "exit")]).catch(() => {});
  return () => holder.stdin.end();
}

function isEntries(content: unknown): content is Entries {
  const isTable = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  const isPlayers = (value: unknown) =>
    isTable(value) && Object.values(value as object).every((token) => typeof token === "string");
  return isTable(content) && Object.values(content as object).every(isPlayers);
}
