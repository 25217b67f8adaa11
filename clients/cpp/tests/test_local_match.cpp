// Matches of two bots of one program, without a server that somebody runs.

#include "arbiter/local_match.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "arbiter/channel.hpp"
#include "arbiter/opening_book.hpp"
#include "bots.hpp"

namespace arbiter::testing {
namespace {

namespace fs = std::filesystem;

// Plays any legal move.
class AtRandom : public Bot {
 public:
  Choice choose(const Turn& turn) override {
    const std::vector<v1::LegalMove> moves = legal_moves(turn);
    return moves[std::uniform_int_distribution<std::size_t>(0, moves.size() - 1)(dice_)].text();
  }

 private:
  std::mt19937 dice_{std::random_device()()};
};

// Makes choices one after the other, and then resigns. On a server it would look for other matches.
class Listed : public Bot {
 public:
  explicit Listed(std::deque<Choice> choices = {}) : choices_(std::move(choices)) {
    name = "listed";
    games = {"hop-it"};
    seeks.emplace_back().set_game("pods");
    accept_seeks = enter_tournaments = true;
    extras.board = extras.legal_move_count = true;
    extras.legal_moves_up_to = 500;
  }

  Choice choose(const Turn& turn) override {
    turns.push_back(turn);
    counts.push_back({playing(), left()});
    if (choices_.empty()) return Resign();
    Choice next = std::move(choices_.front());
    choices_.pop_front();
    return next;
  }

  void started(const LiveMatch& match) override { told.push_back("started in seat " + std::to_string(match.seat())); }

  void ended(const FinishedMatch& finished) override {
    told.push_back("ended with " + std::to_string(static_cast<int>(finished.score().value_or(-1))));
  }

  std::vector<Turn> turns;
  std::vector<std::pair<int, int>> counts;
  std::vector<std::string> told;

