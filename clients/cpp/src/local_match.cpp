#include "arbiter/local_match.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "arbiter/playing.hpp"
#include "child_process.hpp"
#include "entries.hpp"
#include "environment.hpp"

namespace arbiter {

// A bot in a local match: what it says of other matches does not count.
class LocalBot final : public Bot {
 public:
  explicit LocalBot(Bot& bot) : bot_(bot) {
    name = bot.name;
    version = bot.version;
    capabilities = bot.capabilities;
    extras = bot.extras;
    accept_challenges = false;
  }
  LocalBot(const LocalBot&) = delete;
  LocalBot& operator=(const LocalBot&) = delete;
  ~LocalBot() override = default;

  Choice choose(const Turn& turn) override { return bot_.choose(turn); }
  Choice refused(const Turn& turn, const ArbiterError& error) override { return bot_.refused(turn, error); }
  bool draw_offered(const DrawOffer& offer) override { return bot_.draw_offered(offer); }

  void started(const LiveMatch& match) override { bot_.started(match); }

  void ended(const FinishedMatch& finished) override {
    bot_.ended(finished);
    end = finished;
  }

  std::optional<FinishedMatch> end;

 private:
  void enter(Run& run) override {
    Bot::enter(run);
    bot_.enter(run);
  }

  void leave(Run& run) override {
    bot_.leave(run);
    Bot::leave(run);
  }

  Bot& bot_;
};

namespace {

constexpr std::chrono::seconds END_WAIT{10};  // time limit for the rules to end after their match
constexpr const char* ADMIN = "admin";
constexpr std::array PLAYERS = {"seat-1", "seat-2"};

// No transport security, whatever the environment says.
Tls plain() {
  return {"", "", "", false};
}

// The first error of the match. It stops both runs.
class FirstError {
 public:
  void set(const std::exception_ptr& error) {
    {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = error;
    }
    stop_.request_stop();
  }

  // Does a part of the work, which may fail.
  template <class Work>
  void attempt(Work work) {
    try {
      work();
    } catch (...) {
      set(std::current_exception());
    }
  }

  // Throws the error, if there is one.
  void check() const {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

  [[nodiscard]] std::stop_token stop() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  mutable std::mutex mutex_;  // guards the following member
  std::exception_ptr error_;
};

// A process of `arbiter rules serve`, with the address and the tokens that it says. Its end is an error of the match.
class Rules {
 public:
  Rules(const std::string& program, FirstError& error)
      : command_('`' + program + " rules serve`"),
        process_(start(program)),
        watcher_([this, &error] { watch(error); }) {
    std::string line;
    while (line.find('\n') == std::string::npos) {
      const std::string part = process_->output();
      if (part.empty()) break;
      line += part;
    }
    try {
      const credentials::Entries said = read_entries(line).entries;  // their form is that of a credentials file
      if (said.size() == 1) std::tie(server_, tokens_) = *said.begin();
    } catch (const std::invalid_argument&) {  // it has no address, then
    }
    if (!server_.empty()) return;
    end();
    watcher_.join();
    error.check();
  }
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;
  ~Rules() { end(); }

  void create_match(const std::string& game, const LocalOptions& options) const {
    ClientOptions about;
    about.server = server_;
    about.name = ADMIN;
    about.token = tokens_.at(ADMIN);
    about.tls = plain();
    v1::CreateMatchRequest request;
    request.set_game(game);
    for (const char* const player : PLAYERS) request.add_players(player);
    request.set_time_control(options.time_control);
    request.mutable_opening()->Assign(options.opening.begin(), options.opening.end());
    request.set_position(options.position);
    Client(about).create_match(request);
  }

  [[nodiscard]] PlayOptions options(const char* player) const {
    PlayOptions about;
    about.server = server_;
    about.name = player;
    about.token = tokens_.at(player);
    about.tls = plain();
    about.matches = 1;
    about.on_error = OnError::raise;
    return about;
  }

 private:
  [[nodiscard]] std::unique_ptr<ChildProcess> start(const std::string& program) const {
    try {
      return std::make_unique<ChildProcess>(std::vector<std::string>{program, "rules", "serve"});
    } catch (const std::system_error& error) {
      throw ConnectionFailed("can't start " + command_ + ": " + error.code().message() +
                             ": install game-arbiter, or name its command in ARBITER_COMMAND");
    }
  }

  // Reads its errors, and waits for its end.
  void watch(FirstError& error) {
    std::string last;
    for (std::string part = process_->errors(); !part.empty(); part = process_->errors()) {
      last += part;
      const std::size_t end = last.find_last_not_of("\r\n");
      const std::size_t begin = end == std::string::npos ? end : last.find_last_of("\r\n", end);
      if (begin != std::string::npos) last.erase(0, begin + 1);
    }
    last.erase(last.find_last_not_of("\r\n") + 1);
    const std::string how = process_->wait();
    const std::string text = command_ + " has ended before the match: " + how + (last.empty() ? "" : ": ") + last;
    error.set(std::make_exception_ptr(ConnectionFailed(text)));
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

  void end() {
    process_->close_input();
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, END_WAIT, [this] { return over_; })) process_->kill();
  }

  const std::string command_;
  const std::unique_ptr<ChildProcess> process_;
  std::string server_;
  std::map<std::string, std::string> tokens_;  // by player
  std::mutex mutex_;                           // guards the following members
  std::condition_variable changed_;
  bool over_ = false;
  std::jthread watcher_;
};

}  // namespace

FinishedMatch local_match(Bot& first, Bot& second, const std::string& game, const LocalOptions& options) {
  const std::string named = options.program.empty() ? environment("ARBITER_COMMAND") : options.program;
  FirstError error;
  const Rules rules(named.empty() ? "arbiter" : named, error);
  error.attempt([&] { rules.create_match(game, options); });
  error.check();
  LocalBot one(first);
  LocalBot two(second);
  std::jthread other([&] { error.attempt([&] { play(two, rules.options(PLAYERS[1]), error.stop()); }); });
  error.attempt([&] { play(one, rules.options(PLAYERS[0]), error.stop()); });
  other.join();
  error.check();
  return one.end.value();
}

}  // namespace arbiter
