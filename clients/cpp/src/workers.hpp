// Threads for the bot's callbacks.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace arbiter {

/// A pool of threads that runs its work in order of arrival. It grows up to a limit while all are busy.
class Workers {
 public:
  static constexpr std::size_t NO_LIMIT = std::numeric_limits<std::size_t>::max();

  /// `begin` is called in each of the threads, before everything else.
  explicit Workers(std::size_t most, std::function<void()> begin = {});
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  /// Has something done; it must not throw. After `stop` it is dropped.
  void post(std::function<void()> work);

  /// Drops what has not begun, and returns once what has begun is done.
  void stop();

  /// Returns once everything is done.
  void finish();

 private:
  void work();
  void end(bool drop);

  const std::size_t most_;
  const std::function<void()> begin_;
  std::mutex mutex_;  // guards the following members
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::jthread> threads_;
  std::size_t idle_ = 0;
  bool stopped_ = false;
};

}  // namespace arbiter
