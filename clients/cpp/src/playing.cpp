#include "arbiter/playing.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "arbiter/channel.hpp"
#include "arbiter/credentials.hpp"
#include "environment.hpp"
#include "outbox.hpp"
#include "runner.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "time_control.hpp"
#include "timers.hpp"

namespace arbiter {

namespace {

constexpr std::chrono::seconds WITHDRAWAL_WAIT{2};  // time limit for withdrawing the bot's seeks
constexpr std::chrono::seconds FAREWELL_WAIT{5};    // time limit for the server to end the stream after the bot

// Throws the arbiter's refusal for what is no time control: with it, the bot would wait for a match in vain.
void check_time_controls(const Bot& bot) {
  std::vector<std::string> all = bot.time_controls;
  for (const v1::Terms& terms : bot.seeks) {
    if (!terms.time_control().empty()) all.push_back(terms.time_control());
  }
  for (const std::string& what : all) {
    try {
      canonical_time_control(what);
    } catch (const std::invalid_argument& error) {
      const std::string name = bot.name.empty() ? "the bot" : bot.name;
      const std::map<std::string, std::string> facts = {
          {"what", what}, {"where", "time"}, {"allowed", std::string(TIME_CONTROLS_ALLOWED)}};
      throw ArbiterError(Reason::PARAMETER_INVALID, name + ": " + error.what(), grpc::StatusCode::INVALID_ARGUMENT,
                         facts);
    }
  }
}

void register_player(Client& client, const std::string& name, const std::string& invitation) {
  if (name.empty()) {
    throw CredentialsError(
        "who plays? Give a name to register (--name or ARBITER_NAME), or a token (--token or ARBITER_TOKEN)");
  }
  try {
    client.server_info();
  } catch (const ArbiterError&) {
    // The server answers. A registration is not repeated, so the call before it waits for the server.
  }
  std::string token;
  try {
    token = client.register_player(name, "", invitation).token();
  } catch (const ArbiterError& error) {
    if (error.reason() != Reason::PLAYER_EXISTS) throw;
    throw ArbiterError(error.reason(),
                       "there is a player " + name +
                           " already: give its token (--token or ARBITER_TOKEN) or another name; " +
                           credentials::path().string() + " has none for it",
                       error.code(), error.facts());
  }
  credentials::save(client.servers(), name, token);
  client.connection().set_token(token);
}

// Makes sure that there is a token: registers the player if none is known, and again if the server does not know the
// stored one, because it has a new database. With a token that the user gave, the credentials file is not read.
void find_token(Client& client, const std::string& name, const PlayOptions& options) {
  if (!options.token.empty() || !environment("ARBITER_TOKEN").empty()) return;
  if (client.connection().token().empty()) return register_player(client, name, options.invitation);
  try {
    client.myself();
  } catch (const ArbiterError& error) {
    if (error.reason() != Reason::TOKEN_INVALID) throw;
    client.connection().set_token("");
    register_player(client, name, options.invitation);
  }
}

// How a run ends: the first word on it counts.
class Ending {
 public:
  void set(const std::exception_ptr& error) {
    const std::lock_guard lock(mutex_);
    if (!over_) error_ = error;
    over_ = true;
    changed_.notify_all();
  }

  std::exception_ptr wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_; });
    return error_;
  }

 private:
  std::mutex mutex_;  // guards the following members
  std::condition_variable changed_;
  bool over_ = false;
  std::exception_ptr error_;
};

}  // namespace

void play(Bot& bot, const PlayOptions& options, const std::stop_token& stop) {
  check_time_controls(bot);
  std::string name = options.name.empty() ? environment("ARBITER_NAME") : options.name;
  if (name.empty()) name = bot.name;
  Client client({.server = options.server,
                 .token = options.token,
                 .name = name,
                 .tls = options.tls,
                 .timeout = ClientOptions().timeout,
                 .patience = options.patience});
  try {
    const std::stop_callback interrupt(stop, [&] { client.close(); });
    find_token(client, name, options);
  } catch (const ConnectionFailed&) {
    if (!stop.stop_requested()) throw;
  }
  if (stop.stop_requested()) return;

  Ending ending;
  Timers timers;
  Outbox outbox;
  Runner runner(bot, client, outbox, timers, options, [&](const std::exception_ptr& error) { ending.set(error); });
  Session session(bot, client.connection(), outbox, runner, timers, options.patience, options.hooks);
  std::jthread reader([&] {
    try {
      session.run();
      ending.set(nullptr);
    } catch (...) {
      ending.set(std::current_exception());
    }
  });
  const std::stop_callback told(stop, [&] { ending.set(nullptr); });
  const std::exception_ptr error = ending.wait();

  const auto farewell = [&] {
    session.stop();
    timers.at(MonotonicClock::now() + FAREWELL_WAIT, [&] { client.close(); });
  };
  timers.at(MonotonicClock::now() + WITHDRAWAL_WAIT, farewell);
  runner.stop(farewell);
  reader.join();
  runner.join();
  timers.stop();
  if (error) std::rethrow_exception(error);
}

void run(Bot& bot, const PlayOptions& options) {
  std::stop_source source;
  const Signals signals([&] { source.request_stop(); });
  play(bot, options, source.get_token());
}

}  // namespace arbiter
