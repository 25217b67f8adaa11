// The addresses of one arbiter: which one is in use, and what a caller does where it is of no use for now.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arbiter/backoff.hpp"
#include "arbiter/errors.hpp"

namespace arbiter {

/// The addresses to connect to: those given, or those of ARBITER_SERVER, or 127.0.0.1:7400; commas stand between them.
/// Throws ConnectionFailed for one that is no HOST:PORT.
std::vector<std::string> server_addresses(const std::string& given);

/// The addresses of one arbiter, all equally good; a place is one's index. What uses them shares the current one. Any
/// thread may use it.
class Addresses {
 public:
  explicit Addresses(std::vector<std::string> all) : listed(std::move(all)) {}

  const std::vector<std::string> listed;

  /// The place of the address in use.
  [[nodiscard]] std::size_t place() const { return place_; }

  /// The address in use.
  [[nodiscard]] const std::string& current() const { return listed[place_]; }

  /// All of them, with commas between them.
  [[nodiscard]] std::string joined() const;

 private:
  friend class Tries;

  std::atomic<std::size_t> place_ = 0;
};

/// One caller's tries to be answered: at the next address at once, and once all have failed after a pause.
class Tries {
 public:
  explicit Tries(Addresses& addresses) : addresses_(addresses) {}

  /// How long to wait after a try at a place: not at all if another one is to be tried first. An address at which no
  /// arbiter answers, or one that refuses all for now, is left for the next one.
  std::chrono::milliseconds failed(std::size_t place, const ClientError& error);

  /// Throws a ConnectionFailed that names every address and its reason, if there are several and all have failed.
  void name_all() const;

  /// Starts again from the first pause, after a success.
  void reset();

 private:
  struct Failure {
    std::string why;
    std::chrono::milliseconds asked;
    std::shared_ptr<const grpc::Status> status;
  };

  Addresses& addresses_;
  Backoff backoff_;
  std::map<std::size_t, Failure> failed_;  // since the last pause, by place
};

/// A service's stub for each address; a call goes to the one in use.
template <class Stub>
class Current {
 public:
  template <class Channels, class Make>
  Current(const Addresses& addresses, const Channels& channels, Make make) : addresses_(addresses) {
    for (const auto& channel : channels) stubs_.push_back(make(channel));
  }

  Stub* operator->() const { return stubs_[addresses_.place()].get(); }

 private:
  const Addresses& addresses_;
  std::vector<std::unique_ptr<Stub>> stubs_;
};

}  // namespace arbiter
