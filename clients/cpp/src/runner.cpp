#include "runner.hpp"

#include <algorithm>
#include <utility>

#include "arbiter/log.hpp"

namespace arbiter {

namespace {
// How a match ended, in words.
std::string told(const FinishedMatch& finished) {
  const auto score = finished.score();
  const char* const how = !score ? "it does not count" : *score > 0.5 ? "won" : *score < 0.5 ? "lost" : "drawn";
  return std::string(how) + ", by " + finished.result.reason();
}
}  // namespace

Runner::Runner(Bot& bot, Client& client, Outbox& outbox, Timers& timers, const PlayOptions& options, Outcome outcome)
    : bot_(bot),
      client_(client),
      outbox_(outbox),
      timers_(timers),
      most_(options.matches),
      outcome_(std::move(outcome)),
      hooks_(options.hooks),
      callbacks_(bot, options.on_error, outcome_),
      run_{client},
      policies_(
          bot, run_, timers, callbacks_, [this](const std::string& match_id) { promise(match_id); }, outcome_),
      threads_(Workers::NO_LIMIT, [this] { Bot::call_in(run_); }),
      thinkers_(static_cast<std::size_t>(std::max(options.thinkers, 1)), [this] { Bot::call_in(run_); }) {
  run_.left = most_.value_or(Bot::NO_LIMIT);
  bot_.enter(run_);
}

Runner::~Runner() {
  stop();
  join();
  bot_.leave(run_);
}

void Runner::meet(const v1::ServerHello& hello) {
  {
    const std::lock_guard lock(mutex_);
    player_ = hello.player();
  }
  policies_.meet(hello.player());
}

void Runner::take(const v1::PlayItem& item) {
  switch (item.item_case()) {
    case v1::PlayItem::kMatch:
      return on_match(item.match());
    case v1::PlayItem::kTurn:
      return on_turn(item.turn());
    case v1::PlayItem::kAnswer:
      return on_answer(item.answer());
    case v1::PlayItem::kEnded:
      return on_ended(item.ended());
    case v1::PlayItem::kDrawOffered:
      return on_draw_offered(item.draw_offered());
    case v1::PlayItem::kChallenge:
      return policies_.challenge(item.challenge());
    case v1::PlayItem::kChallengeClosed:
      return policies_.closed(item.challenge_closed());
    case v1::PlayItem::kSeek:
      return policies_.seek(item.seek());
    case v1::PlayItem::kTournament:
      return policies_.call(item.tournament());
    default:
      return;
  }
}

void Runner::stop(std::function<void()> withdrawn) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    for (const auto& [id, seats] : seats_) {
      for (const auto& [number, seat] : seats) end(*seat);
    }
  }
  policies_.stop(std::move(withdrawn));
}

// Ends the match for a seat: its choice is not needed any more.
void Runner::end(Seat& seat) {
  seat.match->over_ = true;
  if (seat.calls) seat.calls->end();
}

void Runner::join() {
  policies_.join();
  client_.close();  // calls of choices under way are not needed any more
  thinkers_.stop();
  threads_.stop();
}

// ---- matches ----

void Runner::on_match(const v1::Match& match) {
  const std::lock_guard lock(mutex_);
  if (stopped_ || match.phase() == v1::PHASE_ENDED || ended_.contains(match.match_id())) return;
  for (int number = 1; number <= match.players_size(); ++number) {
    if (match.players(number - 1) != player_) continue;
    const std::string opponent = match.players_size() == 2 ? match.players(2 - number) : "";
    const SeatPointer seat = seat_of(match.match_id(), match.game(), number, opponent);
    {
      const std::lock_guard match_lock(seat->match->mutex_);
      seat->match->terms_ = terms_of(match, number);
    }
    const int played = match.ply() - match.opening_plies();
    seat->goes_on = played > 1 || (played == 1 && match.turn() != number);  // the bot has moved in it
    seat->awaited = match.phase() == v1::PHASE_PENDING || match.phase() == v1::PHASE_PAUSED;
    begin(seat);
    if (match.draw_offered_by() != 0 && match.draw_offered_by() != number) answer_offer(seat);
  }
  say_ready(match.match_id());
}

// Says that the bot is ready for a match that waits for it, once `started` has returned for each of its seats: no clock
// of the match starts before.
void Runner::say_ready(const std::string& match_id) {
  const auto found = seats_.find(match_id);
  if (found == seats_.end()) return;
  const auto is_ready = [](const auto& entry) { return entry.second->awaited && entry.second->told; };
  if (!std::ranges::all_of(found->second, is_ready)) return;
  v1::PlayAct act;
  act.set_match_id(match_id);
  act.mutable_ready();
  outbox_.say(std::move(act));
}

