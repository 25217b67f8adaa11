// A function to be called later.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include "arbiter/values.hpp"

namespace arbiter {

/// Calls functions at their times, in a thread of its own. They must be short.
class Timers {
 public:
  Timers();
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;
  ~Timers() = default;

  /// Calls a function once a time has come.
  void at(MonotonicClock::time_point when, std::function<void()> what);

  /// Cancels the functions that wait, and returns once none is running.
  void stop();

 private:
  void work(const std::stop_token& stop);

  std::mutex mutex_;  // guards the following members
  std::condition_variable_any changed_;
  std::multimap<MonotonicClock::time_point, std::function<void()>> waiting_;
  std::jthread thread_;
};

}  // namespace arbiter
