#include "workers.hpp"

#include <utility>

namespace arbiter {

Workers::Workers(std::size_t most, std::function<void()> begin) : most_(most), begin_(std::move(begin)) {
}

Workers::~Workers() {
  stop();
}

void Workers::post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  queue_.push_back(std::move(work));
  if (queue_.size() > idle_ && threads_.size() < most_) {
    threads_.emplace_back([this] { this->work(); });
  } else {
    changed_.notify_one();
  }
}

void Workers::stop() {
  end(true);
}

void Workers::finish() {
  end(false);
}

void Workers::end(bool drop) {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (drop) queue_.clear();
    changed_.notify_all();
  }
  for (std::jthread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Workers::work() {
  if (begin_) begin_();
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    const auto work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace arbiter