Runner::SeatPointer Runner::seat_of(const std::string& match_id, const std::string& game, int number,
                                    const std::string& opponent) {
  SeatPointer& seat = seats_[match_id][number];
  if (!seat) {
    seat = std::make_shared<Seat>();
    seat->match = std::make_shared<LiveMatch>(match_id, game, number, opponent);
    promised_.erase(match_id);
    count_matches();
  }
  return seat;
}

void Runner::begin(const SeatPointer& seat) {
  if (std::exchange(seat->begun, true)) return;
  const LiveMatch& about = *seat->match;
  log(Level::info, about.id() + (seat->goes_on ? " goes on: " : " begins: ") + about.game() + " as seat " +
                       std::to_string(about.seat()) + " against " + about.opponent());
  post(seat, threads_, [this, seat] {
    callbacks_.tell("started", [&] { bot_.started(*seat->match); });
    const std::lock_guard lock(mutex_);
    seat->told = true;
    say_ready(seat->match->id());
  });
}

void Runner::on_ended(const v1::MatchEnded& message) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;  // it will be told again, to the next run
  const auto end = std::make_shared<End>(End{message.cursor()});
  ends_.push_back(end);
  auto seats = seats_.extract(message.match_id());
  promised_.erase(message.match_id());
  if (!ended_.contains(message.match_id())) ++count_;
  count_matches();
  SeatPointer teller;
  if (seats) {
    for (const auto& [number, seat] : seats.mapped()) {
      Runner::end(*seat);
      std::erase_if(asked_, [&, &owner = seat](const auto& entry) {
        if (entry.second != owner) return false;
        outbox_.answered(entry.first);
        return true;
      });
      if (number == message.seat()) teller = seat;
    }
  }
  if (ended_.contains(message.match_id())) {
    end->told = true;
    acknowledge();
    return;
  }
  remember_end(message.match_id());
  tell_end(teller ? teller : std::make_shared<Seat>(), message, end);
}

void Runner::tell_end(const SeatPointer& seat, const v1::MatchEnded& message, const std::shared_ptr<End>& end) {
  post(seat, threads_, [this, seat, message, end] {
    const FinishedMatch finished{message.match_id(), message.game(),     message.seat(), message.opponent(),
                                 message.result(),   message.position(), seat->match};
    log(Level::info, finished.match_id + " has ended: " + told(finished));
    callbacks_.tell("ended", [&] { bot_.ended(finished); });
    const std::lock_guard lock(mutex_);
    end->told = true;
    end->counts = true;
    acknowledge();
  });
}

// Acknowledges results in the order in which they came: an acknowledgement covers all before it.
void Runner::acknowledge() {
  while (!ends_.empty() && ends_.front()->told) {
    v1::PlayAct act;
    act.mutable_acknowledge()->set_cursor(ends_.front()->cursor);
    outbox_.say(std::move(act));
    if (ends_.front()->counts) ++told_;
    ends_.pop_front();
  }
  end_if_done();
}

// ---- draws ----

void Runner::on_draw_offered(const v1::DrawOffered& message) {
  const std::lock_guard lock(mutex_);
  const auto seats = seats_.find(message.match_id());
  if (stopped_ || seats == seats_.end()) return;
  for (const auto& [number, seat] : seats->second) answer_offer(seat);
}

void Runner::answer_offer(const SeatPointer& seat) {
  if (std::exchange(seat->offer_answered, true)) return;
  post(seat, threads_, [this, seat] {
    if (seat->match->over()) return;
    const bool accept = callbacks_.call("draw_offered", false, [&] { return bot_.draw_offered({seat->match}); });
    const std::lock_guard lock(mutex_);
    if (seat->match->over()) return;
    v1::PlayAct act;
    act.set_match_id(seat->match->id());
    act.mutable_answer_draw()->set_accept(accept);
    request(seat, std::move(act));
  });
}

// ---- calling the bot ----

void Runner::post(const SeatPointer& seat, Workers& pool, std::function<void()> work) {
  seat->tasks.push_back({&pool, std::move(work)});
  pump(seat);
}

void Runner::pump(const SeatPointer& seat) {
  if (seat->busy || seat->tasks.empty()) return;
  seat->busy = true;
  Seat::Task task = std::move(seat->tasks.front());
  seat->tasks.pop_front();
  task.pool->post([this, seat, work = std::move(task.work)] {
    work();
    const std::lock_guard lock(mutex_);
    seat->busy = false;
    pump(seat);
  });
}

}  // namespace arbiter
