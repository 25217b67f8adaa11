// The queue of the bot's acts: sent in order, in batches, and repeated until they are answered.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "arbiter/v1/play.pb.h"

namespace arbiter {

/// Acts on their way to the server. A request keeps its id and is sent again on every new stream until its answer
/// arrives; a pong or an acknowledgement is sent only once. Between `hold` and `release` only the hello and pongs are
/// sent. Any thread may use it; one at a time calls `next`.
class Outbox {
 public:
  Outbox();

  /// Begins a new stream: sends the hello, and nothing else but pongs until `release`.
  void hold(const v1::ClientHello& hello);

  /// Continues after the server's hello: unanswered requests are sent again, in their old order.
  void release();

  /// Ends the stream: `next` returns nothing until a new one begins.
  void drop();

  /// Sends an act that will be answered, and returns its request id.
  std::string request(v1::PlayAct act);

  /// Sends an act that is not answered; it is lost if the stream breaks.
  void say(v1::PlayAct act);

  /// Sends a pong, before everything else.
  void pong(std::uint64_t number);

  /// The unanswered act with a request id.
  [[nodiscard]] std::optional<v1::PlayAct> unanswered(const std::string& request_id) const;

  /// Removes an act, which has been answered, from the list.
  void answered(const std::string& request_id);

  /// The number of the stream: 1 for the first one.
  [[nodiscard]] std::uint64_t stream() const;

  /// Sends an unanswered act again, unless a stream after the numbered one has done so.
  void again(const std::string& request_id, std::uint64_t stream);

  /// Lets `next` return nothing once everything has been sent; later acts are not sent.
  void close();

  /// Waits until there are acts to send, and returns all of them, pongs first; nothing where the stream is to end.
  std::optional<v1::PlayRequest> next();

 private:
  using Waiting = std::map<std::uint64_t, v1::PlayAct>;

  [[nodiscard]] Waiting::const_iterator find(const std::string& request_id) const;
  void push(v1::PlayAct act);

  const std::string prefix_;
  mutable std::mutex mutex_;  // guards the following members
  std::condition_variable ready_;
  std::vector<v1::PlayAct> urgent_;
  std::vector<v1::PlayAct> queue_;
  Waiting unanswered_;  // by the number that ends the request id
  std::uint64_t count_ = 0;
  std::uint64_t stream_ = 0;
  bool live_ = false;
  bool held_ = true;
  bool closed_ = false;
};

}  // namespace arbiter
