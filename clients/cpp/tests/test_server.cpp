// Against a real arbiter: whole matches, a killed server, transport security, the samples as programs.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <thread>

#include "arbiter/channel.hpp"
#include "arbiter_process.hpp"
#include "bots.hpp"
#include "folders.hpp"
#include "peer.hpp"

namespace arbiter::testing {
namespace {

namespace fs = std::filesystem;
using grpc::StatusCode;

// Plays the first legal move.
class First : public Bot {
 public:
  explicit First(std::string called) {
    name = std::move(called);
    extras.legal_moves_up_to = 40;
  }

  Choice choose(const Turn& turn) override {
    ++choices;
    return legal_moves(turn).front().text();
  }

  void ended(const FinishedMatch& finished) override { ends.put(finished); }

  std::atomic<int> choices = 0;
  Mailbox<FinishedMatch> ends;
};

PlayOptions at(const Arbiter& arbiter, const std::optional<int>& matches = std::nullopt) {
  PlayOptions options;
  options.server = arbiter.address();
  options.matches = matches;
  return options;
}

ClientOptions admin(const Arbiter& arbiter) {
  ClientOptions options;
  options.server = arbiter.address();
  options.token = arbiter.admin_token();
  options.patience = WAIT;
  return options;
}

// Makes a match; its players must be registered.
std::string make_match(Client& client, const std::string& game, const std::string& one, const std::string& two,
                       const std::string& time_control = "5m") {
  v1::CreateMatchRequest request;
  request.set_game(game);
  request.add_players(one);
  request.add_players(two);
  request.set_time_control(time_control);
  return client.create_match(request).match_id();
}

// Waits until players are there.
void await_players(Client& client, const std::vector<std::string>& names) {
  const auto give_up = MonotonicClock::now() + WAIT;
  Connection& connection = client.connection();
  for (const std::string& name : names) {
    v1::GetPlayerRequest request;
    request.set_name(name);
    while (true) {
      try {
        if (connection.ask(connection.players, &v1::PlayerService::Stub::GetPlayer, request).player().online()) break;
      } catch (const ArbiterError& error) {
        if (error.reason() != Reason::PLAYER_NOT_FOUND) throw;
      }
      ASSERT_LT(MonotonicClock::now(), give_up) << name << " did not come";
      client.connection().pause(std::chrono::milliseconds(20));
    }
  }
}

// One arbiter for all tests that leave it alive.
class Server : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { arbiter_ = std::make_unique<Arbiter>(); }
  static void TearDownTestSuite() { arbiter_.reset(); }

  Server() : client_(admin(*arbiter_)) {}

