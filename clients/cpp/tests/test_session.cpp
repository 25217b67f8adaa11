// The session: connecting, pings, reconnects with resend, and the ends of a stream.

#include <gtest/gtest.h>

#include <thread>

#include "bots.hpp"
#include "peer.hpp"

namespace arbiter::testing {
namespace {

using Act = v1::PlayAct;
using grpc::StatusCode;

grpc::Status draining() {
  return status_of(refusal(Reason::DRAINING, StatusCode::UNAVAILABLE, {{"retry_after_ms", "1"}}));
}

TEST(Session, AnOutageIsOneLineWhenItBeginsAndOneWhenItIsOverAndHooksAreCalled) {
  Peer peer;
  FixedBot bot;
  const Logged logged;
  Mailbox<std::string> told;
  Hooks hooks;
  hooks.connected = [&](const std::string&, const std::string& player) { told.put("connected as " + player); };
  hooks.disconnected = [&](const std::string&, const ClientError&) {
    told.put("disconnected");
    throw std::runtime_error("a hook that fails costs nothing else");
  };
  hooks.thought = [&](const Turn& turn, std::chrono::milliseconds) { told.put("thought " + std::to_string(turn.ply)); };
  hooks.refused = [&](const Turn& turn, const ArbiterError&) { told.put("refused " + std::to_string(turn.ply)); };
  Playing playing(bot, peer, [&](PlayOptions& options) { options.hooks = hooks; });
  const auto first = peer.stream();
  first->meet();
  first->say({match_item(), turn_item(0)});
  first->refuse(first->read(Act::kMove), Reason::MOVE_ILLEGAL, StatusCode::FAILED_PRECONDITION);
  first->read(Act::kMove);
  for (const char* expected : {"connected as alice", "thought 0", "refused 0", "thought 0"}) {
    EXPECT_EQ(told.take("a hook"), expected);
  }
  first->end(grpc::Status(StatusCode::UNAVAILABLE, "gone"));
  for (int failure = 0; failure < 3; ++failure) {
    peer.stream()->end(grpc::Status(StatusCode::UNAVAILABLE, "away"));
  }
  const auto back = peer.stream();
  back->meet();
  back->read(Act::kMove);
  EXPECT_EQ(told.take("a hook"), "disconnected");
  EXPECT_EQ(told.take("a hook"), "connected as alice");
  const std::vector<std::string> lines = logged.lines();
  ASSERT_EQ(lines.size(), 6U) << logged.text();
  EXPECT_EQ(lines[2].find("refused in match m1: said MOVE_ILLEGAL"), 0U) << lines[2];
  EXPECT_EQ(lines[3].find("connection lost, trying again at "), 0U) << lines[3];
  EXPECT_EQ(lines[4], "the hook disconnected failed: a hook that fails costs nothing else");
  EXPECT_NE(lines[5].find(" as alice again, after "), std::string::npos) << lines[5];
}

// Prepares for each match until it is told that it may begin.
class Preparing : public FixedBot {
 public:
  void started(const LiveMatch& match) override {
    FixedBot::started(match);
    prepared.wait();
  }

