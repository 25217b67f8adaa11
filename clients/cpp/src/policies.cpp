#include "lobby.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "arbiter/log.hpp"
#include "refusals.hpp"
#include "time_control.hpp"
#include "utf8.hpp"

namespace arbiter {

namespace {
constexpr std::size_t LONGEST_REASON = 200;  // characters
constexpr std::chrono::seconds RETRY{1};

// Whether an open seek has the given terms. Terms that were left to the server match anything.
bool fits(const v1::Terms& open, const v1::Terms& terms) {
  return open.game() == terms.game() && open.rated() == terms.rated() &&
         (terms.time_control().empty() || same_time_control(terms.time_control(), open.time_control())) &&
         (terms.seat() == 0 || open.seat() == terms.seat());
}
}  // namespace

Lobby::Lobby(Bot& bot, Client& client, Timers& timers, const Callbacks& callbacks, Promise promise, Fail fail)
    : bot_(bot),
      client_(client),
      timers_(timers),
      callbacks_(callbacks),
      promise_(std::move(promise)),
      fail_(std::move(fail)) {
  for (const v1::Terms& terms : bot.seeks) own_.push_back({terms, ""});
}

void Lobby::meet(const std::string& player) {
  post([this, player] {
    player_ = player;
    if (!own_.empty()) attempt("the open seeks can't be listed", [this] { look_around(); });
    tend();
  });
}

void Lobby::room_changed() {
  if (own_.empty() && !bot_.accept_seeks) return;
  post([this] {
    if (passed_over_ && bot_.has_room()) {
      passed_over_ = false;
      attempt("the open seeks can't be listed", [this] { look_around(); });
    }
    tend();
  });
}

void Lobby::challenge(const v1::Challenge& challenge) {
  {
    const std::lock_guard lock(mutex_);
    if (!challenges_.insert(challenge.challenge_id()).second) return;
  }
  post([this, challenge] {
    if (challenge.challenger() != player_) consider_challenge(challenge);
    const std::lock_guard lock(mutex_);
    challenges_.erase(challenge.challenge_id());
  });
}

void Lobby::seek(const v1::Challenge& seek) {
  post([this, seek] { consider_seek(seek); });
}

void Lobby::call(const v1::TournamentCall& tournament) {
  post([this, tournament] { consider_call(tournament); });
}

void Lobby::closed(const v1::ChallengeClosed& closed) {
  {
    // It is no longer open, and at once counts as the match that it became.
    const std::lock_guard lock(mutex_);
    closed_.insert(closed.challenge_id());
    promise_(closed.match_id());
  }
  post([this, closed] {
    const auto own =
        std::find_if(own_.begin(), own_.end(), [&](const Seek& seek) { return seek.id == closed.challenge_id(); });
    if (own != own_.end()) own->id.clear();
    {
      const std::lock_guard lock(mutex_);
      closed_.erase(closed.challenge_id());
    }
    callbacks_.tell("challenge_closed", [&] { bot_.challenge_closed(closed); });
    tend();
  });
}

void Lobby::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  thread_.post([this] {
    for (Seek& seek : own_) {
      if (!seek.id.empty()) attempt("a seek can't be withdrawn", [&] { withdraw(seek); });
    }
  });
}

void Lobby::join() {
  thread_.finish();
}

void Lobby::post(std::function<void()> work) {
  thread_.post([this, work = std::move(work)] {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
    }
    work();
  });
}

// Asks the server for something that may be refused.
void Lobby::attempt(const std::string& what, const std::function<void()>& ask) {
  try {
    ask();
  } catch (const ArbiterError& error) {
    // Another player was faster, or the other side has withdrawn: this is normal.
    const bool expected = error.reason() == Reason::CHALLENGE_NOT_FOUND;
    log(expected ? Level::debug : Level::warning, what + ": " + error.what());
  } catch (const ConnectionFailed& error) {
    log(Level::debug, what + ": " + error.what());  // the session says that the connection is lost
  }
}

void Lobby::consider_challenge(const v1::Challenge& challenge) {
  const Verdict verdict = callbacks_.call("challenged", Verdict("the bot failed to consider it"),
                                          [&] { return bot_.challenged(challenge); });
  attempt("the challenge of " + challenge.challenger() + " can't be answered", [&] {
    if (verdict.accepted) {
      accept(challenge.challenge_id());
    } else {
      client_.decline_challenge(challenge.challenge_id(), first_characters(verdict.reason, LONGEST_REASON));
    }
  });
}

