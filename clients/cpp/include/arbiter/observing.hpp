// Watching matches: streams of events that continue after a lost connection.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "arbiter/v1/match.pb.h"

namespace arbiter {

class Connection;

/// An event of a match, and the token that resumes a stream of everything after it (empty on that of one match).
struct Event {
  v1::MatchEvent event;
  std::string token;
};

/// A stream of events, from `Client::observe` and `observe_all`, for one thread at a time and no longer than its client
/// lives. After a lost connection it continues without a gap. Events whose kind is newer than this client come too:
/// their `event_case()` is EVENT_NOT_SET.
class Events {
 public:
  /// Made by `Client`.
  Events(Connection& connection, v1::ObserveRequest request);
  Events(Events&&) noexcept;
  ~Events();

  /// Waits for the next event; nothing after the last one of a match, or after `stop`. Throws ArbiterError if the
  /// server refuses to continue, ConnectionFailed if it never answered.
  std::optional<Event> next();

  /// Ends the stream, from any thread.
  void stop();

  /// Reads a stream with `for`.
  class Iterator {
   public:
    using value_type = Event;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(Events& events) : events_(&events), event_(events.next()) {}
    const Event& operator*() const { return *event_; }
    const Event* operator->() const { return &*event_; }
    Iterator& operator++() {
      event_ = events_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t /*end*/) const { return !event_; }

   private:
    Events* events_;
    std::optional<Event> event_;
  };

  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() { return {}; }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace arbiter
