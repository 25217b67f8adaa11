// SIGINT and SIGTERM, or what Windows has instead, while a bot runs.
#pragma once

#include <functional>
#include <memory>

namespace arbiter {

/// Calls a function, in a thread of its own, when one of the two signals comes. If it is there still when another one
/// comes, or 10 s later, the process ends as the signal would have it. One at a time.
class Signals {
 public:
  explicit Signals(std::function<void()> told);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace arbiter
