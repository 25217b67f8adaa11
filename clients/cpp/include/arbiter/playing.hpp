// Playing a bot.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "arbiter/bot.hpp"
#include "arbiter/client.hpp"
#include "arbiter/hooks.hpp"

namespace arbiter {

/// The cost of a bot's exception: the match, the time on its clock, or the whole run.
enum class OnError { resign, wait, raise };

/// The options of a bot's run. Absent ones come from the environment.
struct PlayOptions {
  std::string server;                  ///< HOST:PORT, or several with commas; else ARBITER_SERVER, or 127.0.0.1:7400
  std::string name;                    ///< the player; else ARBITER_NAME, or the bot's name
  std::string token;                   ///< else ARBITER_TOKEN, or the credentials file; else the player is registered
  std::optional<Tls> tls;              ///< else by ARBITER_ROOT_CERTIFICATE and the related variables
  std::optional<int> matches;          ///< stop after so many have ended; else play for ever
  int thinkers = 8;                    ///< how many choices are under way at a time
  OnError on_error = OnError::resign;  ///< what an exception in a callback costs
  std::chrono::milliseconds patience = std::chrono::seconds(10);  ///< how long to wait for a server never reached
  std::string invitation;                                         ///< to register with, where one is needed
  Hooks hooks;                                                    ///< functions of the program for its metrics
};

/// Plays a bot for ever, until so many matches have ended, or until `stop` is requested; then sends its last acts and
/// waits for the server's end of the stream, at most 5 s, and for callbacks that are under way.
///
/// Without a token the player is registered and its token kept in the credentials file, so that the next run is the
/// same player. A lost connection is tried again for ever. Throws ArbiterError if the server refuses the bot
/// (SESSION_SUPERSEDED: the same player plays elsewhere), or before anything is sent if one of its time controls is
/// none (PARAMETER_INVALID); ConnectionFailed, CredentialsError, BotFailed.
void play(Bot& bot, const PlayOptions& options = {}, const std::stop_token& stop = {});

/// Plays as `play` does, and returns when it is done, or after SIGINT or SIGTERM. A bot that goes on thinking for 10 s
/// after that, or a second signal, ends the process as it would have without this.
void run(Bot& bot, const PlayOptions& options = {});

}  // namespace arbiter