void Lobby::consider_seek(const v1::Challenge& seek) {
  if (!bot_.accept_seeks || seek.challenger() == player_) return;
  if (!bot_.has_room()) {
    passed_over_ = true;
    return;
  }
  if (!callbacks_.call("sought", false, [&] { return bot_.sought(seek); })) return;
  attempt("the seek of " + seek.challenger() + " can't be accepted", [&] { accept(seek.challenge_id()); });
}

void Lobby::consider_call(const v1::TournamentCall& tournament) {
  const bool over = tournament.phase() == v1::TOURNAMENT_PHASE_ENDED;
  if (!bot_.enter_tournaments || tournament.entered() || over || refused_.contains(tournament.tournament_id())) return;
  if (!callbacks_.call("called", false, [&] { return bot_.called(tournament); })) return;
  attempt("the tournament " + tournament.name() + " can't be entered", [&] {
    try {
      client_.enter_tournament(tournament.tournament_id());
    } catch (const ArbiterError& error) {
      if (!error.temporary()) refused_.insert(tournament.tournament_id());
      throw;
    }
  });
}

void Lobby::accept(const std::string& challenge_id) {
  promise_(client_.accept_challenge(challenge_id).match_id());
}

// Finds out which of the bot's own seeks are open, perhaps since an earlier run, and considers those of others.
void Lobby::look_around() {
  std::vector<v1::Challenge> open = client_.list_challenges();
  std::erase_if(open, [](const v1::Challenge& challenge) { return !challenge.opponent().empty(); });
  for (Seek& seek : own_) {
    const bool still_open = std::any_of(
        open.begin(), open.end(), [&](const v1::Challenge& challenge) { return challenge.challenge_id() == seek.id; });
    if (!still_open) seek.id.clear();
  }
  for (const v1::Challenge& challenge : open) {
    if (challenge.challenger() == player_) {
      adopt(challenge);
    } else {
      consider_seek(challenge);
    }
  }
}

// Takes an open seek of the player's for one of the bot's, if there is one on these terms that is not open.
void Lobby::adopt(const v1::Challenge& open) {
  const auto has_id = [&](const Seek& seek) { return seek.id == open.challenge_id(); };
  const auto is_alike = [&](const Seek& seek) { return seek.id.empty() && fits(open.terms(), seek.terms); };
  if (std::any_of(own_.begin(), own_.end(), has_id)) return;
  if (const auto own = std::find_if(own_.begin(), own_.end(), is_alike); own != own_.end())
    own->id = open.challenge_id();
}

// Opens the bot's own seeks while there is room for a match, and withdraws them while there is none. Any of them may
// become a match: they are no more than the matches that are left.
void Lobby::tend() {
  std::stable_partition(own_.begin(), own_.end(), [](const Seek& seek) { return !seek.id.empty(); });
  for (std::size_t at = 0; at < own_.size(); ++at) {
    Seek& seek = own_[at];
    const bool wanted = has_room_after(at);
    if (wanted && seek.id.empty()) open(seek);
    if (!wanted && is_open(seek)) attempt("a seek can't be withdrawn", [&] { withdraw(seek); });
  }
}

// Whether there is room for one more seek beside the first ones, as far as they are open.
bool Lobby::has_room_after(std::size_t first) {
  const std::lock_guard lock(mutex_);
  const auto end = own_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto count = std::count_if(own_.begin(), end,
                                   [this](const Seek& seek) { return !seek.id.empty() && !closed_.contains(seek.id); });
  return bot_.has_room() && count < bot_.left();
}

// Whether a seek is open, as far as is known here: its end may be known, and not handled yet.
bool Lobby::is_open(const Seek& seek) {
  const std::lock_guard lock(mutex_);
  return !seek.id.empty() && !closed_.contains(seek.id);
}

void Lobby::open(Seek& seek) {
  try {
    seek.id = client_.create_seek(seek.terms).challenge_id();
  } catch (const ClientError& error) {
    const auto* const refusal = dynamic_cast<const ArbiterError*>(&error);
    if (!was_away(std::current_exception())) {
      fail_(std::current_exception());
      return;
    }
    // The session says that a connection is lost.
    log(refusal == nullptr ? Level::debug : Level::warning,
        "no seek can be opened for " + seek.terms.game() + ": " + error.what());
    const auto pause = refusal == nullptr ? RETRY : std::max<std::chrono::milliseconds>(RETRY, refusal->retry_after());
    timers_.at(MonotonicClock::now() + pause, [this] { post([this] { tend(); }); });
  }
}

void Lobby::withdraw(Seek& seek) {
  client_.decline_challenge(std::exchange(seek.id, ""));
}

}  // namespace arbiter
