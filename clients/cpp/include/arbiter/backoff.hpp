// Pauses between attempts: exponential, with jitter, so that many clients do not reconnect at the same time.
#pragma once

#include <chrono>
#include <functional>

namespace arbiter {

/// A number from 0 to 1, at random.
double by_chance();

/// Pauses that double from `first` up to `most`, each shortened by a random part of at most a half. For one thread.
class Backoff {
 public:
  /// `chance` returns a number from 0 to 1.
  explicit Backoff(std::chrono::milliseconds first = std::chrono::milliseconds(100),
                   std::chrono::milliseconds most = std::chrono::milliseconds(5000),
                   std::function<double()> chance = by_chance);

  /// The next pause, plus `at_least`, the pause that the server has asked all its clients for.
  std::chrono::milliseconds next(std::chrono::milliseconds at_least = std::chrono::milliseconds(0));

  /// Starts again from the first pause, after a success.
  void reset();

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds most_;
  std::function<double()> chance_;
  int tries_ = 0;
};

}  // namespace arbiter
