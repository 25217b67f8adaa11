#include "../system.hpp"

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <atomic>
#include <fstream>
#include <system_error>

namespace arbiter {

namespace {

[[noreturn]] void fail() {
  throw std::system_error(static_cast<int>(::GetLastError()), std::system_category());
}

}  // namespace

struct FileLock::State {
  explicit State(const std::filesystem::path& file)
      : handle(::CreateFileW(file.c_str(), GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                             OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr)) {
    if (handle == INVALID_HANDLE_VALUE) fail();
    OVERLAPPED from_the_start{};
    if (::LockFileEx(handle, LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &from_the_start) == 0) {
      const DWORD error = ::GetLastError();
      ::CloseHandle(handle);
      ::SetLastError(error);
      fail();
    }
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { ::CloseHandle(handle); }

  HANDLE handle;  // the lock ends with it
};

FileLock::FileLock(const std::filesystem::path& file) : state_(std::make_unique<State>(file)) {
}

FileLock::~FileLock() = default;

void replace_file(const std::filesystem::path& file, const std::string& text) {
  static std::atomic<int> count = 0;
  std::filesystem::path draft = file;
  draft += "." + std::to_string(::GetCurrentProcessId()) + "-" + std::to_string(++count);
  {
    std::ofstream out(draft, std::ios::binary);
    out << text;
    out.close();
    if (!out) throw std::system_error(std::make_error_code(std::errc::io_error));
  }
  std::filesystem::rename(draft, file);
}

std::tm local_time(std::time_t time) {
  std::tm parts{};
  ::localtime_s(&parts, &time);
  return parts;
}

}  // namespace arbiter
