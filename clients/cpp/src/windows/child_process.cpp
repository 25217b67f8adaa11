#include "../child_process.hpp"

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <array>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

namespace arbiter {

namespace {

constexpr DWORD PART = 4096;
constexpr UINT KILLED = 1;

std::mutex starting;  // a program inherits every handle that may be inherited while it is started

[[noreturn]] void fail() {
  throw std::system_error(static_cast<int>(::GetLastError()), std::system_category());
}

void close(HANDLE& handle) {
  if (handle != nullptr) ::CloseHandle(std::exchange(handle, nullptr));
}

// Both ends of a pipe.
class Pipe {
 public:
  Pipe() {
    if (::CreatePipe(&from, &to, nullptr, 0) == 0) fail();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(from);
    close(to);
  }

  // The next part of what comes out of it; empty at the end.
  [[nodiscard]] std::string read() const {
    std::array<char, PART> part{};
    DWORD count = 0;
    const bool some = ::ReadFile(from, part.data(), PART, &count, nullptr) != 0;
    return {part.data(), some ? count : 0};
  }

  HANDLE from = nullptr;
  HANDLE to = nullptr;
};

}  // namespace

struct ChildProcess::State {
  ~State() { close(process); }

  Pipe input;
  Pipe output;
  Pipe errors;
  HANDLE process = nullptr;
};

ChildProcess::ChildProcess(const std::vector<std::string>& command) : state_(std::make_unique<State>()) {
  State& state = *state_;
  std::wstring line;
  for (const std::string& word : command) {
    line += (line.empty() ? L"\"" : L" \"") + std::filesystem::path(word).wstring() + L"\"";
  }
  const std::lock_guard lock(starting);
  for (HANDLE* const end : {&state.input.from, &state.output.to, &state.errors.to}) {
    if (::SetHandleInformation(*end, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) == 0) fail();
  }
  STARTUPINFOW how{};
  how.cb = sizeof how;
  how.dwFlags = STARTF_USESTDHANDLES;
  how.hStdInput = state.input.from;
  how.hStdOutput = state.output.to;
  how.hStdError = state.errors.to;
  PROCESS_INFORMATION made{};
  if (::CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE, 0, nullptr, nullptr, &how, &made) == 0) fail();
  ::CloseHandle(made.hThread);
  state.process = made.hProcess;
  close(state.input.from);
  close(state.output.to);
  close(state.errors.to);
}

ChildProcess::~ChildProcess() = default;

std::string ChildProcess::output() {
  return state_->output.read();
}

std::string ChildProcess::errors() {
  return state_->errors.read();
}

void ChildProcess::close_input() {
  close(state_->input.to);
}

void ChildProcess::kill() {
  ::TerminateProcess(state_->process, KILLED);
}

std::string ChildProcess::wait() {
  ::WaitForSingleObject(state_->process, INFINITE);
  DWORD code = 0;
  ::GetExitCodeProcess(state_->process, &code);
  return "exit code " + std::to_string(code);
}

}  // namespace arbiter
