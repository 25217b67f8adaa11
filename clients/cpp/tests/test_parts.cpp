// The parts that need no server: backoff, outbox, values, workers, timers, the command line.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "arbiter/channel.hpp"
#include "bots.hpp"
#include "outbox.hpp"
#include "timers.hpp"
#include "utf8.hpp"
#include "workers.hpp"

namespace arbiter::testing {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToTheMost) {
  Backoff whole(milliseconds(100), milliseconds(5000), [] { return 0.0; });
  for (const int expected : {100, 200, 400, 800, 1600, 3200, 5000, 5000}) EXPECT_EQ(whole.next().count(), expected);
  EXPECT_EQ(whole.next(milliseconds(7)).count(), 5007);
  whole.reset();
  EXPECT_EQ(whole.next().count(), 100);
}

TEST(Backoff, IsCutByUpToAHalf) {
  Backoff half(milliseconds(100), milliseconds(5000), [] { return 1.0; });
  EXPECT_EQ(half.next().count(), 50);
  Backoff any;
  for (int i = 0; i < 100; ++i) {
    const auto pause = any.next();
    EXPECT_GE(pause.count(), 50);
    EXPECT_LE(pause.count(), 5000);
  }
}

v1::PlayAct resign_act(const std::string& match_id) {
  v1::PlayAct act;
  act.set_match_id(match_id);
  act.mutable_resign();
  return act;
}

TEST(Outbox, SaysTheHelloFirstAndPongsBeforeTheRest) {
  Outbox outbox;
  const std::string early = outbox.request(resign_act("m1"));
  outbox.hold({});
  outbox.pong(1);
  auto said = outbox.next();
  ASSERT_EQ(said->acts_size(), 2);
  EXPECT_TRUE(said->acts(0).has_hello());
  EXPECT_TRUE(said->acts(1).has_pong());
  outbox.release();
  outbox.request(resign_act("m2"));
  outbox.pong(2);
  said = outbox.next();
  ASSERT_EQ(said->acts_size(), 3);
  EXPECT_EQ(said->acts(0).pong().number(), 2U);
  EXPECT_EQ(said->acts(1).request_id(), early);
  EXPECT_EQ(said->acts(2).match_id(), "m2");
}

TEST(Outbox, SaysAgainWhatWasNotAnsweredInItsOldOrder) {
  Outbox outbox;
  std::vector<std::string> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(outbox.request(resign_act(std::to_string(i))));
  outbox.answered(ids[1]);
  outbox.answered("nobody's");
  for (int stream = 0; stream < 2; ++stream) {
    outbox.hold({});
    outbox.next();
    outbox.release();
    const auto said = outbox.next();
    ASSERT_EQ(said->acts_size(), 11);
    EXPECT_EQ(said->acts(0).request_id(), ids[0]);
    EXPECT_EQ(said->acts(1).request_id(), ids[2]);
    EXPECT_EQ(said->acts(10).request_id(), ids[11]);
    outbox.drop();
    EXPECT_FALSE(outbox.next());
  }
}

TEST(Outbox, RepeatsOnTheSameStreamOnly) {
  Outbox outbox;
  outbox.hold({});
  outbox.next();
  outbox.release();
  const std::string id = outbox.request(resign_act("m1"));
  outbox.next();
  outbox.again(id, outbox.stream());
  outbox.again(id, outbox.stream());
  EXPECT_EQ(outbox.next()->acts_size(), 1);
  outbox.again(id, outbox.stream() - 1);
  outbox.close();
  EXPECT_FALSE(outbox.next());
}

TEST(Outbox, SaysEverythingBeforeItCloses) {
  Outbox outbox;
  outbox.hold({});
  outbox.release();
  outbox.request(resign_act("m1"));
  outbox.close();
  outbox.request(resign_act("m2"));
  EXPECT_EQ(outbox.next()->acts_size(), 2);
  EXPECT_FALSE(outbox.next());
}

