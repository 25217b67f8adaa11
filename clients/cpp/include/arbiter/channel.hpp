// The connection to a server: address, transport security, token, and unary calls.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arbiter/addresses.hpp"
#include "arbiter/client.hpp"
#include "arbiter/v1/game.grpc.pb.h"
#include "arbiter/v1/match.grpc.pb.h"
#include "arbiter/v1/play.grpc.pb.h"
#include "arbiter/v1/player.grpc.pb.h"
#include "arbiter/v1/rating.grpc.pb.h"
#include "arbiter/v1/server.grpc.pb.h"
#include "arbiter/v1/tournament.grpc.pb.h"

namespace arbiter {

/// The transport security to use: the given one, or that of the environment, or none.
std::optional<Tls> transport_security(const std::optional<Tls>& given);

/// The connection to one arbiter, at one of its addresses at a time, with a token for every call. Any thread may use
/// it.
class Connection {
 public:
  /// Throws CredentialsError for a certificate that can't be read, or half a pair.
  Connection(std::vector<std::string> checked, std::string token, const std::optional<Tls>& tls,
             std::chrono::milliseconds longest_call, std::chrono::milliseconds longest_wait);

  Addresses addresses;
  const std::chrono::milliseconds timeout;                     ///< for one call
  const std::chrono::milliseconds patience;                    ///< how long `ask` tries a server that can't be reached
  const std::vector<std::shared_ptr<grpc::Channel>> channels;  ///< one for each address, opened by its first call

  /// The methods of each service, at the address in use; a call of theirs needs the context of a `Call`.
  const Current<v1::ServerService::Stub> server;
  const Current<v1::GameService::Stub> games;
  const Current<v1::MatchService::Stub> matches;
  const Current<v1::PlayService::Stub> play;
  const Current<v1::PlayerService::Stub> players;
  const Current<v1::RatingService::Stub> ratings;
  const Current<v1::TournamentService::Stub> tournaments;

  /// The token; empty if there is none.
  [[nodiscard]] std::string token() const;
  void set_token(std::string token);

  /// The answer to a request, as in `ask(matches, &v1::MatchService::Stub::Resign, request)`. With `again` it is sent
  /// again while the server can't be reached, for `patience`, and to each address at least once: only what may be
  /// carried out twice, or carries its id. Throws ArbiterError and ConnectionFailed.
  template <class Stub, class Request, class Answer>
  Answer ask(const Current<Stub>& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Answer*),
             const Request& request, bool again = true) {
    Answer answer;
    make([&](grpc::ClientContext& context) { return ((*stub.operator->()).*method)(&context, request, &answer); },
         again);
    return answer;
  }

  /// Makes a call, as `ask` does.
  void make(const std::function<grpc::Status(grpc::ClientContext&)>& call, bool again = true);

  /// Notes that a Play stream has begun: whoever waits for the arbiter waits no longer. From now on `make` and `ask`
  /// try an unreachable server without a limit, instead of for `patience`: a bot must not lose a match because its
  /// choice made a call during an outage.
  void greet();

  /// How many Play streams have begun.
  [[nodiscard]] int greetings() const;

  /// How many calls have failed because the arbiter was away or busy.
  [[nodiscard]] int outages() const { return outages_; }

  /// Logs once that the client waits for a server that was never reached, and for how long.
  void say_waiting(const std::string& why);

  /// Waits, or throws ConnectionFailed once the connection is closed.
  void pause(std::chrono::milliseconds length);

  /// Pauses after an error, but no longer than until a Play stream begins, since a clock may run from then on; it
  /// pauses longer where the arbiter is there, and asks for the pause. `greetings`: how many had begun before the
  /// attempt that failed. Throws as `pause`.
  void rest(std::chrono::milliseconds length, int greetings, const std::exception_ptr& error);

  /// Throws ConnectionFailed once the connection is closed.
  void expect_open() const;

  /// Ends all calls under way; they and later ones throw ConnectionFailed.
  void close();

 private:
  friend class Call;

  void throw_if_closed() const;
  void find();

  std::atomic<bool> keeps_trying_ = false;
  std::atomic<bool> told_of_waiting_ = false;
  std::atomic<int> outages_ = 0;
  mutable std::mutex mutex_;  // guards the following members
  std::condition_variable changed_;
  std::string token_;
  std::set<grpc::ClientContext*> under_way_;
  int greetings_ = 0;
  bool closed_ = false;
};

/// The calls that a thread makes for one choice: they end once the choice is not needed any more. Any thread may use
/// it.
class CallGroup {
 public:
  /// Ends all calls under way; they and later ones throw ConnectionFailed.
  void end();

  /// Throws ConnectionFailed once the calls are ended.
  void expect_wanted() const;

 private:
  friend class Call;

  mutable std::mutex mutex_;  // guards the following members
  std::set<grpc::ClientContext*> under_way_;
  bool ended_ = false;
};

/// Has the calls of this thread belong to a group for as long as this lives.
class WithinGroup {
 public:
  explicit WithinGroup(CallGroup& group);
  WithinGroup(const WithinGroup&) = delete;
  WithinGroup& operator=(const WithinGroup&) = delete;
  ~WithinGroup();
};

/// The context of one call: it carries the token, and ends with the connection, and with the group of its thread.
class Call {
 public:
  /// Without a timeout the call has no time limit. Throws ConnectionFailed if the connection is closed.
  explicit Call(Connection& connection, std::optional<std::chrono::milliseconds> timeout = std::nullopt);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  grpc::ClientContext context;

 private:
  Connection& connection_;
  CallGroup* const group_;
};

}  // namespace arbiter
