/** Bots for tests, and playing them on a peer. */

import type { TestContext } from "node:test";
import { Bot, type Choice, type PlayOptions, play, type Turn } from "game-arbiter-client";
import { threads } from "../src/thread.js";
import type { Peer } from "./peer.js";

/** Makes its choices one after the other, and keeps its turns. */
export class Scripted extends Bot {
  readonly name = "scripted";
  readonly turns: Turn[] = [];
  readonly #choices: (Choice | Error)[];

  constructor(...choices: (Choice | Error)[]) {
    super();
    this.#choices = choices;
  }

  async choose(turn: Turn): Promise<Choice> {
    this.turns.push(turn);
    const choice = this.#choices.shift();
    if (choice instanceof Error) throw choice;
    return choice as Choice;
  }
}

/** A bot that is being played. */
export interface Playing {
  readonly done: Promise<void>;
  /** Tells it to stop. */
  readonly stop: () => void;
  /** What it has logged of what went wrong, and of details, a text a line, with its level. */
  readonly logged: string[];
}

/** Plays a bot on a peer until the test is over, in the thread of the tests unless `threaded`. */
export function playing(
  t: TestContext,
  peer: Peer,
  bot: Bot,
  { threaded = false, ...options }: PlayOptions & { threaded?: boolean } = {},
): Playing {
  threads.wanted = threaded;
  const told = new AbortController();
  const logged: string[] = [];
  const log = (level: string, text: string) => level === "info" || logged.push(`${level} ${text}`);
  const done = play(bot, { server: peer.address, token: "secret", signal: told.signal, log, ...options });
  t.after(async () => {
    told.abort();
    peer.close();
    await done.catch(() => {});
  });
  return { done, stop: () => told.abort(), logged };
}
