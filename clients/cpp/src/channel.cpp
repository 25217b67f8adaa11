#include "arbiter/channel.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "arbiter/errors.hpp"
#include "arbiter/log.hpp"
#include "environment.hpp"
#include "refusals.hpp"

namespace arbiter {

namespace {

thread_local CallGroup* current_group = nullptr;  // see WithinGroup

constexpr std::chrono::seconds WORTH_A_WORD{2};  // how long a wait is that people are told of
constexpr int LARGEST_MESSAGE_BYTES = 64 * 1024 * 1024;

std::string pem(const std::string& path) {
  if (path.empty()) return "";
  std::ifstream in(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) throw CredentialsError("can't read " + path + ": " + std::strerror(errno));
  return content;
}

std::shared_ptr<grpc::ChannelCredentials> credentials_for(const std::optional<Tls>& tls) {
  if (!tls || !tls->on) return grpc::InsecureChannelCredentials();
  if (tls->client_certificate.empty() != tls->client_key.empty()) {
    throw CredentialsError("a client certificate and its key go together: give both, or neither");
  }
  return grpc::SslCredentials({pem(tls->root_certificate), pem(tls->client_key), pem(tls->client_certificate)});
}

std::shared_ptr<grpc::Channel> open(const std::string& address, const std::optional<Tls>& tls) {
  constexpr std::array<std::string_view, 3> LOOPBACK = {"127.", "localhost:", "[::1]:"};
  const bool loopback = std::any_of(LOOPBACK.begin(), LOOPBACK.end(),
                                    [&](std::string_view beginning) { return address.starts_with(beginning); });
  grpc::ChannelArguments options;
  options.SetMaxReceiveMessageSize(LARGEST_MESSAGE_BYTES);
  options.SetMaxSendMessageSize(LARGEST_MESSAGE_BYTES);
  options.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  options.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  options.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  options.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);  // also the least time a handshake may take
  options.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  options.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, loopback ? 0 : 1);
  // Bots of one process must not share a connection: one slow reader would delay the others.
  options.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, credentials_for(tls), options);
}

using Channels = std::vector<std::shared_ptr<grpc::Channel>>;

Channels open(const std::vector<std::string>& addresses, const std::optional<Tls>& tls) {
  Channels channels;
  for (const std::string& address : addresses) channels.push_back(open(address, tls));
  return channels;
}

// What makes the stub of a service.
template <class Service>
constexpr auto STUB = [](const std::shared_ptr<grpc::Channel>& channel) { return Service::NewStub(channel); };

}  // namespace

std::optional<Tls> transport_security(const std::optional<Tls>& given) {
  if (given) return given;
  Tls found{environment("ARBITER_ROOT_CERTIFICATE"), environment("ARBITER_CLIENT_CERTIFICATE"),
            environment("ARBITER_CLIENT_KEY"), true};
  const bool none = found.root_certificate.empty() && found.client_certificate.empty() && found.client_key.empty();
  return none ? std::nullopt : std::optional(std::move(found));
}

Connection::Connection(std::vector<std::string> checked, std::string token, const std::optional<Tls>& tls,
                       std::chrono::milliseconds longest_call, std::chrono::milliseconds longest_wait)
    : addresses(std::move(checked)),
      timeout(longest_call),
      patience(longest_wait),
      channels(open(addresses.listed, tls)),
      server(addresses, channels, STUB<v1::ServerService>),
      games(addresses, channels, STUB<v1::GameService>),
      matches(addresses, channels, STUB<v1::MatchService>),
      play(addresses, channels, STUB<v1::PlayService>),
      players(addresses, channels, STUB<v1::PlayerService>),
      ratings(addresses, channels, STUB<v1::RatingService>),
      tournaments(addresses, channels, STUB<v1::TournamentService>),
      token_(std::move(token)) {
}

std::string Connection::token() const {
  const std::lock_guard lock(mutex_);
  return token_;
}

void Connection::set_token(std::string token) {
  const std::lock_guard lock(mutex_);
  token_ = std::move(token);
}

