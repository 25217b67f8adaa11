/** Unary calls, and watching. */

import { randomBytes } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { serverAddresses } from "./addresses.js";
import { type CallOptions, Connection, environmentTls, type Tls } from "./channel.js";
import * as credentials from "./credentials.js";
import { ArbiterError, CredentialsError } from "./errors.js";
import * as game from "./generated/arbiter/v1/game_pb.js";
import * as match from "./generated/arbiter/v1/match_pb.js";
import * as player from "./generated/arbiter/v1/player_pb.js";
import * as rating from "./generated/arbiter/v1/rating_pb.js";
import * as server from "./generated/arbiter/v1/server_pb.js";
import * as tournament from "./generated/arbiter/v1/tournament_pb.js";
import { type Log, stderrLog } from "./log.js";
import { follow } from "./observing.js";
import { plain } from "./plain.js";
import type * as values from "./values.js";

/** How a client finds its server, and who it is there. */
export interface ClientOptions {
  /** HOST:PORT, or several addresses of one arbiter with commas; by default ARBITER_SERVER, or 127.0.0.1:7400. */
  readonly server?: string | undefined;
  /** By default ARBITER_TOKEN, or the entry of player `name` in the credentials file, or none. */
  readonly token?: string | undefined;
  /** The player whose token in the credentials file is used; by default ARBITER_NAME. */
  readonly name?: string | undefined;
  /** By default that of ARBITER_ROOT_CERTIFICATE and the related variables, or none. */
  readonly tls?: Tls | "none" | undefined;
  /** How long one call may take, in ms; 30 s by default. */
  readonly timeoutMs?: number;
  /** How long a server that can't be reached is tried, in ms; 1 s by default. */
  readonly patienceMs?: number;
  /** The log of problems; by default standard error. */
  readonly log?: Log;
}

/** What a new match shall be; everything else is the server's default. */
export type NewMatch = Omit<MessageInitShape<typeof match.CreateMatchRequestSchema>, "requestId"> & {
  readonly requestId?: string;
};

/** How a call is made that changes something. */
export interface RequestOptions extends CallOptions {
  /** The same id again gets the same answer; by default a new one. */
  readonly requestId?: string | undefined;
}

/**
 * A client of one server. Answers are plain values with the fields of the protocol's messages. Refusals are thrown as
 * ArbiterError; where no arbiter answers, it is ConnectionFailed. Calls that change something take a request id, so
 * that they can be repeated without being carried out twice, and choose one where none is given. Every call takes a
 * `signal`: once that is aborted the call ends, and its promise is rejected with the signal's reason.
 *
 * All other calls of the protocol are one line with the connection:
 *
 *     await client.connection.ask(MatchService.method.resign, { requestId, matchId });
 */
export class Client {
  /** The channel, with the token for every call. */
  readonly connection: Connection;
  readonly #log: Log;
  readonly #hasGivenToken: boolean;

  /** Throws ConnectionFailed for a malformed address, CredentialsError. */
  constructor(options: ClientOptions = {}) {
    const addresses = serverAddresses(options.server);
    const name = options.name || process.env.ARBITER_NAME || "";
    this.connection = new Connection({
      addresses,
      token: credentials.tokenFor(addresses, name, options.token),
      tls: options.tls === "none" ? undefined : (options.tls ?? environmentTls()),
      timeoutMs: options.timeoutMs ?? 30_000,
      patienceMs: options.patienceMs ?? 1_000,
    });
    this.#log = options.log ?? stderrLog();
    this.#hasGivenToken = credentials.given(options.token) !== "";
  }

