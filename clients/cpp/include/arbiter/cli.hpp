// The command line of a bot: the same for all, so that the file of a bot contains only the bot.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "arbiter/bot.hpp"
#include "arbiter/playing.hpp"

namespace arbiter {

/// A command line, read.
struct CommandLine {
  PlayOptions options;
  std::vector<std::string> words;       ///< what is no option
  std::function<void(Bot& bot)> adapt;  ///< changes what is said of a bot as the options say

  /// The options of a client that does not play.
  [[nodiscard]] ClientOptions client_options() const;
};

/// Plays a bot by the program's arguments and the environment, until it is done or interrupted. `about` is what the
/// program is, in a sentence. Returns the exit status: a mistake gets one line on standard error, and 1.
int run_command(int argc, char** argv, const std::string& about, Bot& bot);

/// The same for a program that is no bot: `work` gets the command line. `words` says what may stand beside the options,
/// such as `[MATCH]`; empty for nothing.
int run_command(int argc, char** argv, const std::string& about, const std::string& words,
                const std::function<void(const CommandLine&)>& work);

}  // namespace arbiter
