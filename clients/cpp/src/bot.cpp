#include "arbiter/bot.hpp"

#include <algorithm>
#include <stdexcept>

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

// The reason why a bot's settings exclude such terms; empty if they do not.
std::string objection(const Bot& bot, const std::string& opponent, const v1::Terms& terms) {
  if (!bot.plays(terms.game())) return "this bot plays " + with_commas(bot.games);
  if (!allows(bot.time_controls, terms.time_control())) return "this bot plays at " + with_commas(bot.time_controls);
  if (!allows(bot.opponents, opponent)) return "this bot plays against " + with_commas(bot.opponents);
  if (bot.left() <= 0) return "this bot has as many matches as it plays before it stops";
  if (!bot.has_room()) {
    return "this bot plays " + std::to_string(bot.most_matches) + " matches at once, and is playing them";
  }
  return "";
}

}  // namespace

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
  const std::string why_not = objection(*this, challenge.challenger(), challenge.terms());
  return why_not.empty() ? Verdict(true) : Verdict(why_not);
}

bool Bot::sought(const v1::Challenge& seek) {
  return objection(*this, seek.challenger(), seek.terms()).empty();
}

bool Bot::called(const v1::TournamentCall& tournament) {
  return allows(time_controls, tournament.time_control()) &&
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

Client& Bot::client() const {
  if (client_ == nullptr) throw std::logic_error("a bot has a client while it plays, not before");
  return *client_;
}

}  // namespace arbiter
