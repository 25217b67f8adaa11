#include "session.hpp"

#include <algorithm>
#include <iomanip>
#include <memory>
#include <sstream>
#include <stop_token>
#include <thread>
#include <utility>

#include "arbiter/channel.hpp"
#include "arbiter/log.hpp"
#include "refusals.hpp"

namespace arbiter {

namespace {

constexpr const char* PROTOCOL_VERSION = "1.0";
constexpr const char* SOFTWARE = "arbiter-client-cpp";
constexpr std::chrono::seconds HELLO_WAIT{10};  // time limit for the server's hello

}  // namespace

bool passes(const ArbiterError& error) {
  // A new stream would end with the same reason, or is not wanted.
  const bool final = error.reason() == Reason::SESSION_SUPERSEDED || error.reason() == Reason::MESSAGE_TOO_LARGE;
  return !final && is_passing(error);
}

// Ends a stream once nothing has been heard on it for too long.
class Session::Watchdog : public std::enable_shared_from_this<Watchdog> {
 public:
  Watchdog(Timers& timers, grpc::ClientContext& context) : timers_(timers), context_(&context) {}

  // A message has arrived; the next one has to arrive within this time.
  void heard(std::chrono::milliseconds silence) {
    const std::lock_guard lock(mutex_);
    due_ = MonotonicClock::now() + silence;
    if (!armed_ || due_ < armed_for_) arm();
  }

  // Lets the stream be. Returns whether it had been ended.
  bool release() {
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
    return barked_;
  }

 private:
  void arm() {
    armed_ = true;
    armed_for_ = due_;
    timers_.at(due_, [self = shared_from_this()] { self->look(); });
  }

  void look() {
    const std::lock_guard lock(mutex_);
    if (context_ == nullptr || barked_) return;
    if (MonotonicClock::now() < due_) {
      arm();
      return;
    }
    barked_ = true;
    context_->TryCancel();
  }

  Timers& timers_;
  std::mutex mutex_;  // guards the following members
  grpc::ClientContext* context_;
  MonotonicClock::time_point due_;
  MonotonicClock::time_point armed_for_;
  bool armed_ = false;
  bool barked_ = false;
};

Session::Session(const Bot& bot, Connection& connection, Outbox& outbox, Runner& runner, Timers& timers,
                 std::chrono::milliseconds patience, const Hooks& hooks)
    : bot_(bot),
      connection_(connection),
      outbox_(outbox),
      runner_(runner),
      timers_(timers),
      patience_(patience),
      hooks_(hooks),
      tries_(connection.addresses) {
}

void Session::run() {
  auto give_up = MonotonicClock::time_point::max();
  while (true) {
    place_ = connection_.addresses.place();
    const std::exception_ptr error = one_stream();
    if (rest(std::chrono::milliseconds(0))) return;
    std::chrono::milliseconds pause{};
    std::string why;
    try {
      std::rethrow_exception(error);
    } catch (const ArbiterError& refusal) {
      if (!passes(refusal)) throw;
      pause = tries_.failed(place_, refusal);
      why = refusal.what();
      tell_lost(refusal);
    } catch (const ConnectionFailed& failure) {
      pause = tries_.failed(place_, failure);
      why = failure.what();
      tell_lost(failure);
    }
    if (!met_ && pause.count() > 0) {
      const auto now = MonotonicClock::now();
      give_up = std::min(give_up, now + patience_);
      if (now + pause > give_up) {
        tries_.name_all();
        std::rethrow_exception(error);
      }
      connection_.say_waiting(why);
    }
    if (rest(pause)) return;
  }
}

// Says that a connection is lost, which there was before.
void Session::tell_lost(const ClientError& error) {
  if (!met_) return;
  const Level level = outage_.failed();
  log(level,
      "connection lost, trying again at " + connection_.addresses.current() + " until it is back: " + error.what());
  if (level == Level::warning && hooks_.disconnected) {
    Callbacks::hook("disconnected", [&] { hooks_.disconnected(connection_.addresses.listed[place_], error); });
  }
}

// Says that there is a connection, and after how long it is back.
void Session::tell_connected(const std::string& player) {
  const std::string& address = connection_.addresses.listed[place_];
  std::ostringstream after;
  const auto lasted = outage_.over();
  if (lasted) {
    const double seconds = std::chrono::duration<double>(*lasted).count();
    after << " again, after " << std::fixed << std::setprecision(1) << seconds << " s";
  }
  log(lasted ? Level::warning : Level::info, "connected to " + address + " as " + player + after.str());
  if (hooks_.connected) Callbacks::hook("connected", [&] { hooks_.connected(address, player); });
}

void Session::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  outbox_.close();
  changed_.notify_all();
}

