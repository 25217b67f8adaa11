#include "arbiter/bot.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "time_control.hpp"

namespace arbiter {

namespace {

// Whether a list has an item, or is empty and so admits everything.
bool allows(const std::vector<std::string>& list, std::string_view item) {
  return list.empty() || std::find(list.begin(), list.end(), item) != list.end();
}

std::string with_commas(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& item : list) text += (text.empty() ? "" : ", ") + item;
  return text;
}

// A number as people write it.
std::string plain(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

constexpr int SEATS = 2;

// The run in which this thread calls its bot. The run outlives the thread.
thread_local const void* current_run = nullptr;

}  // namespace

void Bot::call_in(Run& run) {
  current_run = &run;
}

void Bot::enter(Run& run) {
  const std::lock_guard lock(mutex_);
  runs_.push_back(&run);
}

void Bot::leave(Run& run) {
  const std::lock_guard lock(mutex_);
  std::erase(runs_, &run);
}

Bot::Run* Bot::run() const {
  const std::lock_guard lock(mutex_);
  const auto calls = std::find(runs_.begin(), runs_.end(), current_run);
  if (calls != runs_.end()) return *calls;
  if (runs_.size() > 1) {
    throw std::logic_error("the bot is in " + std::to_string(runs_.size()) +
                           " runs, and this thread belongs to none of them: use its client in the callbacks of a run");
  }
  return runs_.empty() ? nullptr : runs_.front();
}

Choice Bot::refused(const Turn& turn, const ArbiterError& /*error*/) {
  return choose(turn);
}

void Bot::started(const LiveMatch& /*match*/) {
}

void Bot::ended(const FinishedMatch& /*finished*/) {
}

bool Bot::draw_offered(const DrawOffer& /*offer*/) {
  return false;
}

Verdict Bot::challenged(const v1::Challenge& challenge) {
  if (!accept_challenges) return "this bot accepts no challenges";
  const std::string why_not = objection(challenge, rating_of(challenge));
  return why_not.empty() ? Verdict(true) : Verdict(why_not);
}

bool Bot::sought(const v1::Challenge& seek) {
  return objection(seek, rating_of(seek)).empty();
}

bool Bot::called(const v1::TournamentCall& tournament) {
  return plays_at(tournament.time_control()) && rated.value_or(tournament.rated()) == tournament.rated() &&
         std::all_of(tournament.games().begin(), tournament.games().end(),
                     [this](const std::string& game) { return plays(game); });
}

void Bot::challenge_closed(const v1::ChallengeClosed& /*closed*/) {
}

std::vector<v1::LegalMove> Bot::legal_moves(const Turn& turn) {
  return turn.legal_moves.empty() ? client().legal_moves(MatchPly{turn.match->id(), turn.ply}) : turn.legal_moves;
}

bool Bot::plays(std::string_view game) const {
  return allows(games, game) || allows(games, game.substr(0, game.find('(')));
}

bool Bot::plays_at(std::string_view time_control) const {
  return time_controls.empty() || std::any_of(time_controls.begin(), time_controls.end(), [&](const std::string& own) {
           return same_time_control(own, time_control);
         });
}

std::string Bot::objection(const v1::Challenge& challenge, std::optional<double> rating) const {
  const v1::Terms& terms = challenge.terms();
  if (!plays(terms.game())) return "this bot plays " + with_commas(games);
  if (!plays_at(terms.time_control())) return "this bot plays at " + with_commas(time_controls);
  if (rated && *rated != terms.rated()) {
    return std::string("this bot plays ") + (*rated ? "rated" : "unrated") + " matches only";
  }
  if (seat != 0 && terms.seat() != SEATS + 1 - seat) return "this bot plays as seat " + std::to_string(seat) + " only";
  if (!allows(opponents, challenge.challenger())) return "this bot plays against " + with_commas(opponents);
  if (least_rating && (!rating || *rating < *least_rating)) {
    return "this bot plays against ratings of at least " + plain(*least_rating);
  }
  if (most_rating && (!rating || *rating > *most_rating)) {
    return "this bot plays against ratings of at most " + plain(*most_rating);
  }
  if (left() <= 0) return "this bot has as many matches as it plays before it stops";
  if (!has_room()) return "this bot plays " + std::to_string(most_matches) + " matches at once, and is playing them";
  return "";
}

// The rating of a challenger's newest version in the game, if it has one and the bot has limits for it.
std::optional<double> Bot::rating_of(const v1::Challenge& challenge) const {
  if (!least_rating && !most_rating) return std::nullopt;
  const v1::GetRatingResponse found = client().get_rating(challenge.challenger(), challenge.terms().game());
  return found.versions().empty() ? std::nullopt : std::optional(found.versions(0).rating().value());
}

int Bot::playing() const {
  const Run* const own = run();
  return own == nullptr ? 0 : own->playing.load();
}

int Bot::left() const {
  const Run* const own = run();
  return own == nullptr ? NO_LIMIT : own->left.load();
}

Client& Bot::client() const {
  const Run* const own = run();
  if (own == nullptr) throw std::logic_error("a bot has a client while it plays, not before");
  return own->client;
}

}  // namespace arbiter
