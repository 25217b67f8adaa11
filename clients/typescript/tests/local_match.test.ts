/** Matches of two bots of one program, without a server that somebody runs. */

import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import {
  ArbiterError,
  Bot,
  BotFailed,
  Cause,
  type Choice,
  ConnectionFailed,
  type FinishedMatch,
  localMatch,
  type Terms,
  type Turn,
} from "game-arbiter-client";
import { DEFAULT_COMMAND } from "./arbiter.js";

process.env.ARBITER_COMMAND ||= DEFAULT_COMMAND;

/** Plays any legal move. */
class AtRandom extends Bot {
  readonly name = "random";
  override readonly extras = { board: true, legalMovesUpTo: 5 };

  async choose(turn: Turn): Promise<Choice> {
    const moves = await this.legalMoves(turn);
    return moves[Math.floor(Math.random() * moves.length)]?.text ?? "";
  }
}

/** Plays any legal move, and notes who it is in each seat. */
class Both extends AtRandom {
  readonly names: Record<number, Set<string>> = { 1: new Set(), 2: new Set() };

  override async choose(turn: Turn): Promise<Choice> {
    const { player } = await turn.client.myself();
    if (player) this.names[turn.seat]?.add(player.name);
    return super.choose(turn);
  }
}

test("a local match is played to its end, and one bot may play both seats", async () => {
  const bot = new Both();
  const finished = await localMatch(bot, bot, "pods(size=3)");
  assert.equal(finished.result.cause, Cause.RULES);
  assert.equal(finished.opponent, "seat-2");
  assert.notEqual(finished.match?.moves.length, 0);
  assert.deepEqual(bot.names, { 1: new Set(["seat-1"]), 2: new Set(["seat-2"]) });
});

/** Makes its choices one after the other, and then resigns, or waits for the end if it accepts draws. */
class Local extends Bot {
  readonly name = "local";
  override readonly games = ["hop-it"];
  override readonly seeks: readonly Terms[] = [{ game: "pods" }];
  override readonly extras = { board: true, legalMoveCount: true, legalMovesUpTo: 500 };
  readonly turns: Turn[] = [];
  readonly told: string[] = [];
  readonly #choices: Choice[];

  constructor(
    choices: Choice[] = [],
    private readonly accepts = false,
  ) {
    super();
    this.#choices = choices;
  }

  async choose(turn: Turn): Promise<Choice> {
    this.turns.push(turn);
    const over = new Promise<Choice>((resolve) => {
      turn.signal.addEventListener("abort", () => resolve({ resign: true }));
    });
    return this.accepts ? over : (this.#choices.shift() ?? { resign: true });
  }

  override started({ seat, opponent }: { seat: number; opponent: string }): void {
    this.told.push(`${seat} against ${opponent}`);
  }

  override ended({ seat, score }: FinishedMatch): void {
    this.told.push(`${seat} has ${score}`);
  }

  override drawOffered(): boolean {
    return this.accepts;
  }
}

test("the bots of a local match are told what a server tells", async () => {
  const [first, second] = [new Local(["a2"]), new Local()];
  const options = { timeControl: "5m:2m", opening: ["a1", "b1"] };
  const finished = await localMatch(first, second, "pods(size=3)", options);
  assert.deepEqual([finished.score, finished.result.reason], [1, "resignation"]);
  assert.deepEqual(first.told, ["1 against seat-2", "1 has 1"]);
  assert.deepEqual(second.told, ["2 against seat-1", "2 has 0"]);
  const turn = first.turns[0] as Turn;
  assert.deepEqual([turn.ply, turn.match.openingPlies, turn.clocks.length], [2, 2, 2]);
  assert.deepEqual([turn.match.timeControl, turn.match.matchTimeControl], ["5m", "5m:2m"]);
  assert.equal(turn.legalMoves.length, turn.legalMoveCount);
  assert.notEqual(turn.board.length, 0);
  assert.deepEqual(second.turns[0]?.match.moves, ["a1", "b1", "a2"]);
});

test("in a local match illegal moves are refused, and draws offered", async () => {
  const first = new Local(["nonsense", { offerDraw: "e2e4" }]);
  const finished = await localMatch(first, new Local([], true), "chess");
  assert.deepEqual([finished.result.cause, finished.score], [Cause.AGREEMENT, 0.5]);
  assert.equal(first.turns[1]?.refused?.reason, "MOVE_MALFORMED");
});

test("the match of the README", async () => {
  const [first, second] = [new AtRandom(), new Local()];
  // biome-ignore format: as the README has it
  const finished = await localMatch(first, second, "pods", { timeControl: "1m+1s" });
  assert.equal(finished.score, 1);
});

test("the errors of a local match are named", async () => {
  await assert.rejects(localMatch(new Local(), new Local(), "ludo"), (error) => {
    return error instanceof ArbiterError && error.reason === "GAME_UNKNOWN";
  });
  const program = join(tmpdir(), "no-arbiter-here");
  await assert.rejects(localMatch(new Local(), new Local(), "pods", { program }), (error) => {
    return error instanceof ConnectionFailed && error.message.includes("ARBITER_COMMAND");
  });
  class Failing extends Local {
    override choose(): Promise<Choice> {
      throw new Error("no idea");
    }
  }
  await assert.rejects(localMatch(new Failing(), new Local(), "pods"), (error) => {
    return error instanceof BotFailed && error.message.includes("no idea");
  });
});

test("rules that are killed end the local match with an error", async () => {
  const folder = mkdtempSync(join(tmpdir(), "arbiter-"));
  const [program, noted] = [join(folder, "arbiter"), join(folder, "pid")];
  writeFileSync(program, `#!/bin/sh\necho $$ > ${noted}\nexec ${process.env.ARBITER_COMMAND} "$@"\n`);
  chmodSync(program, 0o755);
  class Killing extends Local {
    override choose(turn: Turn): Promise<Choice> {
      process.kill(Number(readFileSync(noted, "utf8")), "SIGKILL");
      return new Promise((resolve) => turn.signal.addEventListener("abort", () => resolve({ resign: true })));
    }
  }
  await assert.rejects(localMatch(new Killing(), new Local(), "pods", { program }), (error) => {
    return error instanceof ConnectionFailed && error.message.endsWith("has ended before the match: SIGKILL");
  });
});
