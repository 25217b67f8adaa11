// The bot's methods: what its answers become, and what its errors and refusals cost.

#include <gtest/gtest.h>

#include <thread>

#include "bots.hpp"
#include "peer.hpp"

namespace arbiter::testing {
namespace {

using Act = v1::PlayAct;
using grpc::StatusCode;

// A bot that plays on a peer, once both have said hello.
struct Table {
  explicit Table(Bot& bot, const std::function<void(PlayOptions&)>& change = {})
      : playing(bot, peer, change), stream(peer.stream()) {
    stream->meet();
  }

  void refuse(const Act& act) { stream->refuse(act, Reason::MOVE_ILLEGAL, StatusCode::FAILED_PRECONDITION); }

  Peer peer;
  Logged logged;
  Playing playing;
  std::shared_ptr<Stream> stream;
};

TEST(Bot, SaysWhatItExpects) {
  Scripted bot({say(Move("a1", 612, {"a1", "b2"})), say(Move("c3", 1001, {"c3", "é"})), say(Move("d4", -1))});
  Table table(bot);
  std::vector<v1::MoveAct> moves;
  for (int i = 0; i < 3; ++i) {
    table.stream->say({turn_item(0, "m" + std::to_string(i))});
    moves.push_back(table.stream->read(Act::kMove).move());
  }
  EXPECT_EQ(moves[0].comment().evaluation(), 612);
  EXPECT_EQ(moves[0].comment().line_size(), 2);
  EXPECT_FALSE(moves[1].comment().has_evaluation());
  EXPECT_EQ(moves[1].comment().line_size(), 1);  // what does not fit costs nothing but itself
  EXPECT_FALSE(moves[2].has_comment());
}

TEST(Bot, ARefusedMoveIsChosenAgainWithTheRefusal) {
  Scripted bot({say("bad"), say("good")});
  Table table(bot);
  table.stream->say({turn_item(0)});
  const Act bad = table.stream->read(Act::kMove);
  table.stream->refuse(bad, Reason::MOVE_ILLEGAL, StatusCode::FAILED_PRECONDITION, {{"strikes_left", "3"}});
  table.stream->say({turn_item(0)});  // told again meanwhile
  const Act good = table.stream->read(Act::kMove);
  EXPECT_EQ(good.move().move(), "good");
  EXPECT_NE(good.request_id(), bad.request_id());
  ASSERT_TRUE(bot.turns[1].refused);
  EXPECT_EQ(bot.turns[1].refused->reason(), Reason::MOVE_ILLEGAL);
  EXPECT_EQ(bot.turns[1].refused->facts().at("strikes_left"), "3");
}

TEST(Bot, TheSecondRefusalOfATurnResigns) {
  Scripted bot({say("bad"), say("worse")});
  Table table(bot);
  table.stream->say({turn_item(0)});
  table.refuse(table.stream->read(Act::kMove));
  table.refuse(table.stream->read(Act::kMove));
  EXPECT_EQ(table.stream->read(Act::kResign).match_id(), "m1");
  EXPECT_NE(table.logged.text().find("it resigns"), std::string::npos);
}

TEST(Bot, ItsOwnAnswerToARefusalIsSent) {
  struct Stubborn : Scripted {
    using Scripted::Scripted;
    Choice refused(const Turn&, const ArbiterError& error) override { return to_string(error.reason()); }
  } bot({say("bad")});
  Table table(bot);
  table.stream->say({turn_item(0)});
  table.refuse(table.stream->read(Act::kMove));
  EXPECT_EQ(table.stream->read(Act::kMove).move().move(), "MOVE_ILLEGAL");
}

TEST(Bot, ATemporaryRefusalSendsTheSameRequestAgain) {
  Scripted bot({say("a")});
  Table table(bot);
  table.stream->say({turn_item(0)});
  const Act sent = table.stream->read(Act::kMove);
  table.stream->refuse(sent, Reason::STORE_UNAVAILABLE, StatusCode::UNAVAILABLE, {{"retry_after_ms", "1"}});
  EXPECT_EQ(table.stream->read(Act::kMove).SerializeAsString(), sent.SerializeAsString());
}

TEST(Bot, AnUnknownReasonIsTreatedByItsCode) {
  Scripted bot({say("a")});
  Table table(bot);
  table.stream->say({turn_item(0)});
  const Act sent = table.stream->read(Act::kMove);
  v1::PlayItem item;
  item.mutable_answer()->set_request_id(sent.request_id());
  v1::Refusal& unknown = *item.mutable_answer()->mutable_refusal();
  unknown.set_reason(static_cast<v1::RefusalReason>(999));
  unknown.set_code(StatusCode::RESOURCE_EXHAUSTED);
  (*unknown.mutable_facts())["retry_after_ms"] = "1";
  table.stream->say({item});
  EXPECT_EQ(table.stream->read(Act::kMove).SerializeAsString(), sent.SerializeAsString());
}

TEST(Bot, AMoveThatCameTooLateCostsNothing) {
  Scripted bot({say("a"), say("b")});
  Table table(bot);
  table.stream->say({turn_item(0)});
  table.stream->refuse(table.stream->read(Act::kMove), Reason::PLY_MISMATCH, StatusCode::ABORTED);
  table.stream->say({turn_item(2)});
  EXPECT_EQ(table.stream->read(Act::kMove).move().move(), "b");
}

TEST(Bot, AnExceptionResignsThatMatchLoudly) {
  Scripted bot({fail("oops"), say("a"), say("\xff")});
  Table table(bot);
  table.stream->say({turn_item(0)});
  EXPECT_EQ(table.stream->read(Act::kResign).match_id(), "m1");
  table.stream->say({turn_item(0, "m2")});
  EXPECT_EQ(table.stream->read(Act::kMove).match_id(), "m2");
  table.stream->say({turn_item(0, "m3")});
  EXPECT_EQ(table.stream->read(Act::kResign).match_id(), "m3");
  const std::string text = table.logged.text();
  EXPECT_NE(text.find("scripted failed in match m1 at ply 0, and it resigns: oops"), std::string::npos) << text;
  EXPECT_NE(text.find("a move that is not UTF-8"), std::string::npos) << text;
}

// Throws an error of the client inside an exception of the bot's.
template <class Error>
Choice wrapped(const Error& error) {
  try {
    throw error;
  } catch (const Error&) {
    std::throw_with_nested(std::runtime_error("no idea"));
  }
}

TEST(Bot, IsAskedAgainWhereTheArbiterWasAway) {
  Scripted bot(
      {[]() -> Choice { throw ConnectionFailed("away"); },
       [] {
         try {
           return wrapped(ConnectionFailed("away"));
         } catch (const std::exception&) {
           std::throw_with_nested(std::logic_error("deeper"));
         }
       },
       [] { return wrapped(ArbiterError(Reason::STORE_UNAVAILABLE, "busy", StatusCode::UNAVAILABLE)); },
       [] { return wrapped(ArbiterError(Reason::UNKNOWN, "channel closed", StatusCode::UNKNOWN)); }, say("a"),
       [] { return wrapped(ArbiterError(Reason::MOVE_ILLEGAL, "not here", StatusCode::FAILED_PRECONDITION)); }});
  Table table(bot);
  table.stream->say({turn_item(0)});
  EXPECT_EQ(table.stream->read(Act::kMove).move().move(), "a");
  table.stream->say({turn_item(0, "m2")});
  EXPECT_EQ(table.stream->read(Act::kResign).match_id(), "m2");
}

TEST(Bot, IsAskedAgainWhereACallFailedMeanwhileThoughItLostTheError) {
  struct Forgetful : Bot {
    Forgetful() { name = "forgetful"; }
    Choice choose(const Turn&) override {
      client().server_info();
      if (++asked == 1) throw std::runtime_error("it did not work");
      return "a";
    }
    int asked = 0;
  } bot;
  Table table(bot);
  table.peer.failures["GetServerInfo"] = {
      status_of(refusal(Reason::STORE_UNAVAILABLE, StatusCode::UNAVAILABLE, {{"retry_after_ms", "1"}}))};
  table.stream->say({turn_item(0)});
  EXPECT_EQ(table.stream->read(Act::kMove).move().move(), "a");
  EXPECT_EQ(bot.asked, 2);
}

TEST(Bot, SaysWhereItPlaysAndHowItsMatchesBeginAndEnd) {
  FixedBot bot;
  Table table(bot);
  table.stream->say({match_item("m1"), ended_item("m1")});
  table.stream->read(Act::kAcknowledge);
  const std::string text = table.logged.text();
  EXPECT_NE(text.find("m1 begins: pods as seat 1 against bob"), std::string::npos) << text;
  EXPECT_NE(text.find("m1 has ended: won, by "), std::string::npos) << text;
}

TEST(Bot, AnExceptionEndsTheRunWhereThatIsWanted) {
  Scripted bot({fail("oops")});
  Table table(bot, [](PlayOptions& options) { options.on_error = OnError::raise; });
  table.stream->say({turn_item(0)});
  try {
    table.playing.wait();
    FAIL() << "the run ended well";
  } catch (const BotFailed& error) {
    EXPECT_STREQ(error.what(), "scripted failed in match m1 at ply 0: oops");
    EXPECT_THROW(std::rethrow_exception(error.cause()), std::runtime_error);
  }
}

TEST(Bot, AnExceptionMayLeaveTheClockRunning) {
  Scripted bot({fail("oops"), say("a")});
  Table table(bot, [](PlayOptions& options) { options.on_error = OnError::wait; });
  table.stream->say({turn_item(0), turn_item(0, "m2")});
  EXPECT_TRUE(table.stream->read(Act::kMove).has_move());
}

TEST(Bot, AnExceptionInACallbackIsLogged) {
  struct Broken : FixedBot {
    void started(const LiveMatch&) override { throw std::runtime_error("no start"); }
    void ended(const FinishedMatch&) override { throw 5; }
  } bot;
  Table table(bot);
  table.stream->say({match_item(), turn_item(0)});
  table.stream->read(Act::kMove);
  table.stream->say({ended_item()});
  table.stream->read(Act::kAcknowledge);
  const std::string text = table.logged.text();
  EXPECT_NE(text.find("fixed failed in started: no start"), std::string::npos) << text;
  EXPECT_NE(text.find("fixed failed in ended: something that is no std::exception"), std::string::npos) << text;
}

TEST(Bot, DrawsAreOfferedClaimedAndAnswered) {
  struct Drawish : Scripted {
    using Scripted::Scripted;
    bool draw_offered(const DrawOffer& offer) override { return offer.match->opponent() == "bob"; }
  } bot({say(OfferDraw("a")), say(ClaimDraw()), say(Resign())});
  Table table(bot);
  table.stream->say({turn_item(0)});
  EXPECT_EQ(table.stream->read(Act::kOfferDraw).match_id(), "m1");
  table.stream->receipt(table.stream->read(Act::kMove));
  v1::PlayItem offered;
  offered.mutable_draw_offered()->set_match_id("m1");
  table.stream->say({offered});
  EXPECT_TRUE(table.stream->read(Act::kAnswerDraw).answer_draw().accept());
  table.stream->say({turn_item(2, "m1", [](v1::Turn& turn) {
    turn.set_draw_claim("repetition");
    turn.set_draw_offered(true);
  })});
  const Act claim = table.stream->read(Act::kClaimDraw);  // the offer has been answered
  table.stream->refuse(claim, Reason::DRAW_NOT_AVAILABLE, StatusCode::FAILED_PRECONDITION);
  table.stream->read(Act::kResign);
}

TEST(Bot, AnOfferIsDeclinedByDefault) {
  Scripted bot({});
  Table table(bot);
  table.stream->say({match_item("m1", [](v1::Match& match) { match.set_draw_offered_by(2); })});
  EXPECT_FALSE(table.stream->read(Act::kAnswerDraw).answer_draw().accept());
}

TEST(Bot, MatchesArePlayedAtOnceUpToTheLimit) {
  Thinker bot;
  Table table(bot, [](PlayOptions& options) { options.thinkers = 2; });
  for (const char* id : {"m0", "m1", "m2", "m3"}) table.stream->say({turn_item(0, id)});
  bot.thinking.take("a thought");
  bot.thinking.take("another thought");
  table.stream->say({ping_item(1)});
  table.stream->read(Act::kPong);
  EXPECT_TRUE(bot.thinking.empty());
  EXPECT_EQ(bot.playing(), 4);
  bot.go_on.open();
  for (int i = 0; i < 4; ++i) {
    const Act move = table.stream->read(Act::kMove);
    EXPECT_EQ(move.move().move(), move.match_id());
  }
}

TEST(Bot, CallbacksOfOneMatchWaitForNoOther) {
  struct Slow : FixedBot {
    void started(const LiveMatch& match) override {
      if (match.id() != "quick") go_on.wait();
    }
    Door go_on;
  } bot;
  Table table(bot);
  for (int i = 0; i < 40; ++i) table.stream->say({match_item("slow" + std::to_string(i))});
  table.stream->say({match_item("quick"), turn_item(0, "quick")});
  EXPECT_EQ(table.stream->read(Act::kMove).match_id(), "quick");
  bot.go_on.open();
}

TEST(Bot, CallbacksOfOneMatchComeOneAfterTheOther) {
  struct Careful : Thinker {
    void started(const LiveMatch&) override { order.put("started"); }
    Choice choose(const Turn& turn) override {
      order.put("chose");
      return Thinker::choose(turn);
    }
    bool draw_offered(const DrawOffer&) override {
      order.put("offered");
      return false;
    }
    void ended(const FinishedMatch&) override { order.put("ended"); }
    Mailbox<std::string> order;
  } bot;
  Table table(bot);
  v1::PlayItem offered;
  offered.mutable_draw_offered()->set_match_id("m1");
  table.stream->say({turn_item(0)});
  bot.thinking.take("a thought");
  table.stream->say({offered, ping_item(1)});
  table.stream->read(Act::kPong);
  EXPECT_EQ(bot.order.take("callback"), "started");
  EXPECT_EQ(bot.order.take("callback"), "chose");
  EXPECT_TRUE(bot.order.empty());
  bot.go_on.open();
  table.stream->read(Act::kMove);
  table.stream->read(Act::kAnswerDraw);
  table.stream->say({ended_item()});
  table.stream->read(Act::kAcknowledge);
  EXPECT_EQ(bot.order.take("callback"), "offered");
  EXPECT_EQ(bot.order.take("callback"), "ended");
}

TEST(Bot, ATurnMayComeBeforeTheReceiptOfTheMoveThatLedToIt) {
  Scripted bot({say("a"), say("b"), say("c")});
  Table table(bot);
  const auto mine = [](v1::Turn& turn) { turn.set_seat(1); };
  table.stream->say({turn_item(0)});
  const Act first = table.stream->read(Act::kMove);
  table.stream->say({turn_item(0), turn_item(1, "m1", mine)});
  const Act second = table.stream->read(Act::kMove);
  table.stream->receipt(first);
  table.stream->say({turn_item(1, "m1", mine)});
  table.stream->receipt(second);
  table.stream->say({turn_item(2, "m1", mine)});
  EXPECT_EQ(table.stream->read(Act::kMove).move().move(), "c");
  EXPECT_EQ(bot.turns.size(), 3U);
}

TEST(Bot, ALaterTurnEndsTheThoughtOfAnOlderOne) {
  struct Patient : Bot {
    Choice choose(const Turn& turn) override {
      if (turn.ply == 0) {
        thinking.open();
        while (!turn.stale()) std::this_thread::yield();
        EXPECT_FALSE(turn.match->over());
      }
      return std::to_string(turn.ply);
    }
    Door thinking;
  } bot;
  bot.name = "patient";
  Table table(bot);
  table.stream->say({turn_item(0)});
  bot.thinking.wait();
  table.stream->say({turn_item(2)});
  EXPECT_EQ(table.stream->read(Act::kMove).move().move(), "2");
}

TEST(Bot, ALaterTurnEndsTheCallsOfAnOlderOne) {
  struct Asking : Bot {
    Choice choose(const Turn& turn) override {
      if (turn.ply == 0) client().get_rating("nobody");  // has no answer
      return std::to_string(turn.ply);
    }
  } bot;
  bot.name = "asking";
  Table table(bot);
  table.stream->say({turn_item(0)});
  EXPECT_EQ(table.peer.asked().what, "nobody");
  table.stream->say({turn_item(2)});
  EXPECT_EQ(table.stream->read(Act::kMove).move().move(), "2");
}

TEST(Bot, BothSeatsOfAMatchAgainstItself) {
  struct Twofold : Bot {
    Choice choose(const Turn& turn) override {
      auto* const plies = std::any_cast<int>(&turn.match->memory);
      turn.match->memory = plies == nullptr ? 1 : *plies + 1;
      return Move(std::string(1, static_cast<char>('a' + turn.ply)), std::nullopt,
                  {"seat" + std::to_string(turn.seat)});
    }
    void ended(const FinishedMatch& finished) override {
      EXPECT_EQ(finished.seat, 1);
      EXPECT_EQ(std::any_cast<int>(finished.match->memory), 2);
      EXPECT_TRUE(finished.match->over());
    }
  } bot;
  bot.name = "twofold";
  Table table(bot, [](PlayOptions& options) { options.matches = 1; });
  table.stream->say({match_item("m1", [](v1::Match& match) { match.set_players(1, PLAYER); })});
  Act last;
  for (int ply = 0; ply < 4; ++ply) {
    table.stream->say({turn_item(ply, "m1", [](v1::Turn& turn) { turn.set_opponent(PLAYER); })});
    const Act move = table.stream->read(Act::kMove);
    EXPECT_EQ(move.move().comment().line(0), ply % 2 == 0 ? "seat1" : "seat2");
    if (ply > 0) table.stream->receipt(last);  // the answer to a move comes after the turn that it led to
    last = move;
  }
  table.refuse(last);
  EXPECT_EQ(table.stream->read(Act::kMove).move().comment().line(0), "seat2");
  table.stream->say({ended_item("m1", "c1", PLAYER)});
  EXPECT_EQ(table.stream->read(Act::kAcknowledge).acknowledge().cursor(), "c1");
  table.stream->closed();
  table.playing.wait();
}

TEST(Bot, TheEndOfAMatchStopsItsThought) {
  struct Endless : Bot {
    Choice choose(const Turn& turn) override {
      thinking.open();
      while (!turn.match->over()) std::this_thread::yield();
      return "never";
    }
    Door thinking;
  } bot;
  bot.name = "endless";
  Table table(bot);
  table.stream->say({turn_item(0)});
  bot.thinking.wait();
  table.stream->say({ended_item()});
  EXPECT_TRUE(table.stream->read(Act::kAcknowledge).has_acknowledge());
}

TEST(Bot, MayAskTheServerForLegalMoves) {
  struct Asking : Bot {
    Choice choose(const Turn& turn) override { return legal_moves(turn).back().text(); }
  } bot;
  bot.name = "asking";
  Table table(bot);
  table.peer.legal = {"x", "y"};
  table.stream->say({turn_item(0)});
  EXPECT_EQ(table.stream->read(Act::kMove).move().move(), "y");
  const Asked asked = table.peer.asked();
  EXPECT_EQ(asked.what + asked.more, "m10");
  EXPECT_EQ(asked.authorization, "Bearer secret");
  table.stream->say({turn_item(0, "m2", [](v1::Turn& turn) { turn.add_legal_moves()->set_text("z"); })});
  EXPECT_EQ(table.stream->read(Act::kMove).move().move(), "z");
}

TEST(Bot, AnOutageInTheMiddleOfAThoughtCostsNothing) {
  struct Asking : Bot {
    Choice choose(const Turn&) override { return client().server_info().software(); }
  } bot;
  bot.name = "asking";
  Table table(bot, [](PlayOptions& options) { options.patience = std::chrono::milliseconds(0); });
  table.peer.failures["GetServerInfo"] = {
      grpc::Status(StatusCode::UNAVAILABLE, "gone"),
      status_of(refusal(Reason::DRAINING, StatusCode::UNAVAILABLE, {{"retry_after_ms", "1"}}))};
  table.stream->say({turn_item(0)});
  EXPECT_EQ(table.stream->read(Act::kMove).move().move(), "arbiter");
}

TEST(Bot, HasNoClientBeforeItPlays) {
  FixedBot bot;
  EXPECT_THROW(static_cast<void>(bot.client()), std::logic_error);
}

}  // namespace
}  // namespace arbiter::testing
