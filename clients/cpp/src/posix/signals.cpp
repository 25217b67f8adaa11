#include "../signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace arbiter {

namespace {

constexpr int FOR_EVER = -1;
constexpr int GRACE_MS = 10'000;
constexpr std::array WATCHED = {SIGINT, SIGTERM};

int pipe_in = -1;  // where the handler writes the number of a signal; a 0 ends the thread

void write_number(int number) {
  const auto byte = static_cast<unsigned char>(number);
  while (::write(pipe_in, &byte, 1) < 0 && errno == EINTR) {
  }
}

void handle(int number) {
  const int kept = errno;
  write_number(number);
  errno = kept;
}

}  // namespace

struct Signals::State {
  explicit State(std::function<void()> work) : told(std::move(work)) {
    if (::pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category());
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    pipe_in = ends[1];
    struct sigaction action {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < WATCHED.size(); ++i) ::sigaction(WATCHED[i], &action, &before[i]);
    thread = std::jthread([this] { watch(); });
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ~State() {
    restore();
    write_number(0);
    thread.join();
    for (const int end : ends) ::close(end);
  }

  void restore() const {
    for (std::size_t i = 0; i < WATCHED.size(); ++i) ::sigaction(WATCHED[i], &before[i], nullptr);
  }

  // The next number from the pipe, or -1 where none comes in time.
  [[nodiscard]] int next(int within_ms) const {
    pollfd waiting{ends[0], POLLIN, 0};
    const int ready = ::poll(&waiting, 1, within_ms);
    if (ready < 0 && errno == EINTR) return next(within_ms);
    unsigned char number = 0;
    return ready > 0 && ::read(ends[0], &number, 1) == 1 ? number : -1;
  }

  void watch() const {
    const int first = next(FOR_EVER);
    if (first <= 0) return;
    told();
    if (next(GRACE_MS) == 0) return;
    std::signal(first, SIG_DFL);
    ::kill(::getpid(), first);
  }

  std::function<void()> told;
  std::array<int, 2> ends{};
  std::array<struct sigaction, WATCHED.size()> before{};
  std::jthread thread;
};

Signals::Signals(std::function<void()> told) : state_(std::make_unique<State>(std::move(told))) {
}

Signals::~Signals() = default;

}  // namespace arbiter
