/**
 * Messages of the server as plain values. A value has the fields of its message in the protocol (`arbiter/v1/*.proto`),
 * with their comments; instants are UTC in ms since 1970, durations are in ms, and enumerations are the protocol's.
 */

import type { Client } from "./client.js";
import type { ArbiterError } from "./errors.js";
import type * as game from "./generated/arbiter/v1/game_pb.js";
import * as match from "./generated/arbiter/v1/match_pb.js";
import type * as play from "./generated/arbiter/v1/play_pb.js";
import type * as player from "./generated/arbiter/v1/player_pb.js";
import type * as rating from "./generated/arbiter/v1/rating_pb.js";
import type * as server from "./generated/arbiter/v1/server_pb.js";
import type * as tournament from "./generated/arbiter/v1/tournament_pb.js";
import type { Plain } from "./plain.js";
import { type Thinking, thinkTimeMs } from "./think_time.js";

export { Basis, Tile } from "./generated/arbiter/v1/game_pb.js";
export { Cause, Party, Phase, ResultKind, StartRule } from "./generated/arbiter/v1/match_pb.js";
export { Scope } from "./generated/arbiter/v1/player_pb.js";
export { TournamentEnd, TournamentFormat, TournamentPhase } from "./generated/arbiter/v1/tournament_pb.js";

/** What a server is: versions, capabilities, limits by name, public keys. */
export interface ServerInfo extends Plain<server.GetServerInfoResponse> {}
/** A game in a list. */
export interface GameSummary extends Plain<game.GameSummary> {}
/** Everything about one variant of a game. */
export interface Game extends Plain<game.GetGameResponse> {}
/** What stands on a cell of a board. */
export interface CellContent extends Plain<game.CellContent> {}
/** A legal move: its text, and its visible parts if they were asked for. */
export interface LegalMove extends Plain<game.LegalMove> {}
/** A line, played: the positions that were asked for, and the outcome if the line reaches it. */
export interface PlayedLine extends Plain<game.PlayMovesResponse> {}
/** A position on a line. */
export interface PlayedPosition extends Plain<game.PlayedPosition> {}
/** The current state of a match. */
export interface Match extends Plain<match.Match> {}
/** How a match ended. */
export interface Result extends Plain<match.Result> {}
/** A player's clock. */
export interface Clock extends Plain<match.Clock> {}
/** A move that was played, after `ply` others. */
export interface RecentMove extends Plain<play.RecentMove> {}
/** A player; its name is its id. */
export interface Player extends Plain<player.Player> {}
/** A new player and its token, which is shown only now. */
export interface Registered extends Plain<player.RegisterPlayerResponse> {}
/** The caller, and the rights of its token. */
export interface Myself extends Plain<player.GetPlayerResponse> {}
/**
 * A challenge; a seek is a challenge whose `opponent` is empty. `rating`: of the challenger's newest version in the
 * game; undefined if it has none, or the bot has no limits for it.
 */
export interface Challenge extends Plain<player.Challenge> {
  readonly rating?: number | undefined;
}
/** A challenge or seek of the bot's is no longer open: the match that came of it, or the reason why there is none. */
export interface ChallengeClosed extends Plain<play.ChallengeClosed> {}
/** A tournament that the bot may enter, or one that it plays in. */
export interface TournamentCall extends Plain<play.TournamentCall> {}
/** The current state of a tournament. */
export interface Tournament extends Plain<tournament.Tournament> {}
/** A tournament in a list. */
export interface TournamentSummary extends Plain<tournament.TournamentSummary> {}
/** A player in a tournament. */
export interface Entrant extends Plain<tournament.Entrant> {}
/** The ratings of a player's versions, the newest first. */
export interface Rating extends Plain<rating.GetRatingResponse> {}
/** The cells of a board. */
export interface Board extends Plain<game.Board> {}
/** The standings of a tournament. */
export interface Standings extends Plain<tournament.GetStandingsResponse> {}

/**
 * An event of a match: `event.case` is its kind, and `event.value` its content; `case` is undefined where the event is
 * newer than this client. `token` resumes a stream of everything after this event.
 */