  Door prepared;
};

TEST(Session, TheServerHearsOnceTheBotIsReadyForAMatchThatWaits) {
  Peer peer;
  Preparing bot;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  EXPECT_EQ(stream->meet().capabilities(0), "ready");
  const auto against = [](const std::string& opponent, v1::Phase phase) {
    return match_item("m" + opponent, [&](v1::Match& match) {
      match.set_players(1, opponent);
      match.set_phase(phase);
    });
  };
  stream->say({against("bob", v1::PHASE_PENDING)});
  bot.told.take("a start");
  stream->say({ping_item(7)});
  stream->read(Act::kPong);  // and nothing else before it
  bot.prepared.open();
  EXPECT_EQ(stream->read(Act::kReady).match_id(), "mbob");
  stream->say({against("bob", v1::PHASE_PAUSED)});
  EXPECT_EQ(stream->read(Act::kReady).match_id(), "mbob");
  stream->say({against(PLAYER, v1::PHASE_PENDING)});  // against itself: once for both seats
  EXPECT_EQ(stream->read(Act::kReady).match_id(), std::string("m") + PLAYER);
  stream->say({against("bob", v1::PHASE_ACTIVE), turn_item(0, "mbob")});
  stream->read(Act::kMove);
}

TEST(Session, AMatchInWhichTheBotHasMovedGoesOn) {
  Peer peer;
  FixedBot bot;
  const Logged logged;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  const auto after = [](int ply, int turn) {
    return [ply, turn](v1::Match& match) {
      match.set_ply(ply);
      match.set_turn(turn);
      match.set_opening_plies(2);
    };
  };
  stream->say({match_item("first", after(3, 1)), match_item("later", after(3, 2)), match_item("new", after(2, 1))});
  for (int i = 0; i < 3; ++i) bot.told.take("a start");
  const std::string text = logged.text();
  for (const char* part : {"first begins: ", "later goes on: ", "new begins: "}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Session, ABotSaysWhoItIsAndPlaysAMatch) {
  Peer peer;
  FixedBot bot;
  Playing playing(bot, peer, [](PlayOptions& options) { options.matches = 1; });
  const auto stream = peer.stream();
  const v1::ClientHello hello = stream->meet();
  EXPECT_EQ(hello.protocol_version(), "1.0");
  EXPECT_EQ(hello.software(), "arbiter-client-cpp");
  EXPECT_EQ(hello.software_version(), ARBITER_CLIENT_VERSION);
  EXPECT_EQ(hello.bot_name() + hello.bot_version(), "fixed7");
  EXPECT_EQ(hello.games(0), "pods");
  EXPECT_EQ(hello.most_matches(), 3);
  EXPECT_TRUE(hello.extras().board());
  EXPECT_EQ(hello.extras().legal_moves_up_to(), 9);
  EXPECT_FALSE(hello.seeks() || hello.tournaments());
  EXPECT_EQ(stream->authorization, "Bearer secret");
  stream->say({match_item(), turn_item(0)});
  Act move = stream->read(Act::kMove);
  EXPECT_EQ(move.match_id(), "m1");
  EXPECT_EQ(move.move().ply(), 0);
  EXPECT_EQ(move.move().move(), "a");
  EXPECT_FALSE(move.move().has_comment());
  stream->receipt(move);
  stream->say({turn_item(2)});
  move = stream->read(Act::kMove);
  EXPECT_EQ(move.move().move(), "c");
  stream->receipt(move);
  stream->say({ended_item()});
  EXPECT_EQ(stream->read(Act::kAcknowledge).acknowledge().cursor(), "c1");
  stream->closed();
  playing.wait();
  EXPECT_EQ(bot.told.take("start"), "started m1");
  EXPECT_EQ(bot.told.take("end"), "ended m1 1.000000");
  const Turn first = bot.turns.take("turn");
  const Turn second = bot.turns.take("turn");
  EXPECT_EQ(first.position, "after 0");
  EXPECT_EQ(first.match, second.match);
  EXPECT_EQ(second.match->moves(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(second.match->terms().time_control, "1m+1s");
  EXPECT_TRUE(second.match->over());
}

TEST(Session, AResultIsAcknowledgedOnlyAfterTheCallback) {
  struct Slow : FixedBot {
    void ended(const FinishedMatch&) override {
      seen.open();
      go_on.wait();
    }
    Door seen, go_on;
  } bot;
  Peer peer;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->say({ended_item()});
  bot.seen.wait();
  stream->say({ping_item(5)});
  EXPECT_EQ(stream->read(Act::kPong).pong().number(), 5U);
  bot.go_on.open();
  EXPECT_EQ(stream->read(Act::kAcknowledge).acknowledge().cursor(), "c1");
}

TEST(Session, ResultsAreToldAtOnceAndAcknowledgedInTheirOrder) {
  struct FirstIsSlow : FixedBot {
    void ended(const FinishedMatch& finished) override {
      if (finished.match_id == "m1") {
        second_was_told.wait();
      } else {
        second_was_told.open();
      }
    }
    Door second_was_told;
  } bot;
  Peer peer;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->say({ended_item("m1", "c1"), ended_item("m2", "c2")});
  EXPECT_EQ(stream->read(Act::kAcknowledge).acknowledge().cursor(), "c1");
  EXPECT_EQ(stream->read(Act::kAcknowledge).acknowledge().cursor(), "c2");
}

TEST(Session, PingsAreAnsweredWhileTheBotThinks) {
  Peer peer;
  Thinker bot;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->say({turn_item(0)});
  bot.thinking.take("thought");
  for (std::uint64_t number = 0; number < 20; ++number) {
    stream->say({ping_item(number)});
    EXPECT_EQ(stream->read(Act::kPong).pong().number(), number);
  }
  bot.go_on.open();
  EXPECT_EQ(stream->read(Act::kMove).move().move(), "m1");
}

TEST(Session, AnUnansweredMoveIsSentAgainUnderTheSameId) {
  Peer peer;
  FixedBot bot;
  Playing playing(bot, peer);
  const auto first = peer.stream();
  first->meet();
  first->say({turn_item(0)});
  const Act sent = first->read(Act::kMove);
  first->end(draining());
  const auto second = peer.stream();
  second->meet();
  second->say({match_item(), turn_item(0)});
  const Act again = second->read(Act::kMove);
  EXPECT_EQ(again.SerializeAsString(), sent.SerializeAsString());
  second->receipt(again);
  second->receipt(again);       // told twice
  second->say({turn_item(0)});  // told late
  second->say({turn_item(2)});
  EXPECT_EQ(second->read(Act::kMove).move().ply(), 2);
  EXPECT_EQ(bot.turns.take("turn").ply, 0);
  EXPECT_EQ(bot.turns.take("turn").ply, 2);
  EXPECT_TRUE(bot.turns.empty());
}

TEST(Session, UnansweredRequestsKeepTheirOrder) {
  Peer peer;
  Scripted bot({say(OfferDraw("a")), say("b"), say("c")});
  Playing playing(bot, peer, [](PlayOptions& options) { options.thinkers = 1; });
  const auto first = peer.stream();
  first->meet();
  first->say({turn_item(0, "m1"), turn_item(0, "m2"), turn_item(0, "m3")});
  std::vector<std::string> sent;
  for (const auto kind : {Act::kOfferDraw, Act::kMove, Act::kMove, Act::kMove}) {
    sent.push_back(first->read(kind).SerializeAsString());
  }
  for (int i = 0; i < 3; ++i) {
    (i == 0 ? first : peer.stream())->end(draining());
  }
  const auto last = peer.stream();
  last->meet();
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(last->read(i == 0 ? Act::kOfferDraw : Act::kMove).SerializeAsString(), sent[i]);
  }
}

TEST(Session, AThoughtOutlivesItsStream) {
  Peer peer;
  Thinker bot;
  Playing playing(bot, peer);
  const auto first = peer.stream();
  first->meet();
  first->say({turn_item(0)});
  bot.thinking.take("thought");
  first->end();
  const auto second = peer.stream();
  second->meet();
  second->say({match_item(), turn_item(0), ping_item(1)});
  second->read(Act::kPong);
  bot.go_on.open();
  EXPECT_EQ(second->read(Act::kMove).move().move(), "m1");
  EXPECT_TRUE(bot.thinking.empty());
}

TEST(Session, AThoughtThatEndsWithoutAStreamIsSaidOnTheNext) {
  Peer peer;
  Thinker bot;
  Playing playing(bot, peer);
  const auto first = peer.stream();
  first->meet();
  first->say({turn_item(0)});
  bot.thinking.take("thought");
  first->end();
  const auto second = peer.stream();
  second->read(Act::kHello);
  bot.go_on.open();
  second->say({ping_item(1)});
  second->read(Act::kPong);
  v1::PlayItem hello;
  hello.mutable_hello()->set_player(PLAYER);
  second->say({hello});
  EXPECT_EQ(second->read(Act::kMove).move().move(), "m1");
}

TEST(Session, NothingButTheHelloGoesOutBeforeTheServers) {
  Peer peer;
  FixedBot bot;
  Playing playing(bot, peer);
  const auto first = peer.stream();
  first->meet();
  first->say({turn_item(0)});
  const Act sent = first->read(Act::kMove);
  first->end();
  const auto second = peer.stream();
  second->read(Act::kHello);
  second->say({ping_item(3)});
  second->read(Act::kPong);
  v1::PlayItem hello;
  hello.mutable_hello()->set_player(PLAYER);
  second->say({hello});
  EXPECT_EQ(second->read(Act::kMove).SerializeAsString(), sent.SerializeAsString());
}

TEST(Session, ASilentServerIsLeft) {
  Peer peer;
  FixedBot bot;
  const Logged logged;
  Playing playing(bot, peer);
  peer.stream()->meet(20);
  peer.stream()->meet();
  EXPECT_NE(logged.text().find("has been silent for 20 ms"), std::string::npos);
}

class Final : public ::testing::TestWithParam<std::pair<Reason, StatusCode>> {};

TEST_P(Final, EndsTheRunWithTheRefusal) {
  Peer peer;
  FixedBot bot;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->end(status_of(refusal(GetParam().first, GetParam().second)));
  try {
    playing.wait();
    FAIL() << "the run ended well";
  } catch (const ArbiterError& error) {
    EXPECT_EQ(error.reason(), GetParam().first);
  }
  EXPECT_FALSE(peer.has_stream());
}

INSTANTIATE_TEST_SUITE_P(Session, Final,
                         ::testing::Values(std::pair(Reason::SESSION_SUPERSEDED, StatusCode::ABORTED),
                                           std::pair(Reason::TOKEN_INVALID, StatusCode::UNAUTHENTICATED),
                                           std::pair(Reason::SCOPE_MISSING, StatusCode::PERMISSION_DENIED),
                                           std::pair(Reason::PLAYER_SUSPENDED, StatusCode::PERMISSION_DENIED),
                                           std::pair(Reason::GAME_UNKNOWN, StatusCode::INVALID_ARGUMENT),
                                           std::pair(Reason::MESSAGE_TOO_LARGE, StatusCode::RESOURCE_EXHAUSTED),
                                           std::pair(Reason::VERSION_UNSUPPORTED, StatusCode::FAILED_PRECONDITION)));

class Passing : public ::testing::TestWithParam<std::pair<Reason, StatusCode>> {};

TEST_P(Passing, IsConnectedToAgain) {
  Peer peer;
  FixedBot bot;
  const Logged quiet;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->end(status_of(refusal(GetParam().first, GetParam().second, {{"retry_after_ms", "1"}})));
  peer.stream()->meet();
}

INSTANTIATE_TEST_SUITE_P(Session, Passing,
                         ::testing::Values(std::pair(Reason::READER_TOO_SLOW, StatusCode::ABORTED),
                                           std::pair(Reason::SESSION_SILENT, StatusCode::ABORTED),
                                           std::pair(Reason::RATE_LIMITED, StatusCode::RESOURCE_EXHAUSTED),
                                           std::pair(Reason::DRAINING, StatusCode::UNAVAILABLE),
                                           std::pair(Reason::UNKNOWN, StatusCode::INTERNAL)));

TEST(Session, ANoticeSaysWhyAStreamEnds) {
  Peer peer;
  FixedBot bot;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  v1::PlayItem notice;
  *notice.mutable_notice() = refusal(Reason::SESSION_SUPERSEDED, StatusCode::ABORTED);
  stream->say({notice});
  stream->end();
  EXPECT_THROW(playing.wait(), ArbiterError);
}

TEST(Session, AResultToldAgainIsAcknowledgedAgainButNotToldAgain) {
  Peer peer;
  FixedBot bot;
  Playing playing(bot, peer);
  const auto first = peer.stream();
  first->meet();
  first->say({ended_item()});
  first->read(Act::kAcknowledge);
  first->end();
  const auto second = peer.stream();
  second->meet();
  second->say({ended_item()});
  EXPECT_EQ(second->read(Act::kAcknowledge).acknowledge().cursor(), "c1");
  bot.told.take("the end");
  EXPECT_TRUE(bot.told.empty());
}

TEST(Session, MovesThatATurnDoesNotCarryAreAskedFor) {
  Peer peer;
  FixedBot bot;
  for (const char* move : {"a", "b", "c", "d", "e", "f"}) peer.matches["m1"].add_moves(move);
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->say({turn_item(4, "m1", [](v1::Turn& turn) { turn.mutable_last_moves()->DeleteSubrange(0, 2); })});
  stream->read(Act::kMove);
  const Turn turn = bot.turns.take("turn");
  EXPECT_EQ(turn.line(), (Line{"pods", "", {"a", "b", "c", "d"}}));
  EXPECT_EQ(peer.asked().method, "GetMatch");
}

TEST(Session, UnknownItemsAndAnswersArePassedOver) {
  Peer peer;
  FixedBot bot;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  v1::PlayItem unknown;
  ASSERT_TRUE(
      unknown.ParseFromString("\xfa\x7f\x03"
                              "abc"));  // field 2047
  v1::PlayItem stray;
  stray.mutable_answer()->set_request_id("nobody's");
  stream->say({unknown, stray, v1::PlayItem(), turn_item(0)});
  EXPECT_EQ(stream->read(Act::kMove).move().move(), "a");
}

TEST(Session, NoServerIsOneClearSentence) {
  FixedBot bot;
  PlayOptions options;
  options.server = "127.0.0.1:1";
  options.token = "secret";
  options.patience = std::chrono::milliseconds(0);
  try {
    play(bot, options);
    FAIL() << "somebody answered";
  } catch (const ConnectionFailed& error) {
    EXPECT_EQ(std::string(error.what()).find("no arbiter answers at 127.0.0.1:1: is it running"), 0U);
  }
}

TEST(Session, AFirstTryThatTakesLongerThanThePatienceIsNotTheLast) {
  FixedBot bot;
  Peer peer;
  const std::chrono::milliseconds patience(200);
  const Logged quiet;
  Playing playing(bot, peer, [&](PlayOptions& options) { options.patience = patience; });
  const auto first = peer.stream();
  std::this_thread::sleep_for(patience);  // nothing to wait for: this is a slow machine
  first->end(grpc::Status(StatusCode::UNAVAILABLE, "away"));
  peer.stream()->meet();
}

TEST(Session, AStopSaysWhatIsToBeSaidAndTellsThoughts) {
  struct Endless : FixedBot {
    Choice choose(const Turn& turn) override {
      if (turn.match->id() == "m1") return "a";
      thinking.open();
      while (!turn.match->over()) std::this_thread::yield();
      told_of_the_end.open();
      return "never";
    }
    Door thinking, told_of_the_end;
  } bot;
  Peer peer;
  Playing playing(bot, peer);
  const auto stream = peer.stream();
  stream->meet();
  stream->say({turn_item(0, "m2"), turn_item(0, "m1")});
  bot.thinking.wait();
  EXPECT_EQ(stream->read(Act::kMove).move().move(), "a");
  playing.stop();
  bot.told_of_the_end.wait();
  stream->closed();
  playing.wait();
}

TEST(Session, AStopEndsTheWaitForAServerThatIsAway) {
  FixedBot bot;
  const Logged quiet;
  PlayOptions options;
  options.server = "127.0.0.1:1";
  options.token = "secret";
  options.patience = std::chrono::hours(1);
  Playing playing(bot, options);
  playing.stop();
  playing.wait();
}

}  // namespace
}  // namespace arbiter::testing
