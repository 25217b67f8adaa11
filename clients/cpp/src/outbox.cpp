#include "outbox.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "arbiter/client.hpp"

namespace arbiter {

namespace {
constexpr std::size_t PREFIX_LENGTH = 16;
}

Outbox::Outbox() : prefix_(new_request_id().substr(0, PREFIX_LENGTH) + '-') {
}

void Outbox::hold(const v1::ClientHello& hello) {
  const std::lock_guard lock(mutex_);
  ++stream_;
  live_ = true;
  held_ = true;
  queue_.clear();
  urgent_.clear();
  *urgent_.emplace_back().mutable_hello() = hello;
  ready_.notify_all();
}

void Outbox::release() {
  const std::lock_guard lock(mutex_);
  if (!live_ || !held_) return;
  held_ = false;
  for (const auto& [number, act] : unanswered_) queue_.push_back(act);
  ready_.notify_all();
}

void Outbox::drop() {
  const std::lock_guard lock(mutex_);
  live_ = false;
  held_ = true;
  ready_.notify_all();
}

std::string Outbox::request(v1::PlayAct act) {
  const std::lock_guard lock(mutex_);
  act.set_request_id(prefix_ + std::to_string(++count_));
  if (closed_) return act.request_id();
  unanswered_[count_] = act;
  std::string id = act.request_id();
  push(std::move(act));
  return id;
}

void Outbox::say(v1::PlayAct act) {
  const std::lock_guard lock(mutex_);
  push(std::move(act));
}

void Outbox::pong(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  urgent_.emplace_back().mutable_pong()->set_number(number);
  ready_.notify_all();
}

std::optional<v1::PlayAct> Outbox::unanswered(const std::string& request_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = find(request_id);
  return found == unanswered_.end() ? std::nullopt : std::optional(found->second);
}

void Outbox::answered(const std::string& request_id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = find(request_id); found != unanswered_.end()) unanswered_.erase(found);
}

std::uint64_t Outbox::stream() const {
  const std::lock_guard lock(mutex_);
  return stream_;
}

void Outbox::again(const std::string& request_id, std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  const auto found = find(request_id);
  const bool queued =
      std::any_of(queue_.begin(), queue_.end(), [&](const auto& act) { return act.request_id() == request_id; });
  if (found != unanswered_.end() && !queued && stream == stream_) push(found->second);
}

void Outbox::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  ready_.notify_all();
}

std::optional<v1::PlayRequest> Outbox::next() {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [this] { return !live_ || closed_ || !urgent_.empty() || !queue_.empty(); });
  if (!live_ || (urgent_.empty() && queue_.empty())) return std::nullopt;
  v1::PlayRequest request;
  for (v1::PlayAct& act : urgent_) *request.add_acts() = std::move(act);
  for (v1::PlayAct& act : queue_) *request.add_acts() = std::move(act);
  urgent_.clear();
  queue_.clear();
  return request;
}

Outbox::Waiting::const_iterator Outbox::find(const std::string& request_id) const {
  if (!request_id.starts_with(prefix_)) return unanswered_.end();
  std::uint64_t number = 0;
  std::from_chars(request_id.data() + prefix_.size(), request_id.data() + request_id.size(), number);
  const auto found = unanswered_.find(number);
  return found != unanswered_.end() && found->second.request_id() == request_id ? found : unanswered_.end();
}

void Outbox::push(v1::PlayAct act) {
  if (held_ || closed_) return;
  queue_.push_back(std::move(act));
  ready_.notify_all();
}

}  // namespace arbiter
