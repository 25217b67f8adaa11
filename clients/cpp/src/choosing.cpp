// The runner's turns: choosing, and what becomes of a choice.

#include <array>
#include <stdexcept>
#include <utility>

#include "arbiter/backoff.hpp"
#include "arbiter/channel.hpp"
#include "arbiter/log.hpp"
#include "outage.hpp"
#include "refusals.hpp"
#include "runner.hpp"
#include "utf8.hpp"

namespace arbiter {

namespace {

constexpr std::chrono::milliseconds REPEAT_AFTER{500};  // the pause after a temporary refusal that names none
constexpr int CERTAIN = 1000;                           // the evaluation of a position that the mover is sure to win
constexpr std::size_t MOST_LINE_MOVES = 32;
constexpr std::size_t LONGEST_LINE = 500;  // bytes

// Whether an error says that no arbiter answers.
bool is_lost(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ConnectionFailed&) {
    return true;
  } catch (...) {
    return false;
  }
}

// Whether a refusal says that a request came too late.
bool came_too_late(const ArbiterError& refusal) {
  return refusal.reason() == Reason::PLY_MISMATCH || refusal.reason() == Reason::NOT_YOUR_TURN ||
         refusal.reason() == Reason::MATCH_NOT_ACTIVE;
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char letter) { return letter < 0x80; });
}

// Adds the comment on a move. Parts that do not fit are left out: a comment must not cost the move.
void comment(const Move& move, v1::MoveAct& act) {
  if (move.evaluation && *move.evaluation >= 0 && *move.evaluation <= CERTAIN) {
    act.mutable_comment()->set_evaluation(*move.evaluation);
  }
  for (std::size_t i = 0; i < std::min(move.line.size(), MOST_LINE_MOVES); ++i) {
    if (!is_ascii(move.line[i]) || move.line[i].size() > LONGEST_LINE) break;
    act.mutable_comment()->add_line(move.line[i]);
  }
}

v1::PlayAct act_of(const Move& move, int ply) {
  if (!is_utf8(move.text)) throw std::invalid_argument("the bot returned a move that is not UTF-8");
  v1::PlayAct act;
  act.mutable_move()->set_ply(ply);
  act.mutable_move()->set_move(move.text);
  comment(move, *act.mutable_move());
  return act;
}

v1::PlayAct act_of(const OfferDraw& offer, int ply) {
  return act_of(offer.move, ply);
}

v1::PlayAct act_of(const ClaimDraw& /*claim*/, int /*ply*/) {
  v1::PlayAct act;
  act.mutable_claim_draw();
  return act;
}

v1::PlayAct act_of(const Resign& /*resign*/, int /*ply*/) {
  v1::PlayAct act;
  act.mutable_resign();
  return act;
}

const char* name_of(const v1::PlayAct& act) {
  switch (act.act_case()) {
    case v1::PlayAct::kMove:
      return "the move";
    case v1::PlayAct::kOfferDraw:
      return "the draw offer";
    case v1::PlayAct::kAnswerDraw:
      return "the answer to a draw offer";
    case v1::PlayAct::kClaimDraw:
      return "the claim of a draw";
    default:
      return "the resignation";
  }
}

}  // namespace

void Runner::on_turn(const v1::Turn& message) {
  const std::lock_guard lock(mutex_);
  if (stopped_ || ended_.contains(message.match_id())) return;
  const SeatPointer seat = seat_of(message.match_id(), message.game(), message.seat(), message.opponent());
  if (message.draw_offered()) answer_offer(seat);
  // A repeated turn: its choice exists, and has been or will be sent again.
  if (message.ply() < seat->next_ply || is_dealt_with(*seat, message.ply())) return;
  if (seat->thinking) {
    if (message.ply() <= seat->thought_ply) return;
    *seat->gone = true;
    seat->calls->end();
  }
  begin(seat);
  post_thought(seat, std::make_shared<Turn>(message, seat->match), &Runner::choose_first);
}

