// A scripted peer: a real gRPC server whose every word is the test's own.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "arbiter/arbiter.hpp"
#include "arbiter/v1/game.grpc.pb.h"
#include "arbiter/v1/match.grpc.pb.h"
#include "arbiter/v1/play.grpc.pb.h"
#include "arbiter/v1/player.grpc.pb.h"
#include "arbiter/v1/rating.grpc.pb.h"
#include "arbiter/v1/server.grpc.pb.h"
#include "arbiter/v1/tournament.grpc.pb.h"

namespace arbiter::testing {

constexpr const char* PLAYER = "alice";
constexpr std::chrono::seconds WAIT{600};   // only a test that hangs takes that long, however busy the machine
constexpr std::chrono::minutes PLAYED{20};  // the same, for whole matches

using Facts = std::map<std::string, std::string>;

/// A refusal as the arbiter writes it.
v1::Refusal refusal(Reason reason, grpc::StatusCode code, const Facts& facts = {});

/// The status of a call that ended with a refusal.
grpc::Status status_of(const v1::Refusal& refused);

/// A turn of match `match_id` whose line is a, b, c, … so far.
v1::PlayItem turn_item(int ply, const std::string& match_id = "m1", const std::function<void(v1::Turn&)>& change = {});

/// A running match of the player's, in seat 1.
v1::PlayItem match_item(const std::string& match_id = "m1", const std::function<void(v1::Match&)>& change = {});

/// A match that the player won in seat 1.
v1::PlayItem ended_item(const std::string& match_id = "m1", const std::string& cursor = "c1",
                        const std::string& opponent = "bob");

v1::PlayItem ping_item(std::uint64_t number);

/// Values that one thread waits for and others bring.
template <class Value>
class Mailbox {
 public:
  void put(Value value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }

  Value take(const std::string& what, std::chrono::seconds within = WAIT) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, within, [this] { return !values_.empty(); })) {
      throw std::runtime_error("waited in vain for " + what);
    }
    Value value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

  [[nodiscard]] bool empty() const {
    const std::lock_guard lock(mutex_);
    return values_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Value> values_;
};

/// One Play stream, seen from the server.
class Stream : public grpc::ServerBidiReactor<v1::PlayRequest, v1::PlayResponse>,
               public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(std::string authorization) : authorization(std::move(authorization)) {}

  const std::string authorization;  ///< what the bot sent as that metadata

  void begin();

  /// Sends items in one message.
  void say(const std::vector<v1::PlayItem>& items);

  /// The next thing that the bot says, which must be of this kind.
  v1::PlayAct read(v1::PlayAct::ActCase kind);

  /// Waits until the bot has ended its side; anything that it says before is a failure.
  void closed();

  /// Reads the bot's hello and answers it.
  v1::ClientHello meet(int silence_most_ms = 60'000);

  /// Says that a move was played.
  void receipt(const v1::PlayAct& act);

  /// Refuses a request.
  void refuse(const v1::PlayAct& act, Reason reason, grpc::StatusCode code, const Facts& facts = {});

  /// Ends the stream.
  void end(const grpc::Status& status = grpc::Status::OK);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  void go_on();

  std::shared_ptr<Stream> self_;
  v1::PlayRequest request_;
  Mailbox<std::optional<v1::PlayAct>> acts_;
  std::mutex mutex_;  // guards the following members
  std::deque<v1::PlayResponse> queue_;
  bool writing_ = false;
  std::optional<grpc::Status> status_;
  bool finished_ = false;
};

/// Something that a client asked for.
struct Asked {
  std::string method;
  std::string authorization;
  std::string what;  ///< the id or name that it was about
  std::string more;  ///< the reason or request id that came with it
};

/// A server that answers as the test says.
class Peer : public v1::PlayService::CallbackService {
 public:
  explicit Peer(std::shared_ptr<grpc::ServerCredentials> security = grpc::InsecureServerCredentials());
  ~Peer() override;

  std::string address;
  std::map<std::string, v1::Match> matches;                  ///< what GetMatch answers
  std::map<std::string, std::string> tokens;                 ///< players by token
  std::vector<std::string> legal;                            ///< what LegalMoves answers
  std::vector<v1::Challenge> open;                           ///< what ListChallenges answers
  std::map<std::string, std::deque<grpc::Status>> failures;  ///< what a method answers, before it answers well
  std::deque<std::pair<std::vector<v1::ObserveItem>, grpc::Status>> observed;  ///< streams of Observe
  std::deque<v1::ObserveRequest> observe_requests;
  std::atomic<bool> withholds = false;  ///< whether DeclineChallenge has no answer, until `release`

  void release();

  /// The next stream that a bot opens.
  std::shared_ptr<Stream> stream() { return streams_.take("a stream"); }
  [[nodiscard]] bool has_stream() const { return !streams_.empty(); }

  /// The next call that a client makes, of those that are remembered.
  Asked asked() { return asked_.take("a call"); }
  [[nodiscard]] bool has_asked() const { return !asked_.empty(); }

  grpc::ServerBidiReactor<v1::PlayRequest, v1::PlayResponse>* Play(grpc::CallbackServerContext* context) override;

 private:
  friend struct Services;

  void note(const std::string& method, const grpc::ServerContextBase& context, std::string what, std::string more = "");
  grpc::Status failure(const std::string& method);

  Mailbox<std::shared_ptr<Stream>> streams_;
  Mailbox<Asked> asked_;
  std::mutex mutex_;
  int count_ = 0;
  std::unique_ptr<struct Services> services_;
  std::unique_ptr<grpc::Server> server_;
};

/// A bot that plays for as long as this lives.
class Playing {
 public:
  Playing(Bot& bot, const Peer& peer, const std::function<void(PlayOptions&)>& change = {});
  Playing(Bot& bot, PlayOptions options);
  ~Playing();

  /// Waits for the end of the run. Throws what it throws.
  void wait(std::chrono::seconds within = WAIT);
  void stop() { thread_.request_stop(); }

 private:
  std::exception_ptr error_;
  Mailbox<bool> done_;
  std::jthread thread_;
};

/// What was logged since it was made.
class Logged {
 public:
  Logged();
  ~Logged();
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::vector<std::string> lines() const;  ///< without details

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace arbiter::testing