export type MatchEvent = Plain<match.MatchEvent> & { readonly token: string };

/** What a challenge or seek proposes. */
export interface Terms {
  /** The variant, such as `pods(size=5)`. */
  readonly game: string;
  /** The time control, such as `1m+1s`; by default the server's. */
  readonly timeControl?: string;
  /** Whether the match counts for ratings; by default not. */
  readonly rated?: boolean;
  /** The challenger's seat: 1 or 2, or 0 (the default) to have it drawn. */
  readonly seat?: number;
  /** The position that the match starts from; by default the game's initial one. Such a match is not rated. */
  readonly position?: string;
  /** How long a player may be absent before it has lost, 0: as long as its clock allows; by default the server's. */
  readonly abandonMs?: bigint;
}

/** A line of play: a variant, a start position (by default the initial one) and the moves since. */
export interface Line {
  readonly game: string;
  readonly position?: string;
  readonly moves: readonly string[];
}

/** A match at a ply, 0 at the start; without a ply the current one. */
export interface MatchPly {
  readonly matchId: string;
  readonly ply?: number;
}

/**
 * A match that the bot plays, from its first turn to its end. A match of the bot against itself is two of these, one
 * for each seat.
 */
export interface LiveMatch<Memory extends object = Record<string, unknown>> {
  readonly matchId: string;
  readonly game: string;
  /** The bot's seat, 1 or 2. */
  readonly seat: number;
  readonly opponent: string;
  /** The bot's own time control. */
  readonly timeControl: string;
  /** The match's: with a colon between two that differ. */
  readonly matchTimeControl: string;
  readonly rated: boolean;
  readonly label: string;
  /** How many of the first moves nobody played. */
  readonly openingPlies: number;
  /** Where the match began; empty for the initial position. */
  readonly startPosition: string;
  /** The moves up to the bot's latest turn. */
  readonly moves: readonly string[];
  /** Turns true when the match ends or the bot stops, so that a long search may end. */
  readonly over: boolean;
  /** All other calls of the server that the match is on. */
  readonly client: Client;
  /** Free for the bot's own data about the match, of the type that it names (`Bot<Memory>`); empty at first. */
  readonly memory: Partial<Memory>;
}

/** The bot is to move. */
export class Turn<Memory extends object = Record<string, unknown>> {
  /** The canonical variant. */
  readonly game: string;
  /** The bot's seat. */
  readonly seat: number;
  /** How many moves were played before it. */
  readonly ply: number;
  /** The position's text. */
  readonly position: string;
  /** The moves since the bot's last turn, at least; `match.moves` has all. */
  readonly lastMoves: readonly RecentMove[];
  /** By seat; empty without a time control. */
  readonly clocks: readonly Clock[];
  /** The instant at which the bot's clock started. */
  readonly startedMs: number;
  /** The server's clock when it handed the turn over. */
  readonly nowMs: number;
  /** The reason for which the bot may claim a draw; empty if it may not. */
  readonly drawClaim: string;
  /** Whether the opponent's draw offer stands. */
  readonly drawOffered: boolean;
  readonly opponent: string;
  /** The board, if the bot's `extras` request it. */
  readonly board: readonly CellContent[];
  /** The number of legal moves, where `extras` ask for it and the server knows it. */
  readonly legalMoveCount: number | undefined;
  /** The legal moves, where `extras` ask for them and they are not too many; `Bot.legalMoves` always has them. */
  readonly legalMoves: readonly LegalMove[];
  /** The longest think on this move before the flag falls, in ms; 0 without a limit. */
  readonly availableMs: number;
  /** The revision of the event that made it a turn. */
  readonly revision: number;