// Calls the bot for a choice once its earlier callbacks have returned.
void Runner::post_thought(const SeatPointer& seat, const std::shared_ptr<Turn>& turn,
                          Choice (Runner::*choose)(const Turn&)) {
  seat->thinking = true;
  seat->thought_ply = turn->ply;
  seat->gone = std::make_shared<std::atomic<bool>>(false);
  seat->calls = std::make_shared<CallGroup>();
  turn->gone = seat->gone;
  post(seat, thinkers_, [this, seat, turn, choose, calls = seat->calls] {
    const WithinGroup within(*calls);
    think(seat, turn, choose);
  });
}

Choice Runner::choose_first(const Turn& turn) {
  bring_line(turn);
  return bot_.choose(turn);
}

Choice Runner::choose_again(const Turn& turn) {
  return bot_.refused(turn, *turn.refused);
}

// Whether the unanswered act of a seat answers the turn at a ply. A move for an earlier ply does not: that move has
// been played, since otherwise this turn would not exist, and its answer is on the way. This happens if one seat moves
// twice.
bool Runner::is_dealt_with(const Seat& seat, int ply) const {
  const auto act = outbox_.unanswered(seat.request_id);
  return act && !(act->has_move() && act->move().ply() < ply);
}

void Runner::think(const SeatPointer& seat, const TurnPointer& turn, Choice (Runner::*choose)(const Turn&)) {
  if (turn->stale()) return;
  try {
    const Choice choice = choose_patiently(turn, choose);
    const std::lock_guard lock(mutex_);
    if (turn->stale()) return;
    if (hooks_.thought) {
      const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(MonotonicClock::now() - turn->received);
      callbacks_.hook("thought", [&] { hooks_.thought(*turn, time); });
    }
    act(seat, turn, choice);
    seat->thinking = false;
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (turn->stale()) return;
    seat->thinking = false;
    fail(seat, turn, std::current_exception());
  }
}

// Calls the bot, and calls it again if it failed while the arbiter was away. That is so if its exception, or one nested
// in that, shows it, or if any call failed in that way meanwhile: a bot may wrap an exception in any way, or keep only
// its text.
Choice Runner::choose_patiently(const TurnPointer& turn, Choice (Runner::*choose)(const Turn&)) {
  Backoff backoff;
  Outage outage;
  while (true) {
    const int outages = client_.connection().outages();
    const int greetings = client_.connection().greetings();
    std::exception_ptr error;
    try {
      return (this->*choose)(*turn);
    } catch (...) {
      error = std::current_exception();
      const bool away = client_.connection().outages() != outages || comes_of_an_outage(error);
      if (!away || turn->stale()) throw;
      const Level level = is_lost(error) ? Level::debug : outage.failed();  // the session says that it is lost
      log(level, "the choice in match " + turn->match->id() + " is made again: " + text_of(error));
    }
    client_.connection().rest(backoff.next(), greetings, error);
  }
}

// Completes the match's moves up to a turn: from the turn's last moves, or if these leave a gap, from the server.
void Runner::bring_line(const Turn& turn) {
  LiveMatch& match = *turn.match;
  auto moves = joined(match.moves(), turn.last_moves, turn.ply);
  Backoff backoff;
  while (!moves) {
    const int greetings = client_.connection().greetings();
    try {
      const v1::Match whole = client_.get_match(match.id(), true);
      moves.emplace(whole.moves().begin(), whole.moves().end());
      if (moves->size() > static_cast<std::size_t>(turn.ply)) moves->resize(static_cast<std::size_t>(turn.ply));
    } catch (const ArbiterError& error) {
      if (!error.temporary()) throw;
      client_.connection().rest(backoff.next(error.retry_after()), greetings, std::current_exception());
    } catch (const ConnectionFailed&) {
      if (turn.stale()) throw;
      client_.connection().rest(backoff.next(), greetings, std::current_exception());
    }
  }
  const std::lock_guard lock(match.mutex_);
  match.moves_ = std::move(*moves);
}

