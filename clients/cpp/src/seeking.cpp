// The policies' seeks of the bot's own: open while there is room for a match, and never more than matches are left.

#include <algorithm>
#include <chrono>
#include <utility>

#include "arbiter/log.hpp"
#include "policies.hpp"
#include "refusals.hpp"
#include "time_control.hpp"

namespace arbiter {

namespace {

constexpr std::chrono::seconds RETRY{1};
constexpr std::size_t MOST_LISTED = 100'000;  // the bot's own seeks are found among everybody's

// Whether an open seek has the given terms. Terms that were left to the server match anything.
bool fits(const v1::Terms& open, const v1::Terms& terms) {
  return open.game() == terms.game() && open.rated() == terms.rated() && open.position() == terms.position() &&
         (terms.time_control().empty() || same_time_control(terms.time_control(), open.time_control())) &&
         (terms.seat() == 0 || open.seat() == terms.seat()) &&
         (!terms.has_abandon_ms() || (open.has_abandon_ms() && open.abandon_ms() == terms.abandon_ms()));
}

}  // namespace

// Finds out which of the bot's own seeks are open, perhaps since an earlier run, and considers those of others.
void Policies::look_around() {
  std::vector<v1::Challenge> open = client_.list_challenges(MOST_LISTED);
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
void Policies::adopt(const v1::Challenge& open) {
  const auto has_id = [&](const Seek& seek) { return seek.id == open.challenge_id(); };
  const auto is_alike = [&](const Seek& seek) { return seek.id.empty() && fits(open.terms(), seek.terms); };
  if (std::any_of(own_.begin(), own_.end(), has_id)) return;
  if (const auto own = std::find_if(own_.begin(), own_.end(), is_alike); own != own_.end())
    own->id = open.challenge_id();
}

// Brings the open seeks up to date; what fails is tried again after a pause, or once the server is there again.
void Policies::tend() {
  try {
    if (unknown_) look_around();
    unknown_ = false;
    arrange();
  } catch (const ClientError& error) {
    again(error);
  }
}

// Opens the bot's own seeks while there is room for a match, and withdraws them while there is none. Any of them may
// become a match: they are no more than the matches that are left.
void Policies::arrange() {
  std::stable_partition(own_.begin(), own_.end(), [](const Seek& seek) { return !seek.id.empty(); });
  for (std::size_t at = 0; at < own_.size(); ++at) {
    Seek& seek = own_[at];
    const bool wanted = has_room_after(at);
    if (wanted && seek.id.empty()) open(seek);
    if (!wanted && is_open(seek)) withdraw(seek);
  }
}

// Withdraws the seeks that leave no room for one more match; returns whether there is room.
bool Policies::make_room() {
  for (Seek& seek : own_) {
    if (!has_room_after(own_.size(), true) && is_open(seek)) withdraw(seek);
  }
  return has_room_after(own_.size(), true);
}

void Policies::again(const ClientError& error) {
  const auto* const refusal = dynamic_cast<const ArbiterError*>(&error);
  // The session says that a connection is lost.
  log(refusal == nullptr ? Level::debug : Level::warning,
      std::string("the bot's seeks can't be kept open: ") + error.what());
  if (std::exchange(waiting_, true)) return;
  const auto pause = refusal == nullptr ? RETRY : std::max<std::chrono::milliseconds>(RETRY, refusal->retry_after());
  timers_.at(MonotonicClock::now() + pause, [this] {
    post([this] {
      waiting_ = false;
      tend();
    });
  });
}

// Whether there is room for one more seek, or match, beside the first seeks, as far as they are open.
bool Policies::has_room_after(std::size_t first, bool for_match) {
  const std::lock_guard lock(mutex_);
  const auto end = own_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto count = std::count_if(own_.begin(), end,
                                   [this](const Seek& seek) { return !seek.id.empty() && !closed_.contains(seek.id); });
  const bool last = bot_.most_matches > 0 && bot_.playing() + 1 >= bot_.most_matches;
  return !stopped_ && bot_.has_room() && count < bot_.left() && !(for_match && last && count > 0);
}

// Whether a seek is open, as far as is known here: its end may be known, and not handled yet.
bool Policies::is_open(const Seek& seek) {
  const std::lock_guard lock(mutex_);
  return !seek.id.empty() && !closed_.contains(seek.id);
}

void Policies::open(Seek& seek) {
  try {
    seek.id = client_.create_seek(seek.terms).challenge_id();
  } catch (const ClientError&) {
    if (was_away(std::current_exception())) throw;
    fail_(std::current_exception());
  }
}

// Withdraws a seek. If another player has just accepted it, it counts until the stream says it is closed.
void Policies::withdraw(Seek& seek) {
  try {
    client_.decline_challenge(seek.id);
    seek.id.clear();
  } catch (const ArbiterError& error) {
    if (error.reason() != Reason::CHALLENGE_NOT_FOUND) throw;
  }
}

}  // namespace arbiter
