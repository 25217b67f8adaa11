#include "policies.hpp"

#include <algorithm>
#include <utility>

#include "arbiter/log.hpp"
#include "refusals.hpp"
#include "utf8.hpp"

namespace arbiter {

namespace {
constexpr std::size_t LONGEST_REASON = 200;  // characters
constexpr const char* NO_ROOM = "this bot has agreed to as many matches as it plays";
}  // namespace

Policies::Policies(Bot& bot, Bot::Run& run, Timers& timers, const Callbacks& callbacks, Promise promise, Fail fail)
    : bot_(bot),
      client_(run.client),
      timers_(timers),
      callbacks_(callbacks),
      promise_(std::move(promise)),
      fail_(std::move(fail)),
      thread_(1, [&run] { Bot::call_in(run); }) {
  for (const v1::Terms& terms : bot.seeks) own_.push_back({terms, ""});
}

void Policies::meet(const std::string& player) {
  post([this, player] {
    player_ = player;
    unknown_ = !own_.empty();
    tend();
  });
}

void Policies::room_changed() {
  if (own_.empty() && !bot_.accept_seeks) return;
  post([this] {
    if (passed_over_ && bot_.has_room()) {
      passed_over_ = false;
      unknown_ = true;
    }
    tend();
  });
}

void Policies::challenge(const v1::Challenge& challenge) {
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

void Policies::seek(const v1::Challenge& seek) {
  post([this, seek] { consider_seek(seek); });
}

void Policies::call(const v1::TournamentCall& tournament) {
  post([this, tournament] { consider_call(tournament); });
}

void Policies::closed(const v1::ChallengeClosed& closed) {
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

void Policies::stop(std::function<void()> withdrawn) {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  thread_.post([this, withdrawn = std::move(withdrawn)] {
    for (Seek& seek : own_) {
      if (is_open(seek)) attempt("a seek can't be withdrawn", [&] { withdraw(seek); });
    }
    if (withdrawn) withdrawn();
  });
}

void Policies::join() {
  thread_.finish();
}

void Policies::post(std::function<void()> work) {
  thread_.post([this, work = std::move(work)] {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
    }
    work();
  });
}

// Asks the server for something that may be refused.
void Policies::attempt(const std::string& what, const std::function<void()>& ask) {
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

void Policies::consider_challenge(const v1::Challenge& challenge) {
  const Verdict verdict = callbacks_.call("challenged", Verdict("the bot failed to consider it"),
                                          [&] { return bot_.challenged(challenge); });
  attempt("the challenge of " + challenge.challenger() + " can't be answered", [&] {
    if (verdict.accepted && accept(challenge.challenge_id())) return;
    const std::string reason = verdict.accepted ? NO_ROOM : first_characters(verdict.reason, LONGEST_REASON);
    client_.decline_challenge(challenge.challenge_id(), reason);
  });
}

void Policies::consider_seek(const v1::Challenge& seek) {
  if (!bot_.accept_seeks || seek.challenger() == player_) return;
  if (!bot_.has_room()) {
    passed_over_ = true;
    return;
  }
  if (!callbacks_.call("sought", false, [&] { return bot_.sought(seek); })) return;
  attempt("the seek of " + seek.challenger() + " can't be accepted", [&] { accept(seek.challenge_id()); });
}

void Policies::consider_call(const v1::TournamentCall& tournament) {
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

// Accepts a challenge or seek if there is room for its match; returns whether there was.
bool Policies::accept(const std::string& challenge_id) {
  room_changed();  // afterwards: seeks may have been withdrawn in vain
  if (!make_room()) return false;
  promise_(client_.accept_challenge(challenge_id).match_id());
  return true;
}

}  // namespace arbiter
