/** The bot's side of its stream: items of the server become calls of the bot, and their results become acts. */

import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { Backoff } from "./backoff.js";
import type { Awaitable, Bot, Choice } from "./bot.js";
import { actsOf } from "./choices.js";
import type { Client } from "./client.js";
import {
  ArbiterError,
  BotFailed,
  comesOfAnOutage,
  fromRefusal,
  levelOf,
  type Reason,
  textOf,
  wasAway,
} from "./errors.js";
import {
  type Match as MatchMessage,
  MatchSchema,
  type MoveAnswer,
  Phase,
} from "./generated/arbiter/v1/match_pb.js";
import * as play from "./generated/arbiter/v1/play_pb.js";
import { ChallengeSchema } from "./generated/arbiter/v1/player_pb.js";
import { call, type Hooks } from "./hooks.js";
import type { Log } from "./log.js";
import { plain } from "./plain.js";
import { Policies } from "./policies.js";
import { joined, Seat, type Thought } from "./seats.js";
import { MatchSlots } from "./slots.js";
import { Thinkers } from "./thinkers.js";
import { ownControl } from "./time_control.js";
import { type FinishedMatch, type Match, scoreOf, Turn } from "./values.js";

/** What a bot's error at its turn costs: the match, the time on its clock, or the whole run. */
export type OnError = "resign" | "wait" | "raise";

/** Sends the bot's acts: `request` those that will be answered, `say` the others. */
export interface Voice {
  request(act: play.PlayAct): void;
  say(act: play.PlayAct): void;
}

/** How a bot is run. */
export interface RunnerOptions<Memory extends object> {
  readonly onError: OnError;
  /** How many choices may be under way at once. */
  readonly thinkers: number;
  /** After how many matches the run ends; undefined: never. */
  readonly matches: number | undefined;
  readonly hooks: Hooks;
  /** Gets the end of each match after the bot; where it is given, the bot looks for no other matches. */
  readonly told?: ((finished: FinishedMatch<Memory>) => void) | undefined;
}

const REMEMBERED_ENDS = 10_000;
/** What is refused for these came too late, and costs nothing. */
const STALE: readonly Reason[] = ["PLY_MISMATCH", "NOT_YOUR_TURN", "MATCH_NOT_ACTIVE"];

interface Asked<Memory extends object> {
  readonly seat: Seat<Memory>;
  readonly act: play.PlayAct;
}

/**
 * Plays a bot: takes the items of its stream, calls its methods, speaks through its voice.
 *
 * `outcome` is settled once `matches` have ended and been acknowledged and no other is under way, or rejected with the
 * error that ends the run.
 */
export class BotRunner<Memory extends object> {
  readonly outcome: Promise<void>;
  #player = "";
  #finish!: (error?: unknown) => void;
  #endings = Promise.resolve();
  #endCount = 0; // ends that are news
  #untold = 0; // ends that the bot has not dealt with
  #closed = false;
  #requests = 0;
  readonly #prefix = randomBytes(8).toString("hex");
  readonly #thinkers: Thinkers;
  readonly #slots: MatchSlots;
  readonly #policies: Policies;
  readonly #seats = new Map<string, Map<number, Seat<Memory>>>(); // by match and number
  readonly #expected = new Set<string>(); // matches that the stream has not told of yet
  readonly #asked = new Map<string, Asked<Memory>>(); // by request id
  readonly #ended = new Set<string>();

