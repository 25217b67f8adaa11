// What is said of an outage: one line when the connection is gone, and one when it is back. All between is a detail.
#pragma once

#include <optional>
#include <utility>

#include "arbiter/log.hpp"
#include "arbiter/values.hpp"

namespace arbiter {

/// A connection, or the calls of one thread, that may fail for a while.
class Outage {
 public:
  /// How much a failure matters: the first one of an outage is a warning.
  Level failed() {
    if (since_) return Level::debug;
    since_ = MonotonicClock::now();
    return Level::warning;
  }

  /// Ends the outage; how long it was, if there was one.
  std::optional<MonotonicClock::duration> over() {
    if (!since_) return std::nullopt;
    return MonotonicClock::now() - *std::exchange(since_, std::nullopt);
  }

 private:
  std::optional<MonotonicClock::time_point> since_;
};

}  // namespace arbiter
