// The runner's count of matches: those under way, those agreed on, those that have ended, and those that are left.

#include <algorithm>

#include "runner.hpp"

namespace arbiter {

namespace {
constexpr std::size_t REMEMBERED_ENDS = 10'000;
}  // namespace

void Runner::promise(const std::string& match_id) {
  const std::lock_guard lock(mutex_);
  if (match_id.empty() || seats_.contains(match_id) || ended_.contains(match_id)) return;
  promised_.insert(match_id);
  count_matches();
}

void Runner::count_matches() {
  run_.playing = static_cast<int>(seats_.size() + promised_.size());
  if (most_) run_.left = std::max(0, *most_ - count_ - run_.playing);
  policies_.room_changed();
}

// Ends the run if enough matches have ended, and the bot has agreed to no others.
void Runner::end_if_done() {
  if (most_ && told_ >= *most_ && ends_.empty() && run_.playing == 0) outcome_(nullptr);
}

void Runner::remember_end(const std::string& match_id) {
  ended_.insert(match_id);
  ended_in_order_.push_back(match_id);
  if (ended_in_order_.size() <= REMEMBERED_ENDS) return;
  ended_.erase(ended_in_order_.front());
  ended_in_order_.pop_front();
}

}  // namespace arbiter
