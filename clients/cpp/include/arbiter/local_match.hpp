// A match of two bots of one program, without a server that somebody runs: for experiments, and for tests of a bot.
#pragma once

#include <string>
#include <vector>

#include "arbiter/bot.hpp"

namespace arbiter {

/// The terms of a local match.
struct LocalOptions {
  std::string time_control = "none";  ///< as on a server, two with a colon for time odds
  std::vector<std::string> opening;   ///< the first moves, which nobody plays
  std::string position;               ///< the start position; empty for the game's initial one
  std::string program;                ///< the arbiter's command; else ARBITER_COMMAND, or `arbiter`
};

/// Plays a match of two bots, and returns its end as the bot of seat 1 sees it; its `match` has the moves. It starts
/// `arbiter rules serve`, so the arbiter is to be installed. The bots are called and judged as on any server, and their
/// own calls work; their names are seat-1 and seat-2. One bot may play both seats.
///
/// Throws ArbiterError for an unknown game, a wrong time control, position or opening, BotFailed for an exception of a
/// bot, and ConnectionFailed if the rules can't be started or end before the match.
FinishedMatch local_match(Bot& first, Bot& second, const std::string& game, const LocalOptions& options = {});

}  // namespace arbiter
