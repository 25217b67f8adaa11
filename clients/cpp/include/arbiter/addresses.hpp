// The addresses of one arbiter: which one is in use, and which one to try next if a call fails.
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
/// Throws ConnectionFailed for one that is not HOST:PORT.
std::vector<std::string> server_addresses(const std::string& given);

/// The addresses of one arbiter, all equivalent; a place is the index of one. All calls of a client use the current
/// one. Any thread may use it.
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

/// The attempts of one caller: at the next address at once, and after a pause once all addresses have failed.
class Tries {
 public:
  explicit Tries(Addresses& addresses) : addresses_(addresses) {}

  /// The pause after an attempt at a place: zero if another one is to be tried first. The next one is chosen if no
  /// arbiter answers at this one, or if it refuses every call for now.
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