  /**
   * Makes sure that there is a token: registers the player `name` if there is none, or if the server has a new database
   * and does not know the one in the credentials file, and stores the new token there. `invitation`: if one is needed.
   * With a token that the user gave, the file is not read.
   *
   * Refusals: PLAYER_EXISTS (its token is not in the file), REGISTRATION_CLOSED, ARGUMENT_INVALID.
   */
  async enrol(name: string, invitation = ""): Promise<void> {
    const { connection } = this;
    if (this.#hasGivenToken) return;
    await credentials.renew();
    if (connection.token && (await this.#isKnown())) return;
    if (!name) throw new CredentialsError("who plays? Give a name to register, or a token (ARBITER_TOKEN)");
    connection.token = "";
    // A registration is not repeated, so first wait for a server that answers, as long as patience allows.
    await this.serverInfo().catch((error: unknown) => {
      if (!(error instanceof ArbiterError)) throw error;
    });
    try {
      const { token } = await this.registerPlayer(name, { invitation });
      await credentials.save(connection.addresses.listed, name, token);
      connection.token = token;
    } catch (error) {
      if (!(error instanceof ArbiterError) || error.reason !== "PLAYER_EXISTS") throw error;
      const hint = `give its token (ARBITER_TOKEN) or another name; ${credentials.path()} has none for it`;
      const text = `there is a player ${name} already: ${hint}`;
      throw new ArbiterError(error.reason, text, error.code, error.facts, { cause: error });
    }
  }

  /** Closes the connection for good. */
  close(): void {
    this.connection.close();
  }

  // ---- the server and its games: open to everybody

  /** Returns the server's versions, capabilities, limits and public keys. */
  async serverInfo(options: CallOptions = {}): Promise<values.ServerInfo> {
    const { getServerInfo } = server.ServerService.method;
    return plain(getServerInfo.output, await this.connection.ask(getServerInfo, {}, options));
  }

  /** Returns the games, in the server's order. */
  async listGames(options: CallOptions = {}): Promise<values.GameSummary[]> {
    const { listGames } = game.GameService.method;
    const games = await pages(10_000, async (page) => {
      const answer = await this.connection.ask(listGames, page, options);
      return [answer.games, answer.nextPageToken];
    });
    return games.map((each) => plain(game.GameSummarySchema, each));
  }

  /** Returns everything about one variant, such as `pods(size=5)`. Refusals: GAME_UNKNOWN, PARAMETER_INVALID. */
  async getGame(name: string, options: CallOptions = {}): Promise<values.Game> {
    const { getGame } = game.GameService.method;
    return plain(getGame.output, await this.connection.ask(getGame, { game: name }, options));
  }

  /**
   * Returns the legal moves in a match at a ply, or at the end of a line of play, in bytewise order.
   *
   * Refusals: MATCH_NOT_FOUND, PLY_MISMATCH, GAME_UNKNOWN, PARAMETER_INVALID, POSITION_MALFORMED, MOVE_MALFORMED,
   * MOVE_ILLEGAL (fact ply: which move of the line), BUDGET_SPENT.
   */
  async legalMoves(
    at: values.Line | values.MatchPly,
    { withSteps = false, signal }: CallOptions & { readonly withSteps?: boolean | undefined } = {},
  ): Promise<values.LegalMove[]> {
    const { legalMoves } = game.GameService.method;
    const where =
      "matchId" in at
        ? ({ case: "match", value: at } as const)
        : ({ case: "line", value: lineMessage(at) } as const);
    const chunks = await this.connection.collect(legalMoves, { at: where, withSteps }, { signal });
    return chunks.flatMap((chunk) => chunk.moves.map((move) => plain(game.LegalMoveSchema, move)));
  }

  /**
   * Plays a line and returns the positions from `fromPly` on, the last one at its end, and the outcome if it reaches
   * it. Refusals: as for legalMoves.
   */
  async playMoves(
    line: values.Line,
    {
      fromPly = 0,
      withBoard = false,
      signal,
    }: CallOptions & { readonly fromPly?: number | undefined; readonly withBoard?: boolean | undefined } = {},
  ): Promise<values.PlayedLine> {
    const { playMoves } = game.GameService.method;
    const request = { line: lineMessage(line), fromPly, withBoard };
    return plain(playMoves.output, await this.connection.ask(playMoves, request, { signal }));
  }

  // ---- matches

  /**
   * Makes a match; seat 1 comes first in `players`. Needs scope organise.
   *
   * Refusals: GAME_UNKNOWN, PARAMETER_INVALID, PLAYER_NOT_FOUND, PLAYER_SUSPENDED, ARGUMENT_INVALID, MOVE_MALFORMED,
   * MOVE_ILLEGAL, REQUEST_ID_REUSED, SCOPE_MISSING.
   */
  async createMatch(wanted: NewMatch, options: CallOptions = {}): Promise<values.Match> {
    const { createMatch } = match.MatchService.method;
    const request = { requestId: newRequestId(), ...wanted } as MessageInitShape<typeof createMatch.input>;
    return matchOf(await this.connection.ask(createMatch, request, options));
  }

  /** Returns the current state of a match. Refusals: MATCH_NOT_FOUND. */
  async getMatch(
    matchId: string,
    { withMoves = false, signal }: CallOptions & { readonly withMoves?: boolean | undefined } = {},
  ): Promise<values.Match> {
    const { getMatch } = match.MatchService.method;
    return matchOf(await this.connection.ask(getMatch, { matchId, withMoves }, { signal }));
  }

  /** Returns the newest matches that pass the filters, without position, moves and clocks; 100 at most by default. */
  async listMatches(
    filters: { player?: string; game?: string; label?: string; phase?: match.Phase } = {},
    { most = 100, signal }: CallOptions & { readonly most?: number | undefined } = {},
  ): Promise<values.Match[]> {
    const { listMatches } = match.MatchService.method;
    const found = await pages(most, async (page) => {
      const answer = await this.connection.ask(listMatches, { ...filters, ...page }, { signal });
      return [answer.matches, answer.nextPageToken];
    });
    return found.map((each) => plain(match.MatchSchema, each));
  }

  /**
   * Yields the events of a match after a revision, without a gap, up to its last; after a lost connection it continues
   * without a gap. Refusals: MATCH_NOT_FOUND.
   */
  async *observe(
    matchId: string,
    options: CallOptions & {
      readonly afterRevision?: number | undefined;
      readonly withRecord?: boolean | undefined;
    } = {},
  ): AsyncGenerator<values.MatchEvent, void> {
    let afterRevision = BigInt(options.afterRevision ?? 0);
    const ask = () => {
      const of = { case: "match", value: { matchId, afterRevision } } as const;
      return { of, withRecord: options.withRecord ?? false };
    };
    for await (const { item, token } of follow(this.connection, ask, this.#log, options.signal)) {
      if (item.case !== "event" || item.value.revision <= afterRevision) continue;
      afterRevision = item.value.revision;
      yield { ...plain(match.MatchEventSchema, item.value), token };
    }
  }

  /**
   * Yields the events of every match, or of those with a label, after a token, for as long as the caller reads. An
   * empty token starts now, "0" at the beginning of the record. Refusals: ARGUMENT_INVALID (token).
   */
  async *observeAll(
    options: CallOptions & {
      readonly afterToken?: string | undefined;
      readonly label?: string | undefined;
      readonly withRecord?: boolean | undefined;
    } = {},
  ): AsyncGenerator<values.MatchEvent, void> {
    let afterToken = options.afterToken ?? "";
    const ask = () => {
      const of = { case: "all", value: { afterToken, label: options.label ?? "" } } as const;
      return { of, withRecord: options.withRecord ?? false };
    };
    for await (const { item, token } of follow(this.connection, ask, this.#log, options.signal)) {
      afterToken = token || afterToken;
      if (item.case === "event") yield { ...plain(match.MatchEventSchema, item.value), token };
    }
  }

  /** Returns the record of a match: one canonical JSON text a line. Refusals: MATCH_NOT_FOUND. */
  async transcript(matchId: string, options: CallOptions = {}): Promise<Uint8Array> {
    const { getTranscript } = match.MatchService.method;
    const parts = await this.connection.collect(getTranscript, { matchId }, options);
    return Buffer.concat(parts.map((part) => part.lines));
  }

  // ---- players and challenges

  /** Makes a player and its first token. Refusals: PLAYER_EXISTS, REGISTRATION_CLOSED, ARGUMENT_INVALID. */
  async registerPlayer(
    name: string,
    {
      about = "",
      invitation = "",
      signal,
    }: CallOptions & { readonly about?: string | undefined; readonly invitation?: string | undefined } = {},
  ): Promise<values.Registered> {
    const { registerPlayer } = player.PlayerService.method;
    const answer = await this.connection.ask(
      registerPlayer,
      { name, about, invitation },
      { again: false, signal },
    );
    return plain(registerPlayer.output, answer);
  }

  /** Returns the caller, and the rights of its token. Refusals: TOKEN_INVALID. */
  async myself(options: CallOptions = {}): Promise<values.Myself> {
    const { getPlayer } = player.PlayerService.method;
    return plain(getPlayer.output, await this.connection.ask(getPlayer, {}, options));
  }

  /**
   * Challenges a player.
   *
   * Refusals: PLAYER_NOT_FOUND, PLAYER_SUSPENDED, GAME_UNKNOWN, PARAMETER_INVALID, ARGUMENT_INVALID, RATE_LIMITED.
   */
  async createChallenge(
    opponent: string,
    terms: values.Terms,
    { requestId = newRequestId(), signal }: RequestOptions = {},
  ): Promise<values.Challenge> {
    const { createChallenge } = player.PlayerService.method;
    const answer = await this.connection.ask(createChallenge, { requestId, opponent, terms }, { signal });
    return plain(player.ChallengeSchema, present(answer.challenge));
  }

  /** Makes a challenge that any player may accept; the first gets the match. Refusals: as for createChallenge. */
  async createSeek(
    terms: values.Terms,
    { requestId = newRequestId(), signal }: RequestOptions = {},
  ): Promise<values.Challenge> {
    const { createSeek } = player.PlayerService.method;
    const answer = await this.connection.ask(createSeek, { requestId, terms }, { signal });
    return plain(player.ChallengeSchema, present(answer.seek));
  }

  /** Accepts a challenge to the caller, or any seek, and returns the match. Refusals: CHALLENGE_NOT_FOUND. */
  async acceptChallenge(challengeId: string, options: CallOptions = {}): Promise<values.Match> {
    const { acceptChallenge } = player.PlayerService.method;
    return matchOf(await this.connection.ask(acceptChallenge, { challengeId }, options));
  }

  /** Declines a challenge, or withdraws the caller's own challenge or seek. Refusals: CHALLENGE_NOT_FOUND. */
  async declineChallenge(challengeId: string, reason = "", options: CallOptions = {}): Promise<void> {
    const { declineChallenge } = player.PlayerService.method;
    await this.connection.ask(declineChallenge, { challengeId, reason }, options);
  }

  /** Returns the open challenges to and by the caller, and all open seeks, oldest first. */
  async listChallenges({
    most = 1000,
    signal,
  }: CallOptions & { readonly most?: number | undefined } = {}): Promise<values.Challenge[]> {
    const { listChallenges } = player.PlayerService.method;
    const found = await pages(most, async (page) => {
      const answer = await this.connection.ask(listChallenges, page, { signal });
      return [answer.challenges, answer.nextPageToken];
    });
    return found.map((each) => plain(player.ChallengeSchema, each));
  }

  // ---- tournaments

  /** Returns the newest tournaments that pass the filters; 100 at most by default. */
  async listTournaments(
    filters: {
      format?: tournament.TournamentFormat;
      creator?: string;
      phase?: tournament.TournamentPhase;
    } = {},
    { most = 100, signal }: CallOptions & { readonly most?: number | undefined } = {},
  ): Promise<values.TournamentSummary[]> {
    const { listTournaments } = tournament.TournamentService.method;
    const found = await pages(most, async (page) => {
      const answer = await this.connection.ask(listTournaments, { ...filters, ...page }, { signal });
      return [answer.tournaments, answer.nextPageToken];
    });
    return found.map((each) => plain(tournament.TournamentSummarySchema, each));
  }

  /** Returns the current state of a tournament. Refusals: TOURNAMENT_NOT_FOUND. */
  async getTournament(tournamentId: string, options: CallOptions = {}): Promise<values.Tournament> {
    const { getTournament } = tournament.TournamentService.method;
    const answer = await this.connection.ask(getTournament, { tournamentId }, options);
    return plain(tournament.TournamentSchema, present(answer.tournament));
  }

  /**
   * Enters the caller. `byes`: rounds of a Swiss in which it does not play.
   *
   * Refusals: TOURNAMENT_NOT_FOUND, TOURNAMENT_CLOSED, PLAYER_SUSPENDED, ARGUMENT_INVALID, REQUEST_ID_REUSED.
   */
  async enterTournament(
    tournamentId: string,
    {
      byes = [],
      requestId = newRequestId(),
      signal,
    }: RequestOptions & { readonly byes?: readonly number[] } = {},
  ): Promise<values.Entrant> {
    const { enterTournament } = tournament.TournamentService.method;
    const request = { requestId, tournamentId, byes: [...byes] };
    const answer = await this.connection.ask(enterTournament, request, { signal });
    return plain(tournament.EntrantSchema, present(answer.entrant));
  }

  /** Withdraws the caller: games that it has not begun are lost. Refusals: TOURNAMENT_NOT_FOUND, TOURNAMENT_CLOSED. */
  async withdrawFromTournament(
    tournamentId: string,
    { requestId = newRequestId(), signal }: RequestOptions = {},
  ): Promise<values.Entrant> {
    const { withdrawFromTournament } = tournament.TournamentService.method;
    const answer = await this.connection.ask(withdrawFromTournament, { requestId, tournamentId }, { signal });
    return plain(tournament.EntrantSchema, present(answer.entrant));
  }

  /** Returns the current standings of a tournament. Refusals: TOURNAMENT_NOT_FOUND. */
  async getStandings(tournamentId: string, options: CallOptions = {}): Promise<values.Standings> {
    const { getStandings } = tournament.TournamentService.method;
    return plain(getStandings.output, await this.connection.ask(getStandings, { tournamentId }, options));
  }

  /** Returns whether the server knows the token. */
  // ---- ratings

  /**
   * Returns the ratings of a player's versions in a game, the newest version first; without a game, those of all games
   * together. Refusals: PLAYER_NOT_FOUND, GAME_UNKNOWN, PARAMETER_INVALID.
   */
  async getRating(playerName: string, game = "", options: CallOptions = {}): Promise<values.Rating> {
    const { getRating } = rating.RatingService.method;
    return plain(
      getRating.output,
      await this.connection.ask(getRating, { player: playerName, game }, options),
    );
  }

  async #isKnown(): Promise<boolean> {
    try {
      await this.myself();
      return true;
    } catch (error) {
      if (error instanceof ArbiterError && error.reason === "TOKEN_INVALID") return false;
      throw error;
    }
  }
}

function newRequestId(): string {
  return randomBytes(16).toString("hex");
}

function lineMessage({ game: name, position = "", moves }: values.Line) {
  return { game: name, position, moves: [...moves] };
}

function matchOf(answer: { match?: match.Match | undefined }): values.Match {
  return plain(match.MatchSchema, present(answer.match));
}

/** Returns what an answer holds; a message without it is read as one with nothing in it. */
function present<T extends object>(value: T | undefined): T {
  if (value === undefined) throw new TypeError("the server's answer is empty");
  return value;
}

/** Returns up to `most` values from as many pages as necessary. */
async function pages<T>(
  most: number,
  ask: (page: { pageSize: number; pageToken: string }) => Promise<[T[], string]>,
): Promise<T[]> {
  const found: T[] = [];
  let pageToken = "";
  do {
    const [items, next] = await ask({ pageSize: Math.min(most - found.length, 1000), pageToken });
    found.push(...items);
    pageToken = next;
  } while (pageToken !== "" && found.length < most);
  return found.slice(0, most);
}
