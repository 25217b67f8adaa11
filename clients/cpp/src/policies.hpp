// How a bot comes to its matches: challenges, seeks and tournaments.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "arbiter/bot.hpp"
#include "callbacks.hpp"
#include "timers.hpp"
#include "workers.hpp"

namespace arbiter {

/// Answers challenges, accepts seeks and enters tournaments as the bot says, and keeps its own seeks open while there
/// is room for a match. It handles one after the other in a thread of its own, so that no place for a match is taken
/// twice.
class Policies {
 public:
  /// Called for matches that will begin.
  using Promise = std::function<void(const std::string& match_id)>;
  /// Called with the error that ends the run: the server does not accept the terms of a seek.
  using Fail = std::function<void(std::exception_ptr)>;

  Policies(Bot& bot, Bot::Run& run, Timers& timers, const Callbacks& callbacks, Promise promise, Fail fail);

  /// A stream has begun, as this player.
  void meet(const std::string& player);

  /// A match has begun or ended.
  void room_changed();

  void challenge(const v1::Challenge& challenge);
  void seek(const v1::Challenge& seek);
  void call(const v1::TournamentCall& tournament);
  void closed(const v1::ChallengeClosed& closed);

  /// Withdraws the bot's own seeks, and does nothing else any more; calls a function after that, if there is one.
  void stop(std::function<void()> withdrawn);

  /// Returns once nothing is under way; `stop` comes first.
  void join();

 private:
  // A seek that is to be open while there is room.
  struct Seek {
    v1::Terms terms;
    std::string id;  // empty while it is not open
  };

  void post(std::function<void()> work);
  void attempt(const std::string& what, const std::function<void()>& ask);
  void consider_challenge(const v1::Challenge& challenge);
  void consider_seek(const v1::Challenge& seek);
  void consider_call(const v1::TournamentCall& tournament);
  bool accept(const std::string& challenge_id);
  bool make_room();
  void look_around();
  void adopt(const v1::Challenge& open);
  void tend();
  void arrange();
  void again(const ClientError& error);
  bool has_room_after(std::size_t first, bool for_match = false);
  bool is_open(const Seek& seek);
  void open(Seek& seek);
  void withdraw(Seek& seek);

  Bot& bot_;
  Client& client_;
  Timers& timers_;
  const Callbacks& callbacks_;
  const Promise promise_;
  const Fail fail_;

  // What follows belongs to the thread.
  std::string player_;
  std::vector<Seek> own_;
  std::set<std::string> refused_;  // tournaments
  bool passed_over_ = false;       // whether there were seeks while there was no room
  bool unknown_ = false;           // whether the open seeks have to be listed
  bool waiting_ = false;           // whether a timer will tend the seeks

  std::mutex mutex_;  // guards the following members
  bool stopped_ = false;
  std::set<std::string> challenges_;  // under consideration
  std::set<std::string> closed_;      // that the thread has not been told of yet

  Workers thread_;
};

}  // namespace arbiter