void Runner::act(const SeatPointer& seat, const TurnPointer& turn, const Choice& choice) {
  v1::PlayAct act = std::visit([&](const auto& what) { return act_of(what, turn->ply); }, choice);
  act.set_match_id(seat->match->id());
  if (std::holds_alternative<OfferDraw>(choice)) {
    v1::PlayAct offer;
    offer.set_match_id(seat->match->id());
    offer.mutable_offer_draw();
    request(seat, std::move(offer));
  }
  seat->turn = turn;
  seat->request_id = request(seat, std::move(act));
}

std::string Runner::request(const SeatPointer& seat, v1::PlayAct act) {
  std::string id = outbox_.request(std::move(act));
  asked_[id] = seat;
  return id;
}

// Handles an error of the bot in its turn: logs it, and does what the run's policy says.
void Runner::fail(const SeatPointer& seat, const TurnPointer& turn, const std::exception_ptr& error) {
  const std::string where =
      callbacks_.name() + " failed in match " + seat->match->id() + " at ply " + std::to_string(turn->ply);
  if (callbacks_.on_error() == OnError::raise) {
    callbacks_.stop_for(where, error);
    return;
  }
  const bool resign = callbacks_.on_error() == OnError::resign;
  log(Level::error, where + ", and " + (resign ? "it resigns" : "its clock runs on") + ": " + text_of(error));
  if (resign) act(seat, turn, Resign());
}

// ---- answers ----

void Runner::on_answer(const v1::MoveAnswer& answer) {
  const std::lock_guard lock(mutex_);
  const auto act = outbox_.unanswered(answer.request_id());
  if (!act) return;  // answered before
  if (answer.has_refusal()) {
    on_refusal(*act, from_refusal(answer.refusal()));
    return;
  }
  const SeatPointer seat = settle(answer.request_id());
  if (!seat || !act->has_move()) return;
  seat->next_ply = std::max(seat->next_ply, act->move().ply() + 1);
  seat->offer_answered = false;  // a move ends the opponent's offer
  const std::lock_guard match_lock(seat->match->mutex_);
  auto& moves = seat->match->moves_;
  if (moves.size() == static_cast<std::size_t>(act->move().ply()) && answer.receipt().ply() == act->move().ply() + 1) {
    moves.push_back(act->move().move());
  }
}

// Marks a request as answered; returns the seat that made it, or null if its match is over.
Runner::SeatPointer Runner::settle(const std::string& request_id) {
  outbox_.answered(request_id);
  const auto asked = asked_.extract(request_id);
  return asked && !asked.mapped()->match->over() ? asked.mapped() : nullptr;
}

void Runner::on_refusal(const v1::PlayAct& act, const ArbiterError& refusal) {
  if (refusal.temporary()) {
    const auto pause = refusal.retry_after().count() > 0 ? refusal.retry_after() : REPEAT_AFTER;
    timers_.at(MonotonicClock::now() + pause,
               [this, id = act.request_id(), stream = outbox_.stream()] { outbox_.again(id, stream); });
    return;
  }
  const SeatPointer seat = settle(act.request_id());
  const bool answers_turn = act.has_move() || act.has_claim_draw();
  if (!seat || came_too_late(refusal)) {
    log(Level::debug, std::string(name_of(act)) + " came too late: " + refusal.what());
  } else if (answers_turn && seat->turn && seat->request_id == act.request_id()) {
    log(Level::warning, "refused in match " + act.match_id() + ": " + refusal.what());
    if (hooks_.refused) callbacks_.hook("refused", [&] { hooks_.refused(*seat->turn, refusal); });
    ask_again(seat, refusal);
  } else {
    log(Level::warning, std::string(name_of(act)) + " was refused in match " + act.match_id() + ": " + refusal.what());
  }
}

// Calls the bot once more for a turn; a second refusal is an error of the bot.
void Runner::ask_again(const SeatPointer& seat, const ArbiterError& refusal) {
  if (seat->turn->refused) {
    fail(seat, seat->turn, std::make_exception_ptr(refusal));
    return;
  }
  const auto turn = std::make_shared<Turn>(*seat->turn);
  turn->refused = refusal;
  post_thought(seat, turn, &Runner::choose_again);
}

}  // namespace arbiter
