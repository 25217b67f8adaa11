// Several addresses of one arbiter: the next one is tried where one is gone or about to stop.

#include <gtest/gtest.h>

#include "arbiter/addresses.hpp"
#include "bots.hpp"
#include "peer.hpp"

namespace arbiter::testing {
namespace {

using Act = v1::PlayAct;
using grpc::StatusCode;
using std::chrono::milliseconds;

constexpr const char* NOWHERE = "127.0.0.1:1";  // where nobody listens

const Facts LONG = {{"retry_after_ms", "60000"}};

grpc::Status draining() {
  return status_of(refusal(Reason::DRAINING, StatusCode::UNAVAILABLE, LONG));
}

ClientOptions at(const std::string& server, milliseconds patience = milliseconds(0)) {
  ClientOptions options;
  options.server = server;
  options.token = "secret";
  options.patience = patience;
  return options;
}

v1::ObserveItem event(std::int64_t revision) {
  v1::ObserveItem item;
  item.mutable_event()->set_match_id("m1");
  item.mutable_event()->set_revision(revision);
  return item;
}

std::string said_of(const std::string& server) {
  try {
    server_addresses(server);
  } catch (const ConnectionFailed& error) {
    return error.what();
  }
  return "";
}

TEST(Addresses, StandBetweenCommas) {
  EXPECT_EQ(server_addresses(" a:1 , [::1]:2,a:1"), (std::vector<std::string>{"a:1", "[::1]:2"}));
  const std::string how =
      "is no address: write HOST:PORT, such as 127.0.0.1:7400 or [::1]:7400, and commas between several";
  EXPECT_EQ(said_of("a:1,b"), "\"b\" (number 2 of 2) " + how);
  EXPECT_EQ(said_of("a:1,"), "\"\" (number 2 of 2) " + how);
  EXPECT_EQ(said_of("::1:7400"), "\"::1:7400\" " + how);
  EXPECT_EQ(said_of("a:1 b:2"), "\"a:1 b:2\" " + how);
}

TEST(Addresses, AreAllTriedBeforeThereIsAPause) {
  Addresses addresses({"a:1", "b:1", "c:1"});
  Tries tries(addresses);
  const ConnectionFailed gone("gone");
  EXPECT_GE(tries.failed(0, ArbiterError(Reason::RATE_LIMITED, "slower", StatusCode::RESOURCE_EXHAUSTED, LONG)),
            milliseconds(60'000));
  EXPECT_EQ(addresses.current(), "a:1");  // what is refused to one caller is no reason to leave
  tries.reset();
  EXPECT_EQ(tries.failed(0, gone), milliseconds(0));
  EXPECT_EQ(tries.failed(1, ArbiterError(Reason::DRAINING, "bye", StatusCode::UNAVAILABLE, LONG)), milliseconds(0));
  EXPECT_EQ(addresses.current(), "c:1");
  const milliseconds pause = tries.failed(2, gone);
  EXPECT_TRUE(pause > milliseconds(0) && pause <= milliseconds(100)) << pause.count();  // the least that is asked for
  EXPECT_EQ(addresses.current(), "a:1");
}

TEST(Addresses, ACallGoesOnAtTheNextOneAndNamesAllWhereNoneAnswers) {
  Peer peer;
  Client client(at(std::string(NOWHERE) + "," + peer.address));
  client.server_info();
  EXPECT_EQ(client.server(), peer.address);
  Client nobody(at(std::string(NOWHERE) + ",127.0.0.1:2"));
  try {
    nobody.server_info();
    FAIL() << "nobody is there";
  } catch (const ConnectionFailed& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("no arbiter answers at 127.0.0.1:1 (")) << text;
    EXPECT_NE(text.find("), nor at 127.0.0.1:2 ("), std::string::npos) << text;
    EXPECT_NE(error.status(), nullptr);
  }
}

TEST(Addresses, WatchingGoesOnAtTheNextOneAfterTheLastRevision) {
  Peer first;
  Peer second;
  first.observed.emplace_back(std::vector<v1::ObserveItem>{event(1)}, draining());
  second.observed.emplace_back(std::vector<v1::ObserveItem>{event(2)}, grpc::Status::OK);
  Client client(at(first.address + "," + second.address));
  Events events = client.observe("m1");
  EXPECT_EQ(events.next()->event.revision(), 1);
  EXPECT_EQ(events.next()->event.revision(), 2);
  EXPECT_FALSE(events.next());
  EXPECT_EQ(second.observe_requests.front().match().after_revision(), 1);
}

TEST(Addresses, ABotGoesOnAtTheNextOneWithTheMoveThatWasNotAnswered) {
  Peer first;
  Peer second;
  FixedBot bot;
  PlayOptions options;
  options.server = std::string(NOWHERE) + "," + first.address + "," + second.address;
  options.token = "secret";
  Playing playing(bot, options);
  auto stream = first.stream();
  stream->meet();
  stream->say({match_item(), turn_item(0)});
  const Act lost = stream->read(Act::kMove);
  stream->end(draining());
  stream = second.stream();
  stream->meet();
  EXPECT_EQ(stream->read(Act::kMove).SerializeAsString(), lost.SerializeAsString());
  stream->receipt(lost);
  stream->end(draining());
  first.stream()->meet();  // and back, past the one that is not there
}

}  // namespace
}  // namespace arbiter::testing
