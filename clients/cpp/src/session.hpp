// The Play stream: connect, send the hello, answer pings, reconnect after a lost connection.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>

#include "arbiter/addresses.hpp"
#include "arbiter/bot.hpp"
#include "outage.hpp"
#include "outbox.hpp"
#include "runner.hpp"
#include "timers.hpp"

namespace arbiter {

/// A bot's session: one stream after another, until it is stopped or the server does not want it. The first connection
/// is given `patience`; one that is lost is tried again until it is back.
class Session {
 public:
  Session(const Bot& bot, Connection& connection, Outbox& outbox, Runner& runner, Timers& timers,
          std::chrono::milliseconds patience, const Hooks& hooks);

  /// Plays until `stop`: the calling thread reads. Throws ArbiterError if the server ends the session finally,
  /// ConnectionFailed.
  void run();

  /// Sends the last acts and ends the stream; `run` returns once the server has ended it too.
  void stop();

 private:
  class Watchdog;

  std::exception_ptr one_stream();
  void read(const v1::PlayResponse& response);
  void tell_lost(const ClientError& error);
  void tell_connected(const std::string& player);
  [[nodiscard]] v1::ClientHello hello() const;
  bool rest(std::chrono::milliseconds length);

  const Bot& bot_;
  Connection& connection_;
  Outbox& outbox_;
  Runner& runner_;
  Timers& timers_;
  const std::chrono::milliseconds patience_;
  const Hooks& hooks_;

  // What follows belongs to the reader.
  Tries tries_;
  std::size_t place_ = 0;                // of the stream's address
  std::chrono::milliseconds silence_{};  // how long the server may be silent
  bool met_ = false;
  Outage outage_;
  std::optional<ArbiterError> notice_;  // why the server is about to end the stream

  std::mutex mutex_;  // guards the following members
  std::condition_variable changed_;
  bool stopping_ = false;
};

/// Whether a new stream may do better than the one that ended with this error.
bool passes(const ArbiterError& error);

}  // namespace arbiter
