#include "arbiter_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to the program

namespace arbiter::testing {

namespace fs = std::filesystem;

namespace {

constexpr int LONGEST_WAIT_MS = 60'000;  // for a line: a machine that is busy starts a server slowly

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!more.contains(std::string(text.substr(0, text.find('='))))) out.emplace_back(text);
  }
  for (const auto& [name, value] : more) out.push_back(name + '=' + value);
  return out;
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const fs::path& errors,
                 const std::map<std::string, std::string>& environment) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  output_ = ends[0];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  std::vector<std::string> words = command;
  std::vector<std::string> surroundings = environment_with(environment);
  const int failed = ::posix_spawnp(&number_, words[0].c_str(), &actions, nullptr, pointers(words).data(),
                                    pointers(surroundings).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) {
    number_ = -1;
    throw std::runtime_error("can't start " + command[0] + ": " + std::strerror(failed));
  }
}

Process::Process(Process&& other) noexcept {
  *this = std::move(other);
}

Process& Process::operator=(Process&& other) noexcept {
  end();
  number_ = std::exchange(other.number_, -1);
  output_ = std::exchange(other.output_, -1);
  read_ = std::move(other.read_);
  return *this;
}

Process::~Process() {
  end();
}

std::string Process::line() {
  while (read_.find('\n') == std::string::npos) {
    pollfd waiting{output_, POLLIN, 0};
    std::array<char, 4096> part{};
    if (::poll(&waiting, 1, LONGEST_WAIT_MS) <= 0) throw std::runtime_error("waited in vain for a line");
    const ssize_t count = ::read(output_, part.data(), part.size());
    if (count <= 0) throw std::runtime_error("there is no line any more");
    read_.append(part.data(), static_cast<std::size_t>(count));
  }
  const std::size_t end = read_.find('\n');
  std::string found = read_.substr(0, end);
  read_.erase(0, end + 1);
  return found;
}

void Process::tell(int signal) const {
  if (number_ > 0) ::kill(number_, signal);
}

int Process::wait() {
  int status = 0;
  while (::waitpid(number_, &status, 0) < 0 && errno == EINTR) {
  }
  number_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void Process::end() {
  if (number_ > 0) {
    tell(SIGKILL);
    wait();
  }
  if (output_ >= 0) ::close(output_);
  output_ = -1;
}

Arbiter::Arbiter(std::vector<std::string> more) : more_(std::move(more)) {
  std::string folder = (fs::path(std::getenv("ARBITER_TEST_FOLDER")) / "arbiter-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder");
  folder_ = folder;
  start();
}

Arbiter::~Arbiter() {
  process_.tell(SIGKILL);
}

void Arbiter::start() {
  std::vector<std::string> command = {std::getenv("ARBITER_COMMAND"),
                                      "serve",
                                      "--listen",
                                      address_,
                                      "--store",
                                      "sqlite:///" + (folder_ / "arbiter.db").string()};
  command.insert(command.end(), more_.begin(), more_.end());
  process_ = Process(
      command, folder_ / "server.log",
      {{"ARBITER_CREDENTIALS", (folder_ / "credentials.toml").string()}, {"PYTHONUNBUFFERED", "1"}, {"NO_COLOR", "1"}});
  while (true) {
    const std::string line = process_.line();
    constexpr std::string_view PLACE = " listens on ";
    constexpr std::string_view TOKEN = "shown only now: ";
    if (const auto at = line.find(PLACE); at != std::string::npos) {
      const std::size_t begin = at + PLACE.size();
      address_ = line.substr(begin, line.find_first_of(", ", begin) - begin);
    }
    if (const auto at = line.find(TOKEN); at != std::string::npos) admin_token_ = line.substr(at + TOKEN.size());
    if (line.starts_with("Next:")) return;
  }
}

void Arbiter::kill() {
  process_.tell(SIGKILL);
  process_.wait();
}

void run_program(const std::vector<std::string>& command, const fs::path& folder) {
  Process process(command, folder / "programs.log");
  if (process.wait() != 0) throw std::runtime_error(command[0] + " failed: see " + (folder / "programs.log").string());
}

}  // namespace arbiter::testing