  constructor(
    private readonly message: Plain<play.Turn>,
    /** The match, as long as it lasts. */
    readonly match: LiveMatch<Memory>,
    /** When it arrived, on the clock of `monotonicMs`. */
    private readonly receivedMs: number,
    /**
     * Is aborted when a choice for this turn is of no use any more: the match has ended, a later turn has come, or the
     * run is over. For `fetch`, for timers, and for calls of `client`.
     */
    readonly signal: AbortSignal,
    /** Why the bot's first choice for this turn was refused; undefined at first. */
    readonly refused?: ArbiterError,
  ) {
    this.game = message.game;
    this.seat = message.seat;
    this.ply = message.ply;
    this.position = message.position;
    this.lastMoves = message.lastMoves;
    this.clocks = message.clocks;
    this.startedMs = message.startedMs;
    this.nowMs = message.nowMs;
    this.drawClaim = message.drawClaim;
    this.drawOffered = message.drawOffered;
    this.opponent = message.opponent;
    this.board = message.board;
    this.legalMoveCount = message.legalMoveCount;
    this.legalMoves = message.legalMoves;
    this.availableMs = message.availableMs;
    this.revision = message.revision;
  }

  /** Returns this turn with the refusal of the first choice for it. */
  again(refused: ArbiterError, signal: AbortSignal): Turn<Memory> {
    return new Turn(this.message, this.match, this.receivedMs, signal, refused);
  }

  /** All other calls of the server. */
  get client(): Client {
    return this.match.client;
  }

  /** The line of play that leads to this turn, for `Client.legalMoves` and `Client.playMoves`. */
  get line(): Line {
    const { startPosition: position, moves } = this.match;
    return { game: this.game, ...(position && { position }), moves };
  }

  /** How long ago the turn arrived, in ms. */
  get thoughtMs(): number {
    return monotonicMs() - this.receivedMs;
  }

  /** How long the bot may still think, from now, before its flag falls, in ms; undefined without a limit. */
  get timeLeftMs(): number | undefined {
    if (!this.availableMs) return undefined;
    const chargedMs = this.nowMs - this.startedMs + this.thoughtMs;
    return Math.max(0, this.availableMs - chargedMs);
  }

  /**
   * Returns how long to think for this move from now, in ms; undefined without a time limit. `expectedPlies` are those
   * to the end of the game, of both players (60 by default), `matches` those that think in this process.
   */
  thinkTimeMs(given: Pick<Thinking, "expectedPlies" | "matches"> = {}): number | undefined {
    const leftMs = this.timeLeftMs;
    if (leftMs === undefined) return undefined;
    const { remainingMs = leftMs, movesLeft = 0 } = this.clocks[this.seat - 1] ?? {};
    const { timeControl } = this.match;
    return thinkTimeMs({ timeControl, leftMs, mainMs: Math.min(leftMs, remainingMs), movesLeft, ...given });
  }
}

/** Returns the time in ms on a clock that no one sets, and that all threads of the process share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A match of the bot has ended, perhaps while it was away. */
export interface FinishedMatch<Memory extends object = Record<string, unknown>> {
  readonly matchId: string;
  readonly game: string;
  /** The bot's seat; 1 in a match against itself. */
  readonly seat: number;
  readonly opponent: string;
  readonly result: Result;
  /** The position's text at the end. */
  readonly position: string;
  /** The bot's points: 1, ½ or 0; undefined if the match is void. */
  readonly score: number | undefined;
  /** The match as the bot played it; undefined if this run never saw it live. */
  readonly match: LiveMatch<Memory> | undefined;
}

/** Returns a seat's points: 1, ½ or 0, or undefined if the match is void. */
export function scoreOf(result: Result, seat: number): number | undefined {
  if (result.kind === match.ResultKind.WIN) return result.winner === seat ? 1 : 0;
  return result.kind === match.ResultKind.DRAW ? 0.5 : undefined;
}

/** Returns a board, such as that of a turn, as rows of cells in reading order; undefined for an empty cell. */
export function boardArray(
  board: Pick<Board, "lines">,
  contents: readonly CellContent[],
): (CellContent | undefined)[][] {
  const byName = new Map(contents.map((content) => [content.cell, content]));
  return board.lines.map(({ cells }) => cells.map((cell) => byName.get(cell)));
}

/** Returns a line with more moves at its end. */
export function extended(line: Line, ...moves: string[]): Line {
  return { ...line, moves: [...line.moves, ...moves] };
}
