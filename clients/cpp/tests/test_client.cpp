// Unary calls, and watching.

#include <gtest/gtest.h>

#include <thread>

#include "arbiter/channel.hpp"
#include "bots.hpp"
#include "peer.hpp"

namespace arbiter::testing {
namespace {

using grpc::StatusCode;

ClientOptions options_for(const Peer& peer, std::chrono::milliseconds patience = std::chrono::seconds(5)) {
  ClientOptions options;
  options.server = peer.address;
  options.token = "secret";
  options.patience = patience;
  return options;
}

v1::ObserveItem event(std::int64_t revision, const std::string& token = "") {
  v1::ObserveItem item;
  item.set_token(token);
  item.mutable_event()->set_match_id("m1");
  item.mutable_event()->set_revision(revision);
  return item;
}

grpc::Status unavailable() {
  return status_of(refusal(Reason::DRAINING, StatusCode::UNAVAILABLE, {{"retry_after_ms", "1"}}));
}

TEST(Client, TriesAgainWhileTheServerAsksForThat) {
  Peer peer;
  peer.failures["GetServerInfo"] = {unavailable(), grpc::Status(StatusCode::UNAVAILABLE, "gone")};
  Client client(options_for(peer));
  EXPECT_EQ(client.server_info().software(), "arbiter");
}

TEST(Client, GivesUpWhenItsPatienceIsOver) {
  Peer peer;
  peer.failures["GetServerInfo"] = {unavailable()};
  Client client(options_for(peer, std::chrono::milliseconds(0)));
  EXPECT_THROW(client.server_info(), ArbiterError);
}

TEST(Client, ARefusalIsAnErrorWithItsFacts) {
  Peer peer;
  Client client(options_for(peer));
  try {
    client.get_match("nowhere");
    FAIL() << "there was a match";
  } catch (const ArbiterError& error) {
    EXPECT_EQ(error.reason(), Reason::MATCH_NOT_FOUND);
    EXPECT_EQ(error.code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_FALSE(error.temporary());
  }
}

TEST(Client, ReadsAllPages) {
  Peer peer;
  for (const char* id : {"m1", "m2", "m3", "m4", "m5"}) peer.matches[id].set_match_id(id);
  Client client(options_for(peer));
  EXPECT_EQ(client.list_matches().size(), 5U);
  EXPECT_EQ(client.list_matches({}, 3).size(), 3U);
}

TEST(Client, CollectsTheChunksOfLegalMoves) {
  Peer peer;
  peer.legal = {"a", "b", "c"};
  Client client(options_for(peer));
  const auto moves = client.legal_moves(MatchPly{"m1", 4});
  ASSERT_EQ(moves.size(), 3U);
  EXPECT_EQ(moves[2].text(), "c");
  EXPECT_EQ(peer.asked().more, "4");
}

TEST(Client, WatchingGoesOnWhereItBrokeOff) {
  Peer peer;
  peer.observed = {{{event(1), event(2)}, unavailable()},
                   {{event(2), event(3)}, status_of(refusal(Reason::READER_TOO_SLOW, StatusCode::ABORTED))},
                   {{event(4)}, grpc::Status::OK}};
  const Logged quiet;
  Client client(options_for(peer));
  std::vector<std::int64_t> revisions;
  Events events = client.observe("m1");
  for (const Event& item : events) revisions.push_back(item.event.revision());
  EXPECT_EQ(revisions, (std::vector<std::int64_t>{1, 2, 3, 4}));
  ASSERT_EQ(peer.observe_requests.size(), 3U);
  EXPECT_EQ(peer.observe_requests[1].match().after_revision(), 2);
  EXPECT_EQ(peer.observe_requests[2].match().after_revision(), 3);
}

TEST(Client, WatchingEverythingResumesAfterItsToken) {
  Peer peer;
  v1::ObserveItem bookmark;
  bookmark.set_token("7");
  bookmark.mutable_bookmark();
  peer.observed = {{{event(1, "5"), bookmark}, unavailable()}, {{event(1, "8")}, grpc::Status::OK}};
  const Logged quiet;
  Client client(options_for(peer));
  Events events = client.observe_all();
  EXPECT_EQ(events.next()->token, "5");
  EXPECT_EQ(events.next()->token, "8");
  EXPECT_FALSE(events.next());
  EXPECT_EQ(peer.observe_requests[1].all().after_token(), "7");
}

TEST(Client, WatchingEndsWithARefusal) {
  Peer peer;
  peer.observed = {{{}, status_of(refusal(Reason::MATCH_NOT_FOUND, StatusCode::NOT_FOUND))}};
  Client client(options_for(peer));
  Events events = client.observe("nowhere");
  EXPECT_THROW(events.next(), ArbiterError);
}

TEST(Client, AClosedClientSaysSo) {
  Peer peer;
  Client client(options_for(peer));
  client.close();
  EXPECT_THROW(client.server_info(), ConnectionFailed);
  Events events = client.observe_all();
  EXPECT_THROW(events.next(), ConnectionFailed);
}

TEST(Client, OtherCallsGoOverTheSameConnection) {
  Peer peer;
  peer.matches["m1"].set_match_id("m1");
  Client client(options_for(peer));
  v1::GetMatchRequest request;
  request.set_match_id("m1");
  Connection& connection = client.connection();
  EXPECT_EQ(connection.ask(connection.matches, &v1::MatchService::Stub::GetMatch, request).match().match_id(), "m1");
  Call call(connection, connection.timeout);
  v1::GetMatchResponse response;
  EXPECT_TRUE(connection.matches->GetMatch(&call.context, request, &response).ok());
  EXPECT_EQ(peer.asked().authorization, "Bearer secret");
  EXPECT_EQ(peer.asked().authorization, "Bearer secret");
}

}  // namespace
}  // namespace arbiter::testing
