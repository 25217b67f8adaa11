// Bots that tests play.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "arbiter/arbiter.hpp"
#include "peer.hpp"

namespace arbiter::testing {

/// Plays the ply's letter of the alphabet, and remembers what it was told.
class FixedBot : public Bot {
 public:
  FixedBot() {
    name = "fixed";
    version = "7";
    games = {"pods"};
    most_matches = 3;
    extras.board = true;
    extras.legal_moves_up_to = 9;
  }

  Choice choose(const Turn& turn) override {
    turns.put(turn);
    return std::string(1, static_cast<char>('a' + turn.ply));
  }

  void started(const LiveMatch& match) override { told.put("started " + match.id()); }

  void ended(const FinishedMatch& finished) override {
    told.put("ended " + finished.match_id + " " + std::to_string(finished.score().value_or(-1)));
  }

  Mailbox<Turn> turns;
  Mailbox<std::string> told;
};

/// Chooses what it was given, in order.
class Scripted : public Bot {
 public:
  using Script = std::deque<std::function<Choice()>>;

  explicit Scripted(Script script) : script_(std::move(script)) { name = "scripted"; }

  Choice choose(const Turn& turn) override {
    std::function<Choice()> next;
    {
      const std::lock_guard lock(mutex_);
      turns.push_back(turn);
      if (script_.empty()) throw std::logic_error("the script is over");
      next = std::move(script_.front());
      script_.pop_front();
    }
    return next();
  }

  std::vector<Turn> turns;

 private:
  std::mutex mutex_;
  Script script_;
};

/// A step of a script.
inline std::function<Choice()> say(Choice choice) {
  return [choice = std::move(choice)] { return choice; };
}

inline std::function<Choice()> fail(const std::string& what) {
  return [what]() -> Choice { throw std::runtime_error(what); };
}

/// A door that threads wait at until it is opened.
class Door {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, WAIT, [this] { return open_; })) throw std::runtime_error("a door stayed shut");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// Thinks until it may go on.
class Thinker : public Bot {
 public:
  Thinker() { name = "thinker"; }

  Choice choose(const Turn& turn) override {
    thinking.put(turn.match->id());
    go_on.wait();
    return turn.match->id();
  }

  Mailbox<std::string> thinking;
  Door go_on;
};

}  // namespace arbiter::testing
