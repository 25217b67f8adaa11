#include "../child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <system_error>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to the program

namespace arbiter {

namespace {

constexpr std::size_t PART = 4096;

// Both ends of a pipe that no other program inherits.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
#ifdef __APPLE__  // it has no pipe2
    const int failed = ::pipe(ends.data());
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
#else
    const int failed = ::pipe2(ends.data(), O_CLOEXEC);
#endif
    if (failed != 0) throw std::system_error(errno, std::generic_category());
    from = ends[0];
    to = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(from);
    close(to);
  }

  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }

  // The next part of what comes out of it; empty at the end.
  [[nodiscard]] std::string read() const {
    std::array<char, PART> part{};
    ssize_t count = 0;
    do {
      count = ::read(from, part.data(), part.size());
    } while (count < 0 && errno == EINTR);
    return {part.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
  }

  int from = -1;
  int to = -1;
};

}  // namespace

struct ChildProcess::State {
  Pipe input;
  Pipe output;
  Pipe errors;
  pid_t number = -1;
  std::mutex mutex;   // guards the following member
  bool over = false;  // whether the number may be that of another program
};

ChildProcess::ChildProcess(const std::vector<std::string>& command) : state_(std::make_unique<State>()) {
  State& state = *state_;
  std::vector<std::string> words = command;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, state.input.from, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, state.output.to, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, state.errors.to, STDERR_FILENO);
  const int failed = ::posix_spawnp(&state.number, pointers[0], &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::system_error(failed, std::generic_category());
  Pipe::close(state.input.from);
  Pipe::close(state.output.to);
  Pipe::close(state.errors.to);
}

ChildProcess::~ChildProcess() = default;

std::string ChildProcess::output() {
  return state_->output.read();
}

std::string ChildProcess::errors() {
  return state_->errors.read();
}

void ChildProcess::close_input() {
  Pipe::close(state_->input.to);
}

void ChildProcess::kill() {
  const std::lock_guard lock(state_->mutex);
  if (!state_->over) ::kill(state_->number, SIGKILL);
}

std::string ChildProcess::wait() {
  const auto number = static_cast<id_t>(state_->number);
  siginfo_t about{};
  while (::waitid(P_PID, number, &about, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const std::lock_guard lock(state_->mutex);
  state_->over = true;
  int status = 0;
  if (::waitpid(state_->number, &status, 0) < 0) return "an unknown exit code";  // this program ignores its children
  return WIFEXITED(status) ? "exit code " + std::to_string(WEXITSTATUS(status))
                           : "signal " + std::to_string(WTERMSIG(status));
}

}  // namespace arbiter
