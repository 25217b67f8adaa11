// A seat of the bot's in a live match.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "arbiter/channel.hpp"
#include "arbiter/values.hpp"
#include "workers.hpp"

namespace arbiter {

/// A seat: the choice that is under way, and the act that is not answered yet. In a match of the bot against itself
/// there are two, independent of each other. The runner's lock guards all its members.
struct Seat {
  /// One of the callbacks that are to be called, and the pool that shall call it.
  struct Task {
    Workers* pool;
    std::function<void()> work;
  };

  std::shared_ptr<LiveMatch> match;  ///< null for a result of a match that was never seen live
  bool begun = false;                ///< whether `started` is called, or will be
  bool told = false;                 ///< whether it has returned
  bool awaited = false;              ///< whether the match waits for the bot to be ready
  bool thinking = false;             ///< whether a choice for `thought_ply` is awaited
  int thought_ply = -1;
  std::shared_ptr<std::atomic<bool>> gone;  ///< told to that thought once it no longer matters
  std::shared_ptr<CallGroup> calls;         ///< of that thought
  std::shared_ptr<const Turn> turn;         ///< the turn that the last choice answered
  std::string request_id;                   ///< the move, claim or resignation that waits for its answer
  int next_ply = 0;                         ///< turns before this one are done
  bool offer_answered = false;
  bool goes_on = false;    ///< whether the bot had moved in the match before this run knew of it
  std::deque<Task> tasks;  ///< callbacks, to be called one after the other
  bool busy = false;       ///< whether one of them is being called
};

}  // namespace arbiter