  constructor(
    private readonly bot: Bot<Memory>,
    private readonly client: Client,
    private readonly voice: Voice,
    private readonly options: RunnerOptions<Memory>,
    private readonly log: Log,
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.#finish = (error) => (error === undefined ? resolve() : reject(error));
    });
    this.outcome.catch(() => {}); // whoever plays the bot reads it, perhaps later
    this.#thinkers = new Thinkers(options.thinkers);
    this.#slots = new MatchSlots(bot.mostMatches, options.matches);
    const expect = (matchId: string) => this.#expect(matchId);
    const seeks = options.told ? [] : bot.seeks;
    this.#policies = new Policies(bot, seeks, client, this.#slots, this.#callback, expect, this.#finish, log);
  }

  /** Handles an item of the stream, without waiting; unknown items are ignored. */
  take({ item }: play.PlayItem, receivedMs: number): void {
    if (this.#closed) return;
    switch (item.case) {
      case "hello":
        this.#player = item.value.player;
        this.#policies.greeted(item.value.player);
        break;
      case "match":
        this.#onMatch(item.value);
        break;
      case "turn":
        this.#onTurn(item.value, receivedMs);
        break;
      case "answer":
        this.#onAnswer(item.value);
        break;
      case "ended":
        this.#onEnded(item.value);
        break;
      case "drawOffered":
        for (const seat of this.#seatsIn(item.value.matchId)) this.#answerOffer(seat);
        break;
      case "challenge":
        this.#policies.challenge(plain(ChallengeSchema, item.value));
        break;
      case "seek":
        this.#policies.seek(plain(ChallengeSchema, item.value));
        break;
      case "challengeClosed":
        this.#policies.closed(plain(play.ChallengeClosedSchema, item.value));
        break;
      case "tournament":
        this.#policies.tournament(plain(play.TournamentCallSchema, item.value));
        break;
    }
  }

  /** Stops thinking, in all matches, and takes nothing more. */
  close(): void {
    this.#closed = true;
    for (const matchId of this.#seats.keys()) for (const seat of this.#seatsIn(matchId)) this.#leave(seat);
  }

  /** Accepts no more proposals, and withdraws the bot's seeks. */
  withdraw(): Promise<void> {
    return this.#policies.close();
  }

  // ---- matches

  #onMatch(message: MatchMessage): void {
    const match = plain(MatchSchema, message);
    const begun: Promise<void>[] = [];
    for (const seat of this.#seatsOf(match)) {
      const by = match.drawOfferedBy;
      begun.push(this.#begin(seat, match.ply, match.turn));
      if (by && by !== seat.match.seat) this.#answerOffer(seat);
    }
    if (begun.length > 0 && (match.phase === Phase.PENDING || match.phase === Phase.PAUSED))
      void this.#sayReady(match.matchId, begun);
  }

  /** Says that the bot is ready for a match, once `started` has returned: no clock of the match starts before. */
  async #sayReady(matchId: string, begun: Promise<void>[]): Promise<void> {
    await Promise.all(begun);
    const act = { case: "ready", value: {} } as const;
    if (this.#seats.has(matchId)) this.voice.say(create(play.PlayActSchema, { matchId, act }));
  }

  /** Returns the bot's seats in a match that goes on, brought up to date. */
  #seatsOf(match: Match): Seat<Memory>[] {
    const {
      matchId,
      game,
      players,
      phase,
      timeControl: matchTimeControl,
      rated,
      label,
      openingPlies,
      startPosition,
    } = match;
    if (phase === Phase.ENDED || this.#ended.has(matchId)) return [];
    return players.flatMap((player, index) => {
      if (player !== this.#player) return [];
      const seat = this.#seat(matchId, game, index + 1, players[1 - index] ?? "");
      const timeControl = ownControl(match, seat.match.seat);
      Object.assign(seat.match, { timeControl, matchTimeControl, rated, label, openingPlies, startPosition });
      return [seat];
    });
  }

  #seat(matchId: string, game: string, number: number, opponent: string): Seat<Memory> {
    const seats = this.#seats.get(matchId) ?? new Map<number, Seat<Memory>>();
    const seat = seats.get(number) ?? new Seat<Memory>(this.client, matchId, game, number, opponent);
    seats.set(number, seat);
    this.#seats.set(matchId, seats);
    this.#expected.delete(matchId);
    this.#count();
    return seat;
  }

  #seatsIn(matchId: string): Iterable<Seat<Memory>> {
    return this.#seats.get(matchId)?.values() ?? [];
  }

  /** Reserves a place for a match that has been agreed on, until the stream announces it. */
  #expect(matchId: string): void {
    if (!this.#seats.has(matchId) && !this.#ended.has(matchId)) this.#expected.add(matchId);
    this.#count();
  }

  /** Brings up to date how many matches the bot plays, and how many more it may agree on. */
  #count(): void {
    const playing = this.#seats.size + this.#expected.size;
    const left = Math.max(0, (this.options.matches ?? Number.POSITIVE_INFINITY) - this.#endCount - playing);
    if (this.#slots.playing === playing && this.#slots.left === left) return;
    Object.assign(this.#slots, { playing, left });
    this.#policies.look();
  }

  /** Ends the run if enough matches have ended, and the bot has agreed to no others. */
  #endIfDone(): void {
    const { matches = Number.POSITIVE_INFINITY } = this.options;
    if (this.#endCount >= matches && this.#untold === 0 && this.#slots.playing === 0) this.#finish();
  }

  /** Tells the bot of a match, once. `ply` and `turn` are where it is: it goes on if the bot has moved in it before. */
  #begin(seat: Seat<Memory>, ply: number, turn: number): Promise<void> {
    if (!seat.begun) {
      const { matchId, game, seat: number, opponent, openingPlies } = seat.match;
      const played = ply - openingPlies;
      const begins = played > 1 || (played === 1 && turn !== number) ? "goes on" : "begins";
      this.log("info", `${matchId} ${begins}: ${game} as seat ${number} against ${opponent}`);
      seat.begun = this.#callback("started", () => this.bot.started(seat.match), undefined);
    }
    return seat.begun;
  }

  #leave(seat: Seat<Memory>): void {
    seat.match.over = true;
    seat.leave();
    for (const [id, asked] of this.#asked) if (asked.seat === seat) this.#asked.delete(id);
  }

  #onEnded(message: play.MatchEnded): void {
    const seats = this.#seats.get(message.matchId);
    for (const seat of this.#seatsIn(message.matchId)) this.#leave(seat);
    this.#seats.delete(message.matchId);
    this.#expected.delete(message.matchId);
    const isNews = !this.#ended.has(message.matchId);
    if (isNews) {
      this.#remember(message.matchId);
      this.#endCount += 1;
    }
    this.#untold += 1;
    this.#count();
    // One after the other: an acknowledgement covers all results before it.
    const seat = seats?.get(message.seat);
    this.#endings = this.#endings.then(() => this.#dealWithEnd(message, seat, isNews));
  }

  async #dealWithEnd(
    message: play.MatchEnded,
    seat: Seat<Memory> | undefined,
    isNews: boolean,
  ): Promise<void> {
    if (isNews) {
      const { cursor: _, result, ...about } = plain(play.MatchEndedSchema, message);
      if (result) {
        const finished = { ...about, result, score: scoreOf(result, message.seat), match: seat?.match };
        this.log("info", `${finished.matchId} has ended: ${told(finished)}`);
        await this.#callback("ended", () => this.bot.ended(finished), undefined);
        this.options.told?.(finished);
      }
    }
    const act = { case: "acknowledge", value: { cursor: message.cursor } } as const;
    this.voice.say(create(play.PlayActSchema, { act }));
    this.#untold -= 1;
    this.#endIfDone();
  }

  #remember(matchId: string): void {
    this.#ended.add(matchId);
    const [oldest] = this.#ended;
    if (this.#ended.size > REMEMBERED_ENDS && oldest !== undefined) this.#ended.delete(oldest);
  }

  // ---- turns

  #onTurn(message: play.Turn, receivedMs: number): void {
    const { matchId, game, ply } = message;
    if (this.#ended.has(matchId)) return;
    const seat = this.#seat(matchId, game, message.seat, message.opponent);
    if (message.drawOffered) this.#answerOffer(seat);
    // Told again: the choice is being made, or has been made and will be, or has been, sent again.
    if (ply < seat.nextPly || this.#isDealtWith(seat, ply) || (seat.thought && ply <= seat.thought.ply))
      return;
    const thought = seat.think(ply);
    const turn = new Turn<Memory>(plain(play.TurnSchema, message), seat.match, receivedMs, thought.signal);
    void this.#think(seat, thought, turn, async () => {
      await this.#begin(seat, ply, message.seat);
      const moves = joined(seat.match.moves, message) ?? (await this.#wholeLine(seat, thought, ply));
      if (seat.thought !== thought) return undefined;
      seat.match.moves = moves;
      return this.#thinkers.run(() => this.#askBot(seat, thought, () => this.bot.choose(turn)));
    });
  }

  /**
   * Returns whether the unanswered act of a seat answers the turn at a ply.
   *
   * A move for an earlier ply does not: it has been played, or there would be no such turn, and its answer is on the
   * way. So it is where one seat moves twice in a row.
   */
  #isDealtWith(seat: Seat<Memory>, ply: number): boolean {
    const act = this.#asked.get(seat.requestId)?.act.act;
    return act !== undefined && !(act.case === "move" && act.value.ply < ply);
  }

  /** Makes a choice and acts by it, unless the seat has got something else to think about meanwhile. */
  async #think(
    seat: Seat<Memory>,
    thought: Thought,
    turn: Turn<Memory>,
    choose: () => Promise<Choice | undefined>,
  ): Promise<void> {
    try {
      const choice = await choose();
      if (seat.thought === thought) {
        const { hooks } = this.options;
        call(this.log, "thought", () => hooks.thought?.(turn as Turn<never>, turn.thoughtMs));
        this.#act(seat, turn, choice as Choice);
      }
    } catch (error) {
      if (seat.thought === thought) this.#fail(seat, turn, error);
    }
    if (seat.thought === thought) seat.thought = undefined;
  }

  /** Returns the moves of a match up to a ply, by asking until there is an answer. */
  async #wholeLine(seat: Seat<Memory>, thought: Thought, ply: number): Promise<readonly string[]> {
    const { connection } = this.client;
    const backoff = new Backoff();
    const { signal } = thought;
    while (seat.thought === thought) {
      const { greeting } = connection;
      try {
        const match = await this.client.getMatch(seat.match.matchId, { withMoves: true, signal });
        return match.moves.slice(0, ply);
      } catch (error) {
        if (!wasAway(error)) throw error;
        await connection.rest(backoff.nextMs(), greeting, error, signal);
      }
    }
    return [];
  }

  async #chooseAgain(seat: Seat<Memory>, turn: Turn<Memory>, refusal: ArbiterError): Promise<void> {
    const thought = seat.think(turn.ply);
    const again = turn.again(refusal, thought.signal);
    await this.#think(seat, thought, again, async () => {
      if (turn.refused) throw refusal;
      const choose = async () => (await this.bot.refused(turn, refusal)) ?? this.bot.choose(again);
      return this.#thinkers.run(() => this.#askBot(seat, thought, choose));
    });
  }

  /**
   * Returns the bot's choice; the bot is called again if it failed while the arbiter was away. That is so if its error,
   * or one behind it, shows it, or if any call failed in that way meanwhile: a bot may wrap an error in any way, or
   * keep only its text.
   */
  async #askBot<T>(seat: Seat<Memory>, thought: Thought, ask: () => Awaitable<T>): Promise<T | undefined> {
    const { connection } = this.client;
    const backoff = new Backoff();
    while (seat.thought === thought) {
      const { outages, greeting } = connection;
      try {
        return await ask();
      } catch (error) {
        if (seat.thought !== thought) return undefined; // it is of no use any more, and its calls are cancelled
        if (connection.outages === outages && !comesOfAnOutage(error)) throw error;
        const level = connection.isUp ? levelOf(error) : "debug";
        this.log(level, `the choice in match ${seat.match.matchId} is made again: ${textOf(error)}`);
        await connection.rest(backoff.nextMs(), greeting, error, thought.signal);
      }
    }
    return undefined;
  }

  #act(seat: Seat<Memory>, turn: Turn<Memory>, choice: Choice): void {
    for (const act of actsOf(choice, seat.match.matchId, turn.ply)) seat.requestId = this.#request(seat, act);
    seat.turn = turn;
  }

  #request(seat: Seat<Memory>, act: play.PlayAct): string {
    this.#requests += 1;
    act.requestId = `${this.#prefix}-${this.#requests}`;
    this.#asked.set(act.requestId, { seat, act });
    this.voice.request(act);
    return act.requestId;
  }

  /** Handles an error of the bot in its turn: logs it, and does what the run's policy says. */
  #fail(seat: Seat<Memory>, turn: Turn<Memory>, error: unknown): void {
    const { onError } = this.options;
    const where = `${this.bot.name} failed in match ${seat.match.matchId} at ply ${turn.ply}`;
    if (onError === "raise") {
      this.#finish(new BotFailed(`${where}: ${textOf(error)}`, { cause: error }));
      return;
    }
    const cost = onError === "resign" ? "it resigns" : "its clock runs on";
    // The text of a refusal is clear by itself; any other error needs its trace.
    const trace = error instanceof Error && !(error instanceof ArbiterError) ? `\n${error.stack}` : "";
    this.log("error", `${where}, and ${cost}: ${textOf(error)}${trace}`);
    if (onError === "resign") this.#act(seat, turn, { resign: true });
  }

  // ---- answers

  #onAnswer({ requestId, answer }: MoveAnswer): void {
    const asked = this.#asked.get(requestId);
    if (!asked) return; // answered before, or in a match that has ended
    this.#asked.delete(requestId);
    if (answer.case === "refusal") this.#onRefusal(asked, fromRefusal(answer.value));
    else if (asked.act.act.case === "move")
      this.#onPlayed(asked.seat, asked.act.act.value, answer.value?.ply);
  }

  #onPlayed(seat: Seat<Memory>, { ply, move }: play.MoveAct, plyAfter: number | undefined): void {
    seat.nextPly = Math.max(seat.nextPly, ply + 1);
    seat.offerAnswered = false; // a move ends the opponent's offer
    if (seat.match.moves.length === ply && plyAfter === ply + 1)
      seat.match.moves = [...seat.match.moves, move];
  }

  #onRefusal({ seat, act }: Asked<Memory>, refusal: ArbiterError): void {
    const { matchId, requestId } = act;
    const what = act.act.case;
    if (STALE.includes(refusal.reason)) {
      this.log("debug", `${what} came too late in match ${matchId}: ${refusal.message}`);
      return;
    }
    this.log("warning", `${what} refused in match ${matchId}: ${refusal.message}`);
    const answersTurn = (what === "move" || what === "claimDraw") && seat.requestId === requestId;
    const { turn } = seat;
    if (!answersTurn || !turn) return;
    const { hooks } = this.options;
    call(this.log, "refused", () => hooks.refused?.(turn as Turn<never>, refusal));
    void this.#chooseAgain(seat, turn, refusal);
  }

  #answerOffer(seat: Seat<Memory>): void {
    if (seat.offerAnswered) return;
    seat.offerAnswered = true;
    void this.#callback("drawOffered", () => this.bot.drawOffered(seat.match), false).then((accept) => {
      if (seat.match.over) return;
      const act = { case: "answerDraw", value: { accept: accept === true } } as const;
      this.#request(seat, create(play.PlayActSchema, { matchId: seat.match.matchId, act }));
    });
  }

  /** Returns the result of a callback, or the default if it fails. */
  readonly #callback = async <T>(name: string, call: () => T | Promise<T>, byDefault: T): Promise<T> => {
    try {
      return await call();
    } catch (error) {
      const where = `${this.bot.name} failed in ${name}`;
      const trace = error instanceof Error ? error.stack : String(error);
      if (this.options.onError === "raise")
        this.#finish(new BotFailed(`${where}: ${textOf(error)}`, { cause: error }));
      else this.log("error", `${where}: ${trace}`);
      return byDefault;
    }
  };
}

/** Returns how a match ended, in words. */
function told({ score, result }: Pick<FinishedMatch, "score" | "result">): string {
  const words = score === undefined ? "it does not count" : ["lost", "drawn", "won"][score * 2];
  return `${words}, by ${result.reason}`;
}
