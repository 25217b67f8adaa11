#include "timers.hpp"

#include <utility>

namespace arbiter {

Timers::Timers() : thread_([this](const std::stop_token& stop) { work(stop); }) {
}

void Timers::at(MonotonicClock::time_point when, std::function<void()> what) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace(when, std::move(what));
  changed_.notify_all();
}

void Timers::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Timers::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (waiting_.empty()) {
      changed_.wait(lock, stop, [this] { return !waiting_.empty(); });
    } else if (const auto first = waiting_.begin(); first->first > MonotonicClock::now()) {
      const auto when = first->first;
      changed_.wait_until(lock, stop, when, [&] { return waiting_.begin()->first < when; });
    } else {
      const auto what = std::move(first->second);
      waiting_.erase(first);
      lock.unlock();
      what();
      lock.lock();
    }
  }
}

}  // namespace arbiter