  static std::unique_ptr<Arbiter> arbiter_;
  Client client_;
};

std::unique_ptr<Arbiter> Server::arbiter_;

TEST_F(Server, TwoBotsPlayWholeMatchesAtOnce) {
  First anna("anna");
  First ben("ben");
  const std::vector<std::string> games = {"pods(size=3)", "pondlife", "hop-it", "circle-of-life(target=1)"};
  const auto count = static_cast<int>(games.size());
  Playing one(anna, at(*arbiter_, count));
  Playing two(ben, at(*arbiter_, count));
  await_players(client_, {"anna", "ben"});
  std::vector<std::string> ids;
  for (const std::string& game : games) ids.push_back(make_match(client_, game, "anna", "ben"));
  one.wait(PLAYED);
  two.wait(PLAYED);
  for (const std::string& id : ids) {
    const v1::Match match = client_.get_match(id, true);
    EXPECT_EQ(match.phase(), v1::PHASE_ENDED);
    EXPECT_EQ(match.result().cause(), v1::CAUSE_RULES) << match.game() << ": " << match.result().reason();
    EXPECT_EQ(match.moves_size(), match.ply());
  }
}

TEST_F(Server, AnIllegalMoveIsChosenAgain) {
  struct Clumsy : First {
    using First::First;
    Choice choose(const Turn& turn) override { return turn.ply < 2 && !turn.refused ? "z99" : First::choose(turn); }
    Choice refused(const Turn& turn, const ArbiterError& error) override {
      refusals.put(error.reason());
      return Bot::refused(turn, error);
    }
    Mailbox<Reason> refusals;
  } clumsy("clumsy");
  First partner("partner");
  const Logged quiet;
  Playing one(clumsy, at(*arbiter_, 1));
  Playing two(partner, at(*arbiter_, 1));
  await_players(client_, {"clumsy", "partner"});
  make_match(client_, "pods(size=3)", "clumsy", "partner");
  one.wait(PLAYED);
  two.wait(PLAYED);
  EXPECT_EQ(clumsy.refusals.take("a refusal"), Reason::MOVE_MALFORMED);
  EXPECT_EQ(partner.ends.take("the end").result.cause(), v1::CAUSE_RULES);
}

TEST_F(Server, TheNewestSessionOfAPlayerWins) {
  First older("twice");
  First newer("twice");
  Playing one(older, at(*arbiter_));
  await_players(client_, {"twice"});
  Playing two(newer, at(*arbiter_));
  try {
    one.wait();
    FAIL() << "the older session ended well";
  } catch (const ArbiterError& error) {
    EXPECT_EQ(error.reason(), Reason::SESSION_SUPERSEDED);
  }
}

TEST_F(Server, ABotComesToAMatchByASeekAndByAChallenge) {
  First seeker("seeker");
  v1::Terms terms;
  terms.set_game("pods(size=3)");
  terms.set_rated(true);
  seeker.seeks = {terms};
  seeker.most_matches = 1;
  seeker.games = {"pods"};
  First taker("taker");
  taker.accept_seeks = true;
  Playing one(seeker, at(*arbiter_, 1));
  Playing two(taker, at(*arbiter_, 1));
  one.wait(PLAYED);
  two.wait(PLAYED);
  EXPECT_EQ(taker.ends.take("the end").opponent, "seeker");
  const auto give_up = MonotonicClock::now() + WAIT;
  while (client_.get_leaderboard("pods(size=3)").size() < 2) {
    ASSERT_LT(MonotonicClock::now(), give_up) << "the players have no ratings";
    client_.connection().pause(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(client_.get_rating("seeker", "pods(size=3)").versions_size(), 1);

  First champion("champion");
  champion.games = {"pods"};
  Playing three(champion, at(*arbiter_, 1));
  await_players(client_, {"champion"});
  ClientOptions options;
  options.server = arbiter_->address();
  options.name = "seeker";  // its token is in the credentials file
  Client challenger(options);
  challenger.create_challenge("champion", terms);
  First again("seeker");
  Playing four(again, at(*arbiter_, 1));
  four.wait(PLAYED);
  three.wait(PLAYED);
}

TEST_F(Server, ABotEntersATournamentAndStandingsShowIt) {
  First eve("eve");
  First finn("finn");
  eve.enter_tournaments = finn.enter_tournaments = true;
  Playing one(eve, at(*arbiter_));
  Playing two(finn, at(*arbiter_));
  await_players(client_, {"eve", "finn"});
  Connection& connection = client_.connection();
  v1::CreateTournamentRequest request;
  request.set_request_id(new_request_id());
  request.mutable_spec()->set_name("Small cup");
  request.mutable_spec()->set_format(v1::TOURNAMENT_FORMAT_ROUND_ROBIN);
  request.mutable_spec()->add_games("pods(size=3)");
  request.mutable_spec()->set_time("1m");
  const std::string id = connection.ask(connection.tournaments, &v1::TournamentService::Stub::CreateTournament, request)
                             .tournament()
                             .tournament_id();
  const auto give_up = MonotonicClock::now() + WAIT;
  while (client_.get_tournament(id).entrants_size() < 2) {
    ASSERT_LT(MonotonicClock::now(), give_up) << "the bots did not enter";
    connection.pause(std::chrono::milliseconds(20));
  }
  v1::StartTournamentRequest start;
  start.set_request_id(new_request_id());
  start.set_tournament_id(id);
  connection.ask(connection.tournaments, &v1::TournamentService::Stub::StartTournament, start);
  eve.ends.take("a game of the tournament");
  finn.ends.take("a game of the tournament");
  EXPECT_EQ(client_.get_standings(id).rows_size(), 2);
  EXPECT_EQ(client_.list_tournaments().front().name(), "Small cup");
}

TEST_F(Server, RulesWithoutRulesCode) {
  const Line line{"pods", "", {}};
  const auto legal = client_.legal_moves(line);
  ASSERT_FALSE(legal.empty());
  const auto played = client_.play_moves(line.then(legal.front().text()), 1, true);
  EXPECT_EQ(played.positions_size(), 1);
  EXPECT_FALSE(played.positions(0).board().empty());
  EXPECT_EQ(client_.get_game("pods(size=3)").game(), "pods(size=3)");
  EXPECT_EQ(client_.server_info().software(), "arbiter");
  try {
    client_.legal_moves(line.then("z99"));
    FAIL() << "the move was legal";
  } catch (const ArbiterError& error) {
    EXPECT_EQ(error.facts().at("ply"), "0");
  }
}

TEST_F(Server, TheSamplesPlayEachOther) {
  const auto environment = [&](const std::string& name) {
    return std::map<std::string, std::string>{{"ARBITER_SERVER", arbiter_->address()}, {"ARBITER_NAME", name}};
  };
  const fs::path bin = samples_folder();
  const fs::path log = arbiter_->folder() / "samples.log";
  Process first({bin / "first_move"}, log, environment("sample-first"));
  Process search({bin / "search", "--matches", "1"}, log, environment("sample-search"));
  await_players(client_, {"sample-first", "sample-search"});
  const std::string id = make_match(client_, "pods(size=3)", "sample-first", "sample-search");
  Process observer({bin / "observer", id}, log,
                   {{"ARBITER_SERVER", arbiter_->address()}, {"ARBITER_TOKEN", arbiter_->admin_token()}});
  EXPECT_EQ(observer.line(), id + " 1: pods(size=3): sample-first against sample-search, 5m");
  EXPECT_EQ(observer.wait(), 0);
  EXPECT_EQ(search.wait(), 0);
  EXPECT_EQ(first.line().find("pods(size=3) against sample-search: "), 0U);
  first.tell(SIGTERM);
  EXPECT_EQ(first.wait(), 0);
}

TEST_F(Server, AProgramSaysItsMistakeInOneLine) {
  const fs::path log = arbiter_->folder() / "mistake.log";
  Process program({samples_folder() / "first_move", "--server", arbiter_->address(), "--token", "wrong"}, log);
  EXPECT_EQ(program.wait(), 1);
  std::ifstream in(log);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text.find("first_move: "), 0U) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST(KilledServer, MatchesEndProperlyAndWatchersMissNothing) {
  Arbiter arbiter;
  const Logged quiet;
  // Slow enough that the server dies in the middle of matches.
  struct Steady : First {
    using First::First;
    Choice choose(const Turn& turn) override {
      Choice choice = First::choose(turn);
      client().connection().pause(std::chrono::milliseconds(10));
      return choice;
    }
  };
  Steady anna("anna");
  Steady ben("ben");
  Playing one(anna, at(arbiter, 3));
  Playing two(ben, at(arbiter, 3));
  Client client(admin(arbiter));
  await_players(client, {"anna", "ben"});
  std::vector<std::string> ids;
  for (const char* game : {"pods", "pods(size=5)", "circle-of-life(target=1)"})
    ids.push_back(make_match(client, game, "anna", "ben"));
  Mailbox<int> seen;
  std::vector<v1::MatchEvent> events;
  std::jthread watcher([&] {
    Events stream = client.observe(ids[0]);
    for (const Event& item : stream) {
      events.push_back(item.event);
      seen.put(static_cast<int>(events.size()));
    }
    seen.put(0);
  });
  for (int life = 0; life < 2; ++life) {
    for (int i = 0; i < 6; ++i) {
      if (seen.take("an event") == 0) break;
    }
    arbiter.kill();
    arbiter.start();
  }
  one.wait(PLAYED);
  two.wait(PLAYED);
  watcher.join();
  ASSERT_FALSE(events.empty());
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].revision(), static_cast<std::int64_t>(i) + 1);
  EXPECT_TRUE(events.back().has_ended());
  for (const std::string& id : ids) {
    const v1::Match match = client.get_match(id, true);
    EXPECT_EQ(match.phase(), v1::PHASE_ENDED);
    EXPECT_EQ(match.result().cause(), v1::CAUSE_RULES) << match.game() << ": " << match.result().reason();
  }
}

TEST(SecureServer, IsTrustedByItsRootAndAsksForCertificates) {
  const fs::path folder = fs::path(std::getenv("ARBITER_TEST_FOLDER")) / "certificates";
  fs::create_directory(folder);
  const auto openssl = [&](const std::string& words) {
    run_program({"sh", "-c", "cd " + folder.string() + " && openssl " + words + " >/dev/null"}, folder);
  };
  const std::string key = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes ";
  openssl("req -x509" + key + "-keyout root.key -out root.pem -subj /CN=root -days 2");
  std::ofstream(folder / "names") << "subjectAltName=IP:127.0.0.1,DNS:localhost\n";
  for (const std::string name : {"server", "client"}) {
    openssl("req" + key + "-keyout " + name + ".key -out " + name + ".csr -subj /CN=" + name);
    openssl("x509 -req -in " + name + ".csr -out " + name +
            ".pem -CA root.pem -CAkey root.key -CAcreateserial -days 1 " + "-extfile names");
  }
  Arbiter arbiter({"--tls-certificate", folder / "server.pem", "--tls-key", folder / "server.key",
                   "--tls-client-authority", folder / "root.pem"});
  const Tls papers{folder / "root.pem", folder / "client.pem", folder / "client.key"};
  const auto options = [&](const std::optional<Tls>& tls) {
    ClientOptions made = admin(arbiter);
    made.tls = tls;
    made.patience = std::chrono::milliseconds(0);
    return made;
  };
  Client trusted(options(papers));
  EXPECT_EQ(trusted.server_info().software(), "arbiter");
  for (const std::optional<Tls>& wrong :
       {std::optional<Tls>(), std::optional<Tls>(Tls{folder / "root.pem", "", ""}), std::optional<Tls>(Tls{})}) {
    Client stranger(options(wrong));
    EXPECT_THROW(stranger.server_info(), ConnectionFailed);
  }
  EXPECT_THROW(Client{options(Tls{folder / "nowhere.pem", "", ""})}, CredentialsError);
  EXPECT_THROW(Client{options(Tls{"", folder / "client.pem", ""})}, CredentialsError);

  First anna("anna");
  PlayOptions playing = at(arbiter, 1);
  playing.tls = papers;
  Playing one(anna, playing);
  const std::map<std::string, std::string> environment = {{"ARBITER_SERVER", arbiter.address()},
                                                          {"ARBITER_NAME", "ben"},
                                                          {"ARBITER_ROOT_CERTIFICATE", papers.root_certificate},
                                                          {"ARBITER_CLIENT_CERTIFICATE", papers.client_certificate},
                                                          {"ARBITER_CLIENT_KEY", papers.client_key}};
  Process two({samples_folder() / "first_move"}, folder / "ben.log", environment);
  await_players(trusted, {"anna", "ben"});
  make_match(trusted, "pods(size=3)", "anna", "ben");
  one.wait(PLAYED);
}

}  // namespace
}  // namespace arbiter::testing