void Connection::make(const std::function<grpc::Status(grpc::ClientContext&)>& call, bool again) {
  const auto give_up = MonotonicClock::now() + patience;
  const auto is_late = [&](std::chrono::milliseconds length) {
    return length.count() > 0 && MonotonicClock::now() + length > give_up;
  };
  Tries tries(addresses);
  if (!again && addresses.listed.size() > 1) find();
  while (true) {
    const std::size_t place = addresses.place();
    const int before = greetings();
    grpc::Status status;
    {
      Call attempt(*this, timeout);
      status = call(attempt.context);
    }
    if (status.ok()) return;
    expect_open();
    if (current_group != nullptr) current_group->expect_wanted();
    std::chrono::milliseconds length{};
    const std::exception_ptr failure = from_status(status, addresses.listed[place]);
    if (was_away(failure)) ++outages_;
    try {
      std::rethrow_exception(failure);
    } catch (const ArbiterError& error) {
      length = tries.failed(place, error);
      const bool away = keeps_trying_ && error.code() == grpc::StatusCode::UNAVAILABLE;
      if (!again || !error.temporary()) throw;
      if (!away && is_late(length)) {
        tries.name_all();
        throw;
      }
    } catch (const ConnectionFailed& error) {
      length = tries.failed(place, error);
      if (!again) throw;
      if (!keeps_trying_ && is_late(length)) {
        tries.name_all();
        throw;
      }
      if (!keeps_trying_ && length.count() > 0 && patience >= WORTH_A_WORD) say_waiting(error.what());
    }
    rest(length, before, failure);
  }
}

// Makes an address current that answers, before a request that is not repeated.
void Connection::find() {
  try {
    ask(server, &v1::ServerService::Stub::GetServerInfo, v1::GetServerInfoRequest());
  } catch (const ArbiterError&) {
    return;  // it answers
  }
}

void Connection::say_waiting(const std::string& why) {
  const Level level = told_of_waiting_.exchange(true) ? Level::debug : Level::warning;
  log(level, why + "; trying for " + std::to_string(patience.count()) + " ms");
}

void Connection::pause(std::chrono::milliseconds length) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, length, [this] { return closed_; });
  throw_if_closed();
}

void Connection::greet() {
  keeps_trying_ = true;
  const std::lock_guard lock(mutex_);
  ++greetings_;
  changed_.notify_all();
}

int Connection::greetings() const {
  const std::lock_guard lock(mutex_);
  return greetings_;
}

void Connection::rest(std::chrono::milliseconds length, int greetings, const std::exception_ptr& error) {
  const bool asked = asks_for_pause(error);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, length, [&] { return closed_ || (!asked && greetings_ != greetings); });
  throw_if_closed();
}

void Connection::expect_open() const {
  const std::lock_guard lock(mutex_);
  throw_if_closed();
}

void Connection::throw_if_closed() const {
  if (closed_) throw ConnectionFailed("this client of " + addresses.current() + " is closed: make another one");
}

void Connection::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
  for (grpc::ClientContext* context : under_way_) context->TryCancel();
}

WithinGroup::WithinGroup(CallGroup& group) {
  current_group = &group;
}

WithinGroup::~WithinGroup() {
  current_group = nullptr;
}

void CallGroup::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  for (grpc::ClientContext* context : under_way_) context->TryCancel();
}

void CallGroup::expect_wanted() const {
  const std::lock_guard lock(mutex_);
  if (ended_) throw ConnectionFailed("the choice for which the server was asked is not needed any more");
}

Call::Call(Connection& connection, std::optional<std::chrono::milliseconds> timeout)
    : connection_(connection), group_(current_group) {
  if (group_ != nullptr) group_->expect_wanted();
  const std::lock_guard lock(connection.mutex_);
  connection.throw_if_closed();
  if (timeout) context.set_deadline(std::chrono::system_clock::now() + *timeout);
  if (!connection.token_.empty()) context.AddMetadata("authorization", "Bearer " + connection.token_);
  connection.under_way_.insert(&context);
  if (group_ == nullptr) return;
  const std::lock_guard group_lock(group_->mutex_);
  group_->under_way_.insert(&context);
  if (group_->ended_) context.TryCancel();
}

Call::~Call() {
  const std::lock_guard lock(connection_.mutex_);
  connection_.under_way_.erase(&context);
  if (group_ == nullptr) return;
  const std::lock_guard group_lock(group_->mutex_);
  group_->under_way_.erase(&context);
}

}  // namespace arbiter