 private:
  std::deque<Choice> choices_;
};

// Thinks until nobody needs its choice.
Choice think_in_vain(const Bot& bot, const Turn& turn) {
  while (!turn.stale()) bot.client().connection().pause(std::chrono::milliseconds(20));
  return Resign();
}

// A program of this text, and the same for a shell.
std::string program_of(const std::string& text) {
  std::string folder = (fs::path(std::getenv("ARBITER_TEST_FOLDER")) / "rules-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder");
  const fs::path file = fs::path(folder) / "arbiter";
  std::ofstream(file) << "#!/bin/sh\n" << text << '\n';
  fs::permissions(file, fs::perms::owner_all);
  return file.string();
}

// The error of a local match against a bot that resigns.
template <class Error>
Error error_of(Bot& first, const std::string& game, const LocalOptions& options = {}) {
  Listed second;
  try {
    local_match(first, second, game, options);
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error("the match had an end");
}

TEST(LocalMatch, TellsItsBotsWhatAServerTells) {
  Listed first({Choice("a2")});
  Listed second;
  LocalOptions options;
  options.time_control = "5m:2m";
  options.opening = {"a1", "b1"};
  const FinishedMatch finished = local_match(first, second, "pods(size=3)", options);
  EXPECT_EQ(finished.result.reason(), "resignation");
  EXPECT_EQ(first.told, (std::vector<std::string>{"started in seat 1", "ended with 1"}));
  EXPECT_EQ(second.told, (std::vector<std::string>{"started in seat 2", "ended with 0"}));
  ASSERT_EQ(first.turns.size(), 1U);
  const Turn& turn = first.turns.front();
  EXPECT_EQ(turn.ply, 2);
  EXPECT_EQ(turn.match->terms().opening_plies, 2);
  EXPECT_EQ(turn.match->terms().time_control, "5m");
  EXPECT_EQ(turn.match->terms().match_time_control, "5m:2m");
  EXPECT_EQ(turn.clocks.size(), 2U);
  EXPECT_FALSE(turn.board.empty());
  EXPECT_EQ(turn.legal_move_count, static_cast<std::int64_t>(turn.legal_moves.size()));
  EXPECT_EQ(second.turns.front().line().moves, (std::vector<std::string>{"a1", "b1", "a2"}));
  EXPECT_EQ(first.counts.front(), std::pair(1, 0));
  EXPECT_EQ(first.playing(), 0);
  EXPECT_THROW(static_cast<void>(first.client()), std::logic_error);
}

TEST(LocalMatch, HasALineThatBeginsAtTheStartPosition) {
  Listed first({Choice("f7g7")});
  Listed second;
  LocalOptions options;
  options.position = "7k/5Q2/6K1/8/8/8/8/8 w - - 0 1";
  EXPECT_EQ(local_match(first, second, "chess", options).result.reason(), "checkmate");
  EXPECT_EQ(first.turns.front().line().position, options.position);
  EXPECT_EQ(OpeningBook::parse("chess e2e4").move(first.turns.front()), std::nullopt);
}

TEST(LocalMatch, RefusesIllegalMovesAndHasOffersOfDraws) {
  struct Agreeable : Bot {
    Choice choose(const Turn& turn) override { return think_in_vain(*this, turn); }
    bool draw_offered(const DrawOffer& /*offer*/) override { return true; }
  } second;
  Listed first({Choice("nonsense"), OfferDraw("e2e4")});
  EXPECT_EQ(local_match(first, second, "chess").result.cause(), v1::CAUSE_AGREEMENT);
  ASSERT_EQ(first.turns.size(), 2U);
  EXPECT_EQ(first.turns[1].refused->reason(), Reason::MOVE_MALFORMED);
}

TEST(LocalMatch, IsThatOfTheReadmeWhateverTheEnvironmentSaysOfServers) {
  ::setenv("ARBITER_ROOT_CERTIFICATE", "/no/certificate/here", 1);
  AtRandom first;
  Listed second;
  arbiter::LocalOptions options;
  options.time_control = "1m+1s";
  const arbiter::FinishedMatch finished = arbiter::local_match(first, second, "pods", options);
  ::unsetenv("ARBITER_ROOT_CERTIFICATE");
  EXPECT_EQ(finished.score(), 1.0);
}

TEST(LocalMatch, IsPlayedToItsEndAndMayHaveOneBotInBothSeats) {
  struct Both : AtRandom {
    Choice choose(const Turn& turn) override {
      (turn.seat == 1 ? firsts : seconds).insert(client().myself().player().name());
      return AtRandom::choose(turn);
    }
    std::set<std::string> firsts, seconds;
  } bot;
  const FinishedMatch finished = local_match(bot, bot, "pods(size=3)");
  EXPECT_EQ(finished.result.reason(), "territory");
  EXPECT_EQ(finished.opponent, "seat-2");
  EXPECT_FALSE(finished.match->moves().empty());
  EXPECT_EQ(bot.firsts, std::set<std::string>{"seat-1"});
  EXPECT_EQ(bot.seconds, std::set<std::string>{"seat-2"});
  EXPECT_THROW((void)bot.client(), std::logic_error);
}

TEST(LocalMatch, NamesItsErrors) {
  struct Failing : Bot {
    Choice choose(const Turn& /*turn*/) override { throw std::runtime_error("no idea"); }
  } failing;
  Listed bot;
  LocalOptions options;
  EXPECT_EQ(error_of<ArbiterError>(bot, "ludo").reason(), Reason::GAME_UNKNOWN);
  EXPECT_NE(std::string(error_of<BotFailed>(failing, "pods").what()).find("no idea"), std::string::npos);
  options.program = "/no/arbiter/here";
  EXPECT_STREQ(
      error_of<ConnectionFailed>(bot, "pods", options).what(),
      "can't start `/no/arbiter/here rules serve`: No such file or directory: install game-arbiter, or name its "
      "command in ARBITER_COMMAND");
  options.program = program_of("echo first >&2; echo the last line >&2; echo no address; exit 3");
  EXPECT_EQ(error_of<ConnectionFailed>(bot, "pods", options).what(),
            '`' + options.program + " rules serve` has ended before the match: exit code 3: the last line");
}

TEST(LocalMatch, EndsWithAnErrorWhenItsRulesAreKilled) {
  struct Killing : Bot {
    Choice choose(const Turn& turn) override {
      std::ifstream(noted) >> number;
      if (number <= 0 || ::kill(number, SIGKILL) != 0) throw std::runtime_error("there is nothing to kill");
      return think_in_vain(*this, turn);
    }
    fs::path noted;
    pid_t number = 0;
  } killing;
  LocalOptions options;
  options.program = program_of("echo $$ >\"$0.pid\"\nexec \"$ARBITER_COMMAND\" \"$@\"");
  killing.noted = options.program + ".pid";
  const Logged quiet;
  EXPECT_EQ(error_of<ConnectionFailed>(killing, "pods", options).what(),
            '`' + options.program + " rules serve` has ended before the match: signal 9");
}

}  // namespace
}  // namespace arbiter::testing
