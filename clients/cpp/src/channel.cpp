#include "arbiter/channel.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "arbiter/backoff.hpp"
#include "arbiter/errors.hpp"
#include "arbiter/log.hpp"
#include "environment.hpp"
#include "refusals.hpp"

namespace arbiter {

namespace {

constexpr std::chrono::seconds WORTH_A_WORD{2};  // how long a wait is that people are told of
constexpr const char* DEFAULT_SERVER = "127.0.0.1:7400";
constexpr int LARGEST_MESSAGE_BYTES = 64 * 1024 * 1024;
constexpr int LARGEST_PORT = 65535;
constexpr std::size_t MOST_PORT_DIGITS = 5;

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
  // Bots that share a process shall not share a connection: one slow reader would hold up the others.
  options.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, credentials_for(tls), options);
}

bool is_port(std::string_view text) {
  const bool digits = !text.empty() && text.size() <= MOST_PORT_DIGITS &&
                      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  const int port = digits ? std::stoi(std::string(text)) : 0;
  return port > 0 && port <= LARGEST_PORT;
}

}  // namespace

std::string server_address(const std::string& given) {
  std::string address = given.empty() ? environment("ARBITER_SERVER") : given;
  if (address.empty()) address = DEFAULT_SERVER;
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || !is_port(std::string_view(address).substr(colon + 1))) {
    throw ConnectionFailed('"' + address + "\" is no address: write HOST:PORT, such as " + DEFAULT_SERVER);
  }
  return address;
}

std::optional<Tls> transport_security(const std::optional<Tls>& given) {
  if (given) return given;
  Tls found{environment("ARBITER_ROOT_CERTIFICATE"), environment("ARBITER_CLIENT_CERTIFICATE"),
            environment("ARBITER_CLIENT_KEY"), true};
  const bool none = found.root_certificate.empty() && found.client_certificate.empty() && found.client_key.empty();
  return none ? std::nullopt : std::optional(std::move(found));
}

Connection::Connection(std::string checked_address, std::string token, const std::optional<Tls>& tls,
                       std::chrono::milliseconds longest_call, std::chrono::milliseconds longest_wait)
    : address(std::move(checked_address)),
      timeout(longest_call),
      patience(longest_wait),
      channel(open(address, tls)),
      server(v1::ServerService::NewStub(channel)),
      games(v1::GameService::NewStub(channel)),
      matches(v1::MatchService::NewStub(channel)),
      play(v1::PlayService::NewStub(channel)),
      players(v1::PlayerService::NewStub(channel)),
      tournaments(v1::TournamentService::NewStub(channel)),
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
  Backoff backoff;
  while (true) {
    grpc::Status status;
    {
      Call attempt(*this, timeout);
      status = call(attempt.context);
    }
    if (status.ok()) return;
    expect_open();
    std::chrono::milliseconds length{};
    const std::exception_ptr failure = from_status(status, address);
    if (was_away(failure)) ++outages_;
    try {
      std::rethrow_exception(failure);
    } catch (const ArbiterError& error) {
      length = backoff.next(error.retry_after());
      const bool away = keeps_trying_ && error.code() == grpc::StatusCode::UNAVAILABLE;
      if (!again || !error.temporary() || (!away && MonotonicClock::now() + length > give_up)) throw;
    } catch (const ConnectionFailed& error) {
      length = backoff.next();
      if (!again || (!keeps_trying_ && MonotonicClock::now() + length > give_up)) throw;
      if (!keeps_trying_ && patience >= WORTH_A_WORD) say_waiting(error.what());
    }
    pause(length);
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

void Connection::expect_open() const {
  const std::lock_guard lock(mutex_);
  throw_if_closed();
}

void Connection::throw_if_closed() const {
  if (closed_) throw ConnectionFailed("this client of " + address + " is closed: make another one");
}

void Connection::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
  for (grpc::ClientContext* context : under_way_) context->TryCancel();
}

Call::Call(Connection& connection, std::optional<std::chrono::milliseconds> timeout) : connection_(connection) {
  const std::lock_guard lock(connection.mutex_);
  connection.throw_if_closed();
  if (timeout) context.set_deadline(std::chrono::system_clock::now() + *timeout);
  if (!connection.token_.empty()) context.AddMetadata("authorization", "Bearer " + connection.token_);
  connection.under_way_.insert(&context);
}

Call::~Call() {
  const std::lock_guard lock(connection_.mutex_);
  connection_.under_way_.erase(&context);
}

}  // namespace arbiter