// Waits. Returns whether the session shall end.
bool Session::rest(std::chrono::milliseconds length) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, length, [this] { return stopping_; });
}

// Holds one stream for as long as it lasts, and returns why it ended.
std::exception_ptr Session::one_stream() {
  notice_.reset();
  silence_ = HELLO_WAIT;
  Call call(connection_);
  const auto watchdog = std::make_shared<Watchdog>(timers_, call.context);
  watchdog->heard(silence_);
  outbox_.hold(hello());
  const auto stream = connection_.play->Play(&call.context);
  std::jthread writer([&](const std::stop_token& stop) {
    const std::stop_callback end(stop, [&] { outbox_.drop(); });  // where the reader throws, too
    while (const auto request = outbox_.next()) {
      if (!stream->Write(*request)) return;  // the stream is over, and its reader has the reason
    }
    stream->WritesDone();
  });
  v1::PlayResponse response;
  while (stream->Read(&response)) {
    read(response);
    watchdog->heard(silence_);
  }
  outbox_.drop();
  writer.join();
  const grpc::Status status = stream->Finish();
  const std::string& address = connection_.addresses.listed[place_];
  if (watchdog->release()) {
    return std::make_exception_ptr(ConnectionFailed("the arbiter at " + address + " has been silent for " +
                                                    std::to_string(silence_.count()) + " ms"));
  }
  if (status.ok()) {
    return notice_ ? std::make_exception_ptr(*notice_)
                   : std::make_exception_ptr(ConnectionFailed("the arbiter at " + address + " ended the stream"));
  }
  const std::exception_ptr error = from_status(status, address);
  try {
    std::rethrow_exception(error);
  } catch (const ConnectionFailed&) {
    return notice_ ? std::make_exception_ptr(*notice_) : error;
  } catch (const ArbiterError&) {
    return error;
  }
}

void Session::read(const v1::PlayResponse& response) {
  for (const v1::PlayItem& item : response.items()) {
    if (item.has_ping()) {
      outbox_.pong(item.ping().number());
    } else if (item.has_hello()) {
      const std::chrono::milliseconds silence(item.hello().silence_most_ms());
      if (silence.count() > 0) silence_ = silence;
      met_ = true;
      tell_connected(item.hello().player());
      connection_.greet();
      tries_.reset();
      runner_.meet(item.hello());
      outbox_.release();
    } else if (item.has_notice()) {
      notice_ = from_refusal(item.notice());
      log(Level::info, std::string("the arbiter is about to end the stream: ") + notice_->what());
    } else {
      runner_.take(item);
    }
  }
}

v1::ClientHello Session::hello() const {
  v1::ClientHello hello;
  hello.set_protocol_version(PROTOCOL_VERSION);
  hello.set_software(SOFTWARE);
  hello.set_software_version(ARBITER_CLIENT_VERSION);
  hello.set_bot_name(bot_.name);
  hello.set_bot_version(bot_.version);
  hello.add_capabilities("ready");  // the client says when the bot is ready for a match
  for (const std::string& each : bot_.capabilities) hello.add_capabilities(each);
  hello.mutable_games()->Assign(bot_.games.begin(), bot_.games.end());
  hello.set_most_matches(bot_.most_matches);
  hello.mutable_extras()->set_board(bot_.extras.board);
  hello.mutable_extras()->set_legal_move_count(bot_.extras.legal_move_count);
  hello.mutable_extras()->set_legal_moves_up_to(bot_.extras.legal_moves_up_to);
  hello.mutable_extras()->set_steps(bot_.extras.steps);
  hello.set_seeks(bot_.accept_seeks);
  hello.set_tournaments(bot_.enter_tournaments);
  return hello;
}

}  // namespace arbiter
