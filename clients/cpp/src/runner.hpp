// The bot's side of its stream: items of the server become calls of the bot, and their results become acts.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "arbiter/playing.hpp"
#include "callbacks.hpp"
#include "outbox.hpp"
#include "policies.hpp"
#include "seats.hpp"
#include "timers.hpp"
#include "workers.hpp"

namespace arbiter {

/// Plays a bot: handles the items of its stream, calls its methods, puts acts into the outbox. The callbacks of one
/// match come one after the other; they wait for those of no other.
class Runner {
 public:
  /// Called once at the end of the run: null once so many matches have ended and been acknowledged, or the exception.
  using Outcome = std::function<void(std::exception_ptr)>;

  Runner(Bot& bot, Client& client, Outbox& outbox, Timers& timers, const PlayOptions& options, Outcome outcome);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner();

  /// Takes the server's hello.
  void meet(const v1::ServerHello& hello);

  /// Handles an item of the stream, without waiting; unknown items are ignored.
  void take(const v1::PlayItem& item);

  /// Begins no more choices, and tells those under way; calls a function once the bot's seeks are withdrawn.
  void stop(std::function<void()> withdrawn = {});

  /// Returns once no callback is under way; `stop` comes first.
  void join();

 private:
  using SeatPointer = std::shared_ptr<Seat>;
  using TurnPointer = std::shared_ptr<const Turn>;
  // A result that is not acknowledged yet.
  struct End {
    std::string cursor;
    bool told = false;  // whether the bot knows
    bool counts = false;
  };

  // Of matches.
  void on_match(const v1::Match& match);
  void on_ended(const v1::MatchEnded& message);
  void tell_end(const SeatPointer& seat, const v1::MatchEnded& message, const std::shared_ptr<End>& end);
  void acknowledge();
  void end_if_done();
  SeatPointer seat_of(const std::string& match_id, const std::string& game, int number, const std::string& opponent);
  void begin(const SeatPointer& seat);
  void say_ready(const std::string& match_id);
  static void end(Seat& seat);
  void promise(const std::string& match_id);
  void count_matches();
  void remember_end(const std::string& match_id);

  // Of turns.
  void on_turn(const v1::Turn& message);
  [[nodiscard]] bool is_dealt_with(const Seat& seat, int ply) const;
  void post_thought(const SeatPointer& seat, const std::shared_ptr<Turn>& turn, Choice (Runner::*choose)(const Turn&));
  void think(const SeatPointer& seat, const TurnPointer& turn, Choice (Runner::*choose)(const Turn&));
  Choice choose_patiently(const TurnPointer& turn, Choice (Runner::*choose)(const Turn&));
  Choice choose_first(const Turn& turn);
  Choice choose_again(const Turn& turn);
  void bring_line(const Turn& turn);
  void act(const SeatPointer& seat, const TurnPointer& turn, const Choice& choice);
  std::string request(const SeatPointer& seat, v1::PlayAct act);
  void fail(const SeatPointer& seat, const TurnPointer& turn, const std::exception_ptr& error);

  // Of answers and offers.
  void on_answer(const v1::MoveAnswer& answer);
  void on_refusal(const v1::PlayAct& act, const ArbiterError& refusal);
  SeatPointer settle(const std::string& request_id);
  void ask_again(const SeatPointer& seat, const ArbiterError& refusal);
  void on_draw_offered(const v1::DrawOffered& message);
  void answer_offer(const SeatPointer& seat);

  // Has a callback of a seat called after those before it; `pump` calls the next one.
  void post(const SeatPointer& seat, Workers& pool, std::function<void()> work);
  void pump(const SeatPointer& seat);

  Bot& bot_;
  Client& client_;
  Outbox& outbox_;
  Timers& timers_;
  const std::optional<int> most_;
  const Outcome outcome_;
  const Hooks hooks_;
  const Callbacks callbacks_;
  Bot::Run run_;
  Policies policies_;

  std::mutex mutex_;  // guards the following members; callbacks are called without it
  bool stopped_ = false;
  std::string player_;
  std::map<std::string, std::map<int, SeatPointer>> seats_;  // by match and number
  std::map<std::string, SeatPointer> asked_;                 // by the id of the request that the seat waits for
  std::set<std::string> promised_;                           // matches that were accepted, and are still to come
  std::set<std::string> ended_;
  std::deque<std::string> ended_in_order_;
  std::deque<std::shared_ptr<End>> ends_;
  int count_ = 0;  // ends that are news
  int told_ = 0;   // of these, that have been acknowledged

  Workers threads_;   // for callbacks
  Workers thinkers_;  // for choices
};

}  // namespace arbiter
