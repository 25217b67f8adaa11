// Errors: refusals of the arbiter, failures to reach it, and failures of the bot.
#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace arbiter {

/// Why a request was refused, numbered as on the wire; the facts of each reason are in protos/arbiter/v1/refusal.proto.
enum class Reason {
  UNKNOWN = 0,  ///< newer than this client, or not from the arbiter: decide by the code
  MOVE_MALFORMED = 1,
  MOVE_ILLEGAL = 2,
  NOT_YOUR_TURN = 3,
  PLY_MISMATCH = 4,
  MATCH_NOT_ACTIVE = 5,
  SEAT_NOT_YOURS = 6,
  SCOPE_MISSING = 7,
  TOKEN_INVALID = 8,
  MATCH_NOT_FOUND = 9,
  PLAYER_NOT_FOUND = 10,
  TOKEN_NOT_FOUND = 11,
  CHALLENGE_NOT_FOUND = 12,
  REQUEST_ID_REUSED = 13,
  POSITION_MALFORMED = 14,
  GAME_UNKNOWN = 15,
  PARAMETER_INVALID = 16,
  ARGUMENT_INVALID = 17,
  DRAW_NOT_AVAILABLE = 18,
  PLAYER_EXISTS = 19,
  PLAYER_SUSPENDED = 20,
  REGISTRATION_CLOSED = 21,
  SESSION_SUPERSEDED = 22,
  READER_TOO_SLOW = 23,
  RATE_LIMITED = 24,
  BUDGET_SPENT = 25,
  MESSAGE_TOO_LARGE = 26,
  VERSION_UNSUPPORTED = 27,
  DRAINING = 28,
  STORE_UNAVAILABLE = 29,
  SESSION_SILENT = 30,
  TOURNAMENT_CLOSED = 31,
  TOURNAMENT_NOT_FOUND = 32,
  RECORD_DAMAGED = 33,
  TOURNAMENT_CHANGED = 34,
  RATINGS_CHANGED = 35,
};

/// The reason with a number of the protocol; UNKNOWN where it is newer than this client.
Reason reason_of(int number);

/// The name of a reason, as in the protocol: `MOVE_ILLEGAL`.
std::string to_string(Reason reason);

/// The base class of this library's exceptions. `what()` is a sentence for people.
class ClientError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;

  /// The status with which gRPC ended the call that failed; null where there was no such call.
  [[nodiscard]] const grpc::Status* status() const { return status_.get(); }

  /// Keeps the status of the call behind this error.
  void set_status(const grpc::Status& status) { status_ = std::make_shared<const grpc::Status>(status); }

 private:
  std::shared_ptr<const grpc::Status> status_;
};

/// A refusal of the arbiter: a reason, a sentence for people, and facts for programs.
class ArbiterError : public ClientError {
 public:
  ArbiterError(Reason reason, const std::string& message, grpc::StatusCode code,
               std::map<std::string, std::string> facts = {});

  [[nodiscard]] Reason reason() const { return reason_; }

  /// The sentence for people.
  [[nodiscard]] std::string message() const { return what(); }

  /// The status code (`grpc::StatusCode::NOT_FOUND`, …); decide by it if the reason is UNKNOWN.
  [[nodiscard]] grpc::StatusCode code() const { return code_; }

  /// The facts of the reason, as texts.
  [[nodiscard]] const std::map<std::string, std::string>& facts() const { return facts_; }

  /// Whether the same request may succeed later.
  [[nodiscard]] bool temporary() const;

  /// The pause that the arbiter asks for before the same request again; 0 if it asks for none.
  [[nodiscard]] std::chrono::milliseconds retry_after() const;

 private:
  Reason reason_;
  grpc::StatusCode code_;
  std::map<std::string, std::string> facts_;
};

/// No arbiter answers; the text says where, why, and what to do. The same request may succeed later.
class ConnectionFailed : public ClientError {
 public:
  using ClientError::ClientError;
};

/// A token, certificate or credentials file can't be used, or nobody said who plays; the text says which, and what to
/// do.
class CredentialsError : public ClientError {
 public:
  using ClientError::ClientError;
};

/// A bot threw an exception that ends its run (`OnError::raise`).
class BotFailed : public ClientError {
 public:
  BotFailed(const std::string& message, std::exception_ptr cause) : ClientError(message), cause_(std::move(cause)) {}

  /// The exception of the bot.
  [[nodiscard]] std::exception_ptr cause() const { return cause_; }

 private:
  std::exception_ptr cause_;
};

}  // namespace arbiter
