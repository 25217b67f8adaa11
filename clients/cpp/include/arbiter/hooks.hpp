// Functions of the program for its metrics.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "arbiter/errors.hpp"
#include "arbiter/values.hpp"

namespace arbiter {

/// Functions of the program that a run calls, in the order of what happens; each may be left out. They must not wait,
/// and one that throws is logged and costs nothing else. For the log there is `set_log`.
struct Hooks {
  /// After each hello of a server.
  std::function<void(const std::string& server, const std::string& player)> connected;
  /// When a connection after a hello is lost.
  std::function<void(const std::string& server, const ClientError& error)> disconnected;
  /// When the bot has chosen, with the time from the turn's arrival to the choice.
  std::function<void(const Turn& turn, std::chrono::milliseconds time)> thought;
  /// When a choice was refused.
  std::function<void(const Turn& turn, const ArbiterError& error)> refused;
};

}  // namespace arbiter
