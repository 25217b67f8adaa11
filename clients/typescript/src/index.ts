/**
 * Write a bot for an Arbiter server: one function, from a turn to a move.
 *
 * `Bot` is what to write, `main`, `run` and `play` play it, `Client` makes every other call of a server.
 *
 * @module
 */

export { DEFAULT_SERVER } from "./addresses.js";
export {
  type Awaitable,
  Bot,
  breathe,
  type Choice,
  type ClaimDraw,
  type Extras,
  type Move,
  type OfferDraw,
  type Resign,
} from "./bot.js";
export type { CallOptions, Connection, Tls } from "./channel.js";
export { type CommandLine, main, program } from "./cli.js";
export { Client, type ClientOptions, type NewMatch, type RequestOptions } from "./client.js";
export * as credentials from "./credentials.js";
export {
  ArbiterError,
  BotFailed,
  ClientError,
  type Code,
  ConnectionFailed,
  CredentialsError,
  type Reason,
} from "./errors.js";
export { GameService } from "./generated/arbiter/v1/game_pb.js";
export { MatchService } from "./generated/arbiter/v1/match_pb.js";
export { PlayService } from "./generated/arbiter/v1/play_pb.js";
export { PlayerService } from "./generated/arbiter/v1/player_pb.js";
export { RatingService } from "./generated/arbiter/v1/rating_pb.js";
export { ServerService } from "./generated/arbiter/v1/server_pb.js";
export { TournamentService } from "./generated/arbiter/v1/tournament_pb.js";
export type { Hooks } from "./hooks.js";
export { type LocalOptions, localMatch } from "./local_match.js";
export { type Level, type Log, stderrLog } from "./log.js";
export { OpeningBook } from "./opening_book.js";
export { plainText } from "./plain_text.js";
export { type PlayOptions, play, run } from "./playing.js";
export type { OnError } from "./runner.js";
export { EXPECTED_PLIES, type Thinking, thinkTimeMs } from "./think_time.js";
export * from "./values.js";