TEST(Workers, DoEverythingAndGrowUpToTheirLimit) {
  std::atomic<int> done = 0;
  std::atomic<int> at_once = 0;
  std::atomic<int> most = 0;
  {
    Workers workers(3);
    for (int i = 0; i < 200; ++i) {
      workers.post([&] {
        const int now = ++at_once;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --at_once;
        ++done;
      });
    }
    workers.finish();
    workers.post([&] { ++done; });
  }
  EXPECT_EQ(done, 200);
  EXPECT_LE(most, 3);
}

TEST(Timers, CallInOrderAndNotAfterTheyStopped) {
  Timers timers;
  Mailbox<int> called;
  const auto now = MonotonicClock::now();
  timers.at(now + milliseconds(20), [&] { called.put(2); });
  timers.at(now + std::chrono::hours(1), [&] { called.put(3); });
  timers.at(now, [&] { called.put(1); });
  EXPECT_EQ(called.take("call"), 1);
  EXPECT_EQ(called.take("call"), 2);
  timers.stop();
  EXPECT_TRUE(called.empty());
}

TEST(Utf8, IsToldFromOtherBytes) {
  for (const char* good : {"", "a1-b2", "é", "€", "😀"}) EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\xff", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
  std::string text;
  for (const char32_t character : {U'a', U'é', U'€', U'😀'}) append_utf8(text, character);
  EXPECT_EQ(text, "aé€😀");
  EXPECT_EQ(first_characters(text, 3), "aé€");
  EXPECT_EQ(first_characters(text, 9), text);
}

TEST(Turn, KnowsHowLongItMayThink) {
  v1::Turn message;
  message.set_started_ms(1000);
  message.set_now_ms(1200);
  Turn turn(message, std::make_shared<LiveMatch>("m1", "pods", 1, "bob"));
  EXPECT_FALSE(turn.time_left());
  turn.available_ms = 5000;
  EXPECT_LE(turn.time_left()->count(), 4800);
  EXPECT_GT(turn.time_left()->count(), 3000);
  turn.received -= std::chrono::seconds(10);
  EXPECT_EQ(turn.time_left()->count(), 0);
}

TEST(FinishedMatch, KnowsItsScore) {
  FinishedMatch finished{"m1", "pods", 1, "bob", {}, "", nullptr};
  EXPECT_FALSE(finished.score());
  finished.result.set_kind(v1::RESULT_KIND_DRAW);
  EXPECT_EQ(finished.score(), 0.5);
  finished.result.set_kind(v1::RESULT_KIND_WIN);
  finished.result.set_winner(2);
  EXPECT_EQ(finished.score(), 0.0);
}

TEST(Bot, PlaysAVariantOrAGame) {
  FixedBot bot;
  bot.games = {"pods", "hop-it(size=5)"};
  EXPECT_TRUE(bot.plays("pods"));
  EXPECT_TRUE(bot.plays("pods(size=3)"));
  EXPECT_TRUE(bot.plays("hop-it(size=5)"));
  EXPECT_FALSE(bot.plays("hop-it"));
  bot.games = {};
  EXPECT_TRUE(bot.plays("hop-it"));
}

TEST(Reason, HasEveryNumberOfTheProtocol) {
  const auto* const numbers = v1::RefusalReason_descriptor();
  for (int i = 0; i < numbers->value_count(); ++i) {
    const int number = numbers->value(i)->number();
    EXPECT_EQ(static_cast<int>(reason_of(number)), number) << numbers->value(i)->name();
  }
  EXPECT_EQ(reason_of(9999), Reason::UNKNOWN);
  EXPECT_EQ(reason_of(-1), Reason::UNKNOWN);
}

TEST(Address, IsHostAndPort) {
  EXPECT_EQ(server_addresses(""), std::vector<std::string>{"127.0.0.1:7400"});
  EXPECT_EQ(server_addresses("[::1]:80"), std::vector<std::string>{"[::1]:80"});
  for (const char* wrong : {"here", ":80", "here:", "here:0", "here:65536", "here:8o"}) {
    EXPECT_THROW(server_addresses(wrong), ConnectionFailed) << wrong;
  }
}

// ---- the command line ----

