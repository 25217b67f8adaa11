#include "timers.hpp"

#include <utility>

namespace arbiter {

Timers::Timers() : thread_([this] { work(); }) {
}

Timers::~Timers() {
  stop();
}

void Timers::at(MonotonicClock::time_point when, std::function<void()> what) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace(when, std::move(what));
  changed_.notify_all();
}

void Timers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Timers::work() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
    } else if (const auto first = waiting_.begin(); first->first > MonotonicClock::now()) {
      const auto when = first->first;  // the entry may be gone while this waits
      changed_.wait_until(lock, when);
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
