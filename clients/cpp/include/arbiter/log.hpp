// The log for the people who run the bot.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace arbiter {

/// How much something matters.
enum class Level { debug, info, warning, error };

/// Where the log goes: called from any thread, by one at a time.
using Log = std::function<void(Level, std::string_view)>;

/// Has the log written somewhere else. By default all but details are lines on standard error.
void set_log(Log log);

/// A log that writes lines on standard error, from a level on.
Log standard_error_log(Level from);

/// Says something.
void log(Level level, std::string_view text);

}  // namespace arbiter
