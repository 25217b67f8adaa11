// Challenges, seeks and tournaments.

#include <gtest/gtest.h>

#include "bots.hpp"
#include "peer.hpp"

namespace arbiter::testing {
namespace {

using grpc::StatusCode;

v1::Challenge challenge(const std::string& id, const std::string& game, const std::string& control = "1m+1s",
                        const std::string& challenger = "bob", const std::string& opponent = PLAYER) {
  v1::Challenge made;
  made.set_challenge_id(id);
  made.set_challenger(challenger);
  made.set_opponent(opponent);
  made.mutable_terms()->set_game(game);
  made.mutable_terms()->set_time_control(control);
  return made;
}

v1::Challenge seek(const std::string& id, const std::string& game, const std::string& challenger = "bob") {
  return challenge(id, game, "1m+1s", challenger, "");
}

v1::PlayItem item(const v1::Challenge& made) {
  v1::PlayItem told;
  (made.opponent().empty() ? *told.mutable_seek() : *told.mutable_challenge()) = made;
  return told;
}

v1::PlayItem closed(const std::string& id, const std::string& match_id = "") {
  v1::PlayItem told;
  told.mutable_challenge_closed()->set_challenge_id(id);
  told.mutable_challenge_closed()->set_match_id(match_id);
  return told;
}

v1::PlayItem call(const std::string& id, const std::string& game, bool entered = false) {
  v1::PlayItem told;
  told.mutable_tournament()->set_tournament_id(id);
  told.mutable_tournament()->set_name("Cup " + id);
  told.mutable_tournament()->add_games(game);
  told.mutable_tournament()->set_time_control("1m+1s");
  told.mutable_tournament()->set_phase(v1::TOURNAMENT_PHASE_ENTRY);
  told.mutable_tournament()->set_entered(entered);
  return told;
}

std::string words(const Asked& asked) {
  return asked.method + ' ' + asked.what + ' ' + asked.more;
}

TEST(Policies, ChallengesAreAcceptedByPolicy) {
  FixedBot bot;
  bot.time_controls = {"1m+1s"};
  bot.opponents = {"bob", "cleo"};
  Peer peer;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->say({item(challenge("c1", "pods(size=5)")), item(challenge("c2", "hop-it")),
               item(challenge("c3", "pods", "none")), item(challenge("c4", "pods", "1m+1s", "dan")),
               item(challenge("own", "pods", "1m+1s", PLAYER, "bob"))});
  EXPECT_EQ(words(peer.asked()), "AcceptChallenge c1 ");
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge c2 this bot plays pods");
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge c3 this bot plays at 1m+1s");
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge c4 this bot plays against bob, cleo");
}

TEST(Policies, ChallengesAreDeclinedAtTheLimitAndWhereTheyAreNotWanted) {
  FixedBot bot;
  bot.most_matches = 2;
  Peer peer;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->say({match_item("m1"), item(challenge("c1", "pods")), item(challenge("c2", "pods"))});
  EXPECT_EQ(words(peer.asked()), "AcceptChallenge c1 ");
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge c2 this bot plays 2 matches at once, and is playing them");

  FixedBot hermit;
  hermit.accept_challenges = false;
  Peer other;
  Playing alone(hermit, other);
  const auto quiet = other.stream();
  quiet->meet();
  quiet->say({item(challenge("c3", "pods"))});
  EXPECT_EQ(words(other.asked()), "DeclineChallenge c3 this bot accepts no challenges");
}

TEST(Policies, ABotMayJudgeChallengesItself) {
  struct Picky : FixedBot {
    Verdict challenged(const v1::Challenge& challenge) override {
      if (challenge.challenger() == "bob") return std::string(300, 'x');
      if (challenge.challenger() == "cleo") throw std::runtime_error("who?");
      return true;
    }
  } bot;
  Peer peer;
  const Logged logged;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->say({item(challenge("c1", "pods")), item(challenge("c2", "pods", "", "cleo")),
               item(challenge("c3", "chess", "", "dan"))});
  EXPECT_EQ(peer.asked().more, std::string(200, 'x'));
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge c2 the bot failed to consider it");
  EXPECT_EQ(words(peer.asked()), "AcceptChallenge c3 ");
  EXPECT_NE(logged.text().find("failed in challenged: who?"), std::string::npos);
}

TEST(Policies, SeeksOfOthersAreAcceptedWhileThereIsRoom) {
  FixedBot bot;
  bot.most_matches = 1;
  bot.accept_seeks = true;
  Peer peer;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  EXPECT_TRUE(stream->meet().seeks());
  stream->say({item(seek("own", "pods", PLAYER)), item(seek("s0", "hop-it")), item(seek("s1", "pods")),
               item(seek("s2", "pods")), item(challenge("c1", "pods"))});
  EXPECT_EQ(words(peer.asked()), "AcceptChallenge s1 ");
  EXPECT_EQ(peer.asked().method, "DeclineChallenge");  // so that s2 was passed over before
  peer.open = {seek("s3", "pods"), seek("own", "pods", PLAYER), challenge("c9", "pods")};
  stream->say({ended_item("match of s1", "c1")});  // what is open now is looked at
  EXPECT_EQ(words(peer.asked()), "AcceptChallenge s3 ");
}

TEST(Policies, SeeksAreNotAcceptedUnlessThatIsSaid) {
  FixedBot bot;
  Peer peer;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  EXPECT_FALSE(stream->meet().seeks());
  stream->say({item(seek("s1", "pods")), item(challenge("c1", "pods"))});
  EXPECT_EQ(words(peer.asked()), "AcceptChallenge c1 ");
}

TEST(Policies, ItsOwnSeeksAreOpenWhileThereIsRoom) {
  FixedBot bot;
  bot.most_matches = 1;
  bot.seeks = {seek("", "pods").terms()};
  Peer peer;
  Playing playing(bot, peer);
  const auto first = peer.stream();
  first->meet();
  EXPECT_EQ(words(peer.asked()), "CreateSeek pods 1m+1s");
  first->say({match_item("m1")});
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge seek-1 ");
  first->say({ended_item("m1")});
  EXPECT_EQ(words(peer.asked()), "CreateSeek pods 1m+1s");
  first->say({closed("seek-2", "m2")});  // a match has come of it, which is not there yet
  first->say({match_item("m2"), ended_item("m2")});
  EXPECT_EQ(words(peer.asked()), "CreateSeek pods 1m+1s");
  peer.open = {seek("seek-3", "pods", PLAYER)};
  first->end();
  const auto second = peer.stream();
  second->meet();
  second->say({closed("seek-3")});
  EXPECT_EQ(words(peer.asked()), "CreateSeek pods 1m+1s");
  playing.stop();
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge seek-4 ");
  playing.wait();
}

TEST(Policies, TheStreamEndsOnceTheSeeksAreWithdrawnOrThatTakesTooLong) {
  FixedBot bot;
  bot.seeks = {seek("", "pods").terms()};
  Peer peer;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  EXPECT_EQ(words(peer.asked()), "CreateSeek pods 1m+1s");
  peer.withholds = true;
  const auto told = MonotonicClock::now();
  playing.stop();
  stream->closed();
  EXPECT_GE(MonotonicClock::now() - told, std::chrono::seconds(2));
  peer.release();
}

TEST(Policies, WhatFailsAboutItsSeeksIsDoneAgainAndNoOpenSeekIsForgotten) {
  FixedBot bot;
  bot.most_matches = 1;
  bot.seeks = {seek("", "pods").terms(), seek("", "hop-it").terms()};
  Peer peer;
  peer.open = {seek("old", "pods", PLAYER)};
  const grpc::Status failed(StatusCode::INTERNAL, "no");
  peer.failures = {{"ListChallenges", {failed}}, {"DeclineChallenge", {failed}}};
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  EXPECT_EQ(words(peer.asked()), "CreateSeek hop-it 1m+1s");  // the one for pods is there from before
  stream->say({closed("old", "m1")});
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge seek-1 ");
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge seek-1 ");
}

TEST(Policies, TermsThatTheServerDoesNotTakeEndTheRun) {
  FixedBot bot;
  bot.seeks = {seek("", "pods").terms(), challenge("", "chess").terms()};
  Peer peer;
  Playing playing(bot, peer);
  peer.stream()->meet();
  try {
    playing.wait();
    FAIL() << "the run ended well";
  } catch (const ArbiterError& error) {
    EXPECT_EQ(error.reason(), Reason::GAME_UNKNOWN);
    ASSERT_NE(error.status(), nullptr);
    EXPECT_EQ(error.status()->error_code(), StatusCode::INVALID_ARGUMENT);
  }
}

TEST(Policies, NoMoreSeeksAreMadeThanMatchesAreLeft) {
  FixedBot bot;
  bot.most_matches = 0;
  bot.seeks = {seek("", "pods").terms(), seek("", "hop-it").terms(), seek("", "pondlife").terms()};
  Peer peer;
  Playing playing(bot, peer, [](PlayOptions& options) { options.matches = 2; });
  const auto stream = peer.stream();
  stream->meet();
  EXPECT_EQ(words(peer.asked()), "CreateSeek pods 1m+1s");
  EXPECT_EQ(words(peer.asked()), "CreateSeek hop-it 1m+1s");
  stream->say({closed("seek-1", "m1"), match_item("m1")});  // the second seek may become the last match
  stream->say({item(challenge("c1", "hop-it"))});
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge c1 this bot plays pods");  // after what became of the seek
  stream->say({closed("seek-2", "m2"), match_item("m2"), ended_item("m1", "c1"), ended_item("m2", "c2")});
  stream->read(v1::PlayAct::kAcknowledge);
  stream->read(v1::PlayAct::kAcknowledge);
  stream->closed();
  stream->end();
  playing.wait();
  EXPECT_FALSE(peer.has_asked());
}

TEST(Policies, ABotPlaysAtTheSameTimeControlInAnotherForm) {
  FixedBot bot;
  bot.time_controls = {"60s+2s", "120s"};
  Peer peer;
  peer.open = {challenge("own", "pods", "1m", PLAYER, "")};  // as the arbiter writes it
  bot.seeks = {challenge("", "pods", "60s").terms(), challenge("", "hop-it", "60s").terms()};
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  EXPECT_EQ(words(peer.asked()), "CreateSeek hop-it 60s");  // the other one is found again
  stream->say({item(challenge("c1", "pods", "1m+2s")), item(challenge("c2", "pods", "2m")),
               item(challenge("c3", "pods", "1m+2sd")), item(challenge("c4", "pods", "of a newer arbiter"))});
  EXPECT_EQ(words(peer.asked()), "AcceptChallenge c1 ");
  EXPECT_EQ(words(peer.asked()), "AcceptChallenge c2 ");
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge c3 this bot plays at 60s+2s, 120s");
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge c4 this bot plays at 60s+2s, 120s");
}

TEST(Policies, WhatIsNoTimeControlIsRefusedAtTheStart) {
  Peer peer;
  const auto expect_refusal = [&](Bot& bot, const std::string& told) {
    Playing playing(bot, peer);
    try {
      playing.wait();
      FAIL() << "it played";
    } catch (const ArbiterError& error) {
      EXPECT_EQ(error.reason(), Reason::PARAMETER_INVALID);
      EXPECT_EQ(error.message().find(told), 0U) << error.message();
    }
  };
  FixedBot bot;
  bot.time_controls = {"1m", "5 min"};
  expect_refusal(bot, "fixed: \"5 min\" is no time control: expected 5m, 5m+3s");
  bot.time_controls = {"200h"};
  expect_refusal(bot, "fixed: 200h in the time control \"200h\" is more than 168h");
  bot.time_controls = {};
  bot.seeks = {challenge("", "pods", "60").terms()};
  expect_refusal(bot, "fixed: \"60\" is no time control");
  EXPECT_FALSE(peer.has_stream() || peer.has_asked());
}

TEST(Policies, ABotWithLimitsForRatingsAsksForTheChallengers) {
  FixedBot bot;
  bot.least_rating = 1500;
  Peer peer;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->say({item(challenge("c1", "pods", "1m", "cleo")), item(challenge("c2", "pods", "1m", "bob"))});
  EXPECT_EQ(words(peer.asked()), "GetRating cleo pods");
  EXPECT_EQ(words(peer.asked()), "AcceptChallenge c1 ");
  EXPECT_EQ(words(peer.asked()), "GetRating bob pods");
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge c2 this bot plays against ratings of at least 1500");
}

TEST(Policies, NoMoreIsAgreedOnThanTheMatchesThatAreLeft) {
  FixedBot bot;
  bot.seeks = {seek("", "pods").terms(), seek("", "pods").terms(), seek("", "pods").terms()};
  Peer peer;
  Playing playing(bot, peer, [](PlayOptions& options) { options.matches = 2; });
  const auto stream = peer.stream();
  stream->meet();
  EXPECT_EQ(words(peer.asked()), "CreateSeek pods 1m+1s");
  EXPECT_EQ(words(peer.asked()), "CreateSeek pods 1m+1s");  // and not the third
  stream->say({closed("seek-1", "m1"), match_item("m1"), item(challenge("c1", "pods"))});
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge seek-2 ");
  EXPECT_EQ(words(peer.asked()), "AcceptChallenge c1 ");
  stream->say({item(challenge("c2", "pods"))});
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge c2 this bot has as many matches as it plays before it stops");
  stream->say({ended_item("m1", "c1")});
  stream->read(v1::PlayAct::kAcknowledge);
  stream->say({match_item("match of c1"), ended_item("match of c1", "c2")});
  stream->read(v1::PlayAct::kAcknowledge);
  stream->closed();
  stream->end();
  playing.wait();
  EXPECT_FALSE(peer.has_asked());
}

TEST(Policies, AChallengeIsDeclinedIfTheSeekForTheLastMatchIsTaken) {
  FixedBot bot;
  bot.seeks = {seek("", "pods").terms()};
  Peer peer;
  peer.failures["DeclineChallenge"] = {status_of(refusal(Reason::CHALLENGE_NOT_FOUND, grpc::StatusCode::NOT_FOUND))};
  Playing playing(bot, peer, [](PlayOptions& options) { options.matches = 1; });
  const auto stream = peer.stream();
  stream->meet();
  EXPECT_EQ(words(peer.asked()), "CreateSeek pods 1m+1s");
  stream->say({item(challenge("c1", "pods"))});
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge seek-1 ");
  EXPECT_EQ(words(peer.asked()), "DeclineChallenge c1 this bot has agreed to as many matches as it plays");
}

TEST(Policies, ASeekThatWasLeftOpenIsTakenUp) {
  FixedBot bot;
  bot.seeks = {seek("", "pods").terms()};
  Peer peer;
  peer.open = {seek("old", "pods", PLAYER)};
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->say({closed("old")});
  EXPECT_EQ(words(peer.asked()), "CreateSeek pods 1m+1s");
}

TEST(Policies, ASeekFromAPositionIsFoundAgainByIt) {
  FixedBot bot;
  bot.seeks = {seek("", "pods").terms(), seek("", "hop-it").terms(), seek("", "pondlife").terms()};
  for (v1::Terms& terms : bot.seeks) terms.set_position("a start");
  Peer peer;
  peer.open = {seek("initial", "pods", PLAYER), seek("old", "hop-it", PLAYER)};
  peer.open[1].mutable_terms()->set_position("a start");
  Playing playing(bot, peer);
  peer.stream()->meet();
  ASSERT_EQ(words(peer.asked()), "CreateSeek pods 1m+1s");
  EXPECT_EQ(words(peer.asked()), "CreateSeek pondlife 1m+1s");
}

TEST(Policies, TournamentsThatSuitAreEntered) {
  FixedBot bot;
  bot.enter_tournaments = true;
  Peer peer;
  peer.failures["EnterTournament"] = {status_of(refusal(Reason::TOURNAMENT_CLOSED, StatusCode::FAILED_PRECONDITION))};
  const Logged logged;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  EXPECT_TRUE(stream->meet().tournaments());
  stream->say({call("t0", "hop-it"), call("t1", "pods", true), call("t2", "pods"), call("t2", "pods"),
               call("t3", "pods(size=5)")});
  EXPECT_EQ(peer.asked().what, "t2");
  EXPECT_EQ(peer.asked().what, "t3");  // t2 refused entry and was left
  EXPECT_NE(logged.text().find("the tournament Cup t2 can't be entered: said TOURNAMENT_CLOSED"), std::string::npos);
}

TEST(Policies, TheBotIsToldOfClosedChallenges) {
  struct Listener : FixedBot {
    void challenge_closed(const v1::ChallengeClosed& closed) override { told.put(closed.challenge_id()); }
  } bot;
  Peer peer;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->say({closed("c1")});
  EXPECT_EQ(bot.told.take("the end of the challenge"), "c1");
}

}  // namespace
}  // namespace arbiter::testing
