/**
 * Tokens: from the environment, or from a file that only its owner may read.
 *
 * The file is `$ARBITER_CREDENTIALS`, or `arbiter/credentials.json` in `$XDG_CONFIG_HOME` or `~/.config`:
 *
 *     {"127.0.0.1:7400": {"alice": "TOKEN"}}
 *
 * Earlier versions wrote TOML, and `credentials.toml`: such a file is read, and rewritten.
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { CredentialsError } from "./errors.js";

const FILE = "credentials.json";
const NONE = 'it is no credentials file: expected {"HOST:PORT": {"NAME": "TOKEN"}}';

/** Tokens by server address and player name. */
export type Entries = Record<string, Record<string, string>>;

/** Returns the path of the credentials file, which need not exist. */
export function path(): string {
  const home = process.env.XDG_CONFIG_HOME || join(homedir(), ".config");
  return process.env.ARBITER_CREDENTIALS || join(home, "arbiter", FILE);
}

/** Returns everything in the file. Throws CredentialsError if it can't be read or is not a credentials file. */
export function entries(): Entries {
  return read().content;
}

/** Returns the entries of a text, and whether it is of the older kind, TOML. Throws Error. */
export function parse(text: string): { content: Entries; isOld: boolean } {
  const bare = text.replace(/^\ufeff/, "").trim();
  const isOld = bare !== "" && !bare.startsWith("{");
  const content: unknown = isOld ? parseOld(bare) : JSON.parse(bare || "{}");
  if (!isEntries(content)) throw new Error(NONE);
  return { content, isOld };
}

/** Returns the content of the file, and the file of an earlier version that holds it, if one does. */
function read(): { content: Entries; old: string | undefined } {
  let file = path();
  const earlier = file.replace(/json$/, "toml");
  if (!process.env.ARBITER_CREDENTIALS && !existsSync(file) && existsSync(earlier)) file = earlier;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
    const { content, isOld } = parse(text);
    return { content, old: isOld ? file : undefined };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { content: {}, old: undefined };
    const [why] = (error as Error).message.split("\n");
    throw new CredentialsError(`can't use the credentials file ${file}: ${why}; mend it or move it away`);
  }
}

const KEY = `(?:[A-Za-z0-9_-]+|"(?:[^"\\\\]|\\\\.)*"|'[^']*')`;
const REMARK = String.raw`\s*(?:#.*)?$`;
const TABLE = new RegExp(String.raw`^\s*\[\s*(${KEY})\s*\]${REMARK}`);
const ENTRY = new RegExp(String.raw`^\s*(${KEY})\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*')${REMARK}`);
const BLANK = new RegExp(`^${REMARK}`);

/** Reads what earlier versions wrote: of TOML, tables of texts, whose escapes are also JSON's. */
function parseOld(text: string): Entries {
  const found: Entries = {};
  let players: Record<string, string> | undefined;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (BLANK.test(line)) continue;
    const [, server] = TABLE.exec(line) ?? [];
    if (server !== undefined) {
      players = found[bare(server)] ??= {};
      continue;
    }
    const [, name, token] = ENTRY.exec(line) ?? [];
    if (!players || name === undefined || token === undefined) throw new Error(`${NONE} (line ${index + 1})`);
    players[bare(name)] = bare(token);
  }
  return found;
}

/** Returns a text of TOML without its quotes. */
function bare(quoted: string): string {
  if (quoted.startsWith('"')) return JSON.parse(quoted) as string;
  return quoted.startsWith("'") ? quoted.slice(1, -1) : quoted;
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

/** Returns the token that the user gave: the argument, or ARBITER_TOKEN, or "". */
export function given(token?: string): string {
  return token || process.env.ARBITER_TOKEN || "";
}

/** Returns the token to use: the argument, or ARBITER_TOKEN, or the file's entry for the player, or "". */
export function tokenFor(servers: string | readonly string[], name: string, token?: string): string {
  return given(token) || (name && find(servers, name)) || "";
}

/** Stores a player's token for each address, in place of an earlier one. Throws CredentialsError. */
export function save(servers: string | readonly string[], name: string, token: string): Promise<void> {
  return change((content) => {
    for (const server of each(servers)) content[server] = { ...content[server], [name]: token };
  });
}

/** Rewrites the file of an earlier version as JSON; one that can't be written is only read. */
export async function renew(): Promise<void> {
  if (read().old !== undefined) await change(() => {}).catch(() => {});
}

async function change(how: (content: Entries) => void): Promise<void> {
  const file = path();
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Bots that start together register at the same time: each must see the entries of the others.
    const unlock = await lock(`${file}.lock`);
    try {
      const { content, old } = read();
      how(content);
      replace(file, content);
      if (old !== undefined && old !== file) unlinkSync(old);
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
  writeFileSync(draft, `${JSON.stringify(content, undefined, 1)}\n`, { mode: 0o600, flag: "wx" });
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
