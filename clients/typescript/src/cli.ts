/** The command line of a bot: the same for all, so that the file of a bot contains only the bot. */

import { basename } from "node:path";
import { parseArgs } from "node:util";
import { DEFAULT_SERVER } from "./addresses.js";
import type { Bot } from "./bot.js";
import { environmentTls } from "./channel.js";
import type { ClientOptions } from "./client.js";
import { ClientError } from "./errors.js";
import { stderrLog } from "./log.js";
import { plainText } from "./plain_text.js";
import { type PlayOptions, run } from "./playing.js";
import type { Terms } from "./values.js";

const TERMS = "GAME [TIME] [rated] [seat=1|2]";

const OPTIONS = {
  server: {
    type: "string",
    hint: "HOST:PORT",
    help: `the arbiter; several of its addresses with commas (default: $ARBITER_SERVER or ${DEFAULT_SERVER})`,
  },
  name: { type: "string", hint: "NAME", help: "the player (default: $ARBITER_NAME or the bot's name)" },
  token: {
    type: "string",
    hint: "TOKEN",
    help: "its token (default: $ARBITER_TOKEN or the credentials file)",
  },
  invitation: { type: "string", hint: "TEXT", help: "the invitation to register with, where one is needed" },
  games: {
    type: "string",
    hint: "GAMES",
    help: "games or variants to play, separated by commas (default: all)",
  },
  "most-matches": { type: "string", hint: "N", help: "how many matches to play at once (default: no limit)" },
  matches: { type: "string", hint: "N", help: "stop after so many matches have ended" },
  seek: { type: "string", multiple: true, hint: "TERMS", help: `keep a seek open: "${TERMS}"` },
  "accept-seeks": { type: "boolean", help: "accept open seeks of others" },
  "enter-tournaments": { type: "boolean", help: "enter every tournament that suits" },
  tls: { type: "boolean", help: "speak TLS, and trust the system's certificates" },
  "root-certificate": { type: "string", hint: "FILE", help: "speak TLS, and trust this certificate (PEM)" },
  "client-certificate": {
    type: "string",
    hint: "FILE",
    help: "the bot's own certificate (PEM), with --client-key",
  },
  "client-key": { type: "string", hint: "FILE", help: "the key of the bot's own certificate (PEM)" },
  verbose: { type: "boolean", help: "say more on standard error" },
  quiet: { type: "boolean", help: "say only what is wrong on standard error" },
  help: { type: "boolean", help: "show this and exit" },
} as const;

/** A parsed command line: its options, and the other words. */
export interface CommandLine {
  /** For `run`, `play` and `Client`. */
  readonly options: ClientOptions & PlayOptions;
  /** The words that are no options. */
  readonly words: readonly string[];
  /** Changes a bot as the options say. */
  readonly adapt: (bot: Bot<never>) => void;
}

/**
 * Plays a bot by the program's arguments and the environment, until it is done or interrupted. A mistake is reported in
 * one line on standard error, with exit code 1.
 */
export async function main<Memory extends object>(bot: Bot<Memory>): Promise<void> {
  await program(async ({ options, words, adapt }) => {
    if (words.length > 0) throw new ClientError(`'${words[0]}' is no option (--help lists them)`);
    adapt(bot);
    await run(bot, options);
  });
}

/** Runs a program with the command line of the bots; a ClientError becomes one line and exit code 1, as in `main`. */
export async function program(work: (line: CommandLine) => Promise<void>): Promise<void> {
  const name = basename(process.argv[1] ?? "bot");
  try {
    const { values, positionals } = parse(process.argv.slice(2));
    if (values.help) process.stdout.write(usage(name));
    else await work({ options: optionsOf(values), words: positionals, adapt: (bot) => adapt(bot, values) });
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    process.stderr.write(`${name}: ${plainText(error.message)}\n`);
    process.exitCode = 1;
  }
}

type Values = ReturnType<typeof parse>["values"];

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new ClientError(`${(error as Error).message.split(". ")[0]} (--help lists the options)`);
  }
}

function optionsOf(values: Values): ClientOptions & PlayOptions {
  const { server, name, token, invitation, matches, verbose, quiet } = values;
  const found = environmentTls();
  const named = {
    rootCertificate: values["root-certificate"] ?? found?.rootCertificate,
    clientCertificate: values["client-certificate"] ?? found?.clientCertificate,
    clientKey: values["client-key"] ?? found?.clientKey,
  };
  return {
    ...{ server, name, token, invitation },
    tls: values.tls || Object.values(named).some(Boolean) ? named : undefined,
    matches: matches ? count("--matches", matches) : undefined,
    log: stderrLog(verbose ? "debug" : quiet ? "warning" : "info"),
  };
}

function adapt(bot: Bot<never>, values: Values): void {
  if (values.games) bot.games = split(values.games);
  if (values["most-matches"]) bot.mostMatches = count("--most-matches", values["most-matches"]);
  if (values.seek) bot.seeks = values.seek.map(termsOf);
  bot.acceptSeeks ||= values["accept-seeks"] ?? false;
  bot.enterTournaments ||= values["enter-tournaments"] ?? false;
}

function usage(name: string): string {
  const lines = Object.entries(OPTIONS).map(([option, about]) => {
    const left = `--${option}${"hint" in about ? ` ${about.hint}` : ""}`;
    return `  ${left.padEnd(28)}  ${about.help}\n`;
  });
  return `usage: ${name} [OPTIONS]\n\n${lines.join("")}`;
}

function count(option: string, text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text))
    throw new ClientError(`${option} ${text}: expected a number from 1 on`);
  return Number(text);
}

/** Returns the terms of a seek, written as GAME [TIME] [rated] [seat=1|2]. Throws ClientError. */
export function termsOf(text: string): Terms {
  const [game, ...words] = text.trim().split(/\s+/);
  if (!game) throw new ClientError(`a seek is for a game: expected ${TERMS}`);
  const terms: { game: string; timeControl?: string; rated?: boolean; seat?: number } = { game };
  for (const word of words) {
    if (word === "rated" && !terms.rated) terms.rated = true;
    else if (/^seat=[12]$/.test(word) && !terms.seat) terms.seat = Number(word.at(-1));
    else if (!word.includes("=") && word !== "rated" && !terms.timeControl) terms.timeControl = word;
    else throw new ClientError(`'${word}' does not belong into a seek: expected ${TERMS}`);
  }
  return terms;
}

/** Returns the items of a list; commas in parentheses do not separate, as in `pods(size=5,x=1),hop-it`. */
export function split(games: string): string[] {
  const items = [""];
  let depth = 0;
  for (const letter of games) {
    depth += letter === "(" ? 1 : letter === ")" ? -1 : 0;
    if (letter === "," && depth === 0) items.push("");
    else items.push((items.pop() ?? "") + letter);
  }
  return items.map((item) => item.trim()).filter(Boolean);
}
