// What Ctrl-C, the end of the console and the like are on Windows, which has no other signals from outside.

#include "../signals.hpp"

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <semaphore>
#include <system_error>
#include <thread>
#include <utility>

namespace arbiter {

namespace {

constexpr std::chrono::seconds GRACE{10};
constexpr UINT INTERRUPTED = 0xC000013A;  // as the system itself ends a program: STATUS_CONTROL_C_EXIT

}  // namespace

struct Signals::State {
  explicit State(std::function<void()> work) : told(std::move(work)) {
    {
      const std::lock_guard lock(mutex);
      current = this;
    }
    if (::SetConsoleCtrlHandler(handle, TRUE) == 0) {
      throw std::system_error(static_cast<int>(::GetLastError()), std::system_category());
    }
    thread = std::jthread([this] { watch(); });
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ~State() {
    ::SetConsoleCtrlHandler(handle, FALSE);
    {
      const std::lock_guard lock(mutex);
      current = nullptr;
    }
    over = true;
    came.release();
  }

  // Called by the system, in a thread of its own. Other signals end the process.
  static BOOL WINAPI handle(DWORD /*event*/) {
    const std::lock_guard lock(mutex);
    if (current == nullptr || current->dealt_with.exchange(true)) return FALSE;
    current->came.release();
    return TRUE;
  }

  void watch() {
    came.acquire();
    if (over) return;
    told();
    if (!came.try_acquire_for(GRACE)) ::ExitProcess(INTERRUPTED);
  }

  static inline std::mutex mutex;  // guards the following members
  static inline State* current = nullptr;

  std::function<void()> told;
  std::atomic<bool> dealt_with = false;
  std::atomic<bool> over = false;
  std::counting_semaphore<> came{0};
  std::jthread thread;
};

Signals::Signals(std::function<void()> told) : state_(std::make_unique<State>(std::move(told))) {
}

Signals::~Signals() = default;

}  // namespace arbiter