int run_words(std::vector<std::string> arguments, const std::function<void(const CommandLine&)>& work,
              const std::string& words = "") {
  arguments.insert(arguments.begin(), "/bin/sample");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return run_command(static_cast<int>(pointers.size()), pointers.data(), "A sample.", words, work);
}

TEST(CommandLine, SaysEverythingThatTheEnvironmentCould) {
  FixedBot bot;
  const int status = run_words(
      {"--server",
       "here:1",
       "--name=alice",
       "--token",
       "t",
       "--games",
       "pods(size=5,x=1),hop-it",
       "--most-matches",
       "4",
       "--matches",
       "2",
       "--seek",
       "pods 1m+1s rated seat=2",
       "--seek",
       "hop-it",
       "--accept-seeks",
       "--enter-tournaments",
       "--root-certificate",
       "root.pem",
       "--client-certificate",
       "c.pem",
       "--client-key",
       "c.key",
       "match"},
      [&](const CommandLine& line) {
        line.adapt(bot);
        EXPECT_EQ(line.options.server + line.options.name + line.options.token, "here:1alicet");
        EXPECT_EQ(line.options.matches, 2);
        EXPECT_EQ(line.options.tls->root_certificate + line.options.tls->client_key, "root.pemc.key");
        EXPECT_EQ(line.words, std::vector<std::string>{"match"});
        EXPECT_EQ(line.client_options().name, "alice");
      },
      "[MATCH]");
  EXPECT_EQ(status, 0);
  EXPECT_EQ(bot.games, (std::vector<std::string>{"pods(size=5,x=1)", "hop-it"}));
  EXPECT_EQ(bot.most_matches, 4);
  EXPECT_EQ(bot.seeks[0].game() + ' ' + bot.seeks[0].time_control() + ' ' + bot.seeks[1].game(), "pods 1m+1s hop-it");
  EXPECT_TRUE(bot.seeks[0].rated() && !bot.seeks[1].rated());
  EXPECT_EQ(bot.seeks[0].seat(), 2);
  EXPECT_TRUE(bot.accept_seeks && bot.enter_tournaments);
}

TEST(CommandLine, LeavesTheBotAsItIsWhereNothingIsSaid) {
  FixedBot bot;
  EXPECT_EQ(run_words({}, [&](const CommandLine& line) { line.adapt(bot); }), 0);
  EXPECT_EQ(bot.games, std::vector<std::string>{"pods"});
  EXPECT_EQ(bot.most_matches, 3);
  EXPECT_FALSE(bot.accept_seeks || bot.enter_tournaments);
}

TEST(CommandLine, AMistakeGetsOneLine) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"--nope"}, "sample: there is no option --nope: --help lists them\n"},
      {{"--matches", "0"}, "sample: --matches: \"0\" is no number from 1 on\n"},
      {{"--matches", "many"}, "sample: --matches: \"many\" is no number from 1 on\n"},
      {{"--server"}, "sample: --server needs a value\n"},
      {{"--seek", " "}, "sample: --seek: a seek is for a game: expected GAME [TIME] [rated] [seat=1|2]\n"},
      {{"--seek", "pods 1m seat=3"},
       "sample: --seek: \"seat=3\" does not belong into a seek: expected GAME [TIME] [rated] [seat=1|2]\n"},
      {{"--accept-seeks=yes"}, "sample: --accept-seeks takes no value\n"},
      {{"word"}, "sample: \"word\" is no option: --help lists them\n"}};
  for (const auto& [arguments, text] : mistakes) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(run_words(arguments, [](const CommandLine&) {}), 1);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), text);
  }
}

TEST(CommandLine, HelpListsTheOptions) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_words({"--help"}, [](const CommandLine&) { FAIL(); }), 0);
  const std::string help = ::testing::internal::GetCapturedStdout();
  for (const char* option :
       {"--server HOST:PORT", "--seek TERMS", "--quiet ", "--enter-tournaments ", "--client-key FILE"}) {
    EXPECT_NE(help.find(option), std::string::npos) << option;
  }
}

}  // namespace
}  // namespace arbiter::testing
