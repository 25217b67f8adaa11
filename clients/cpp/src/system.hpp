// What each operating system does in its own way: src/posix and src/windows.
#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <string>

namespace arbiter {

/// Locks a file, which is created if it is missing, against other processes, for the lifetime of this object.
class FileLock {
 public:
  /// Waits until no other process has locked the file. Throws std::system_error.
  explicit FileLock(const std::filesystem::path& file);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Replaces a file in one step: a reader sees the old one or the new one. Only its owner may read it; on Windows that
/// is for the folder to say. Throws std::system_error.
void replace_file(const std::filesystem::path& file, const std::string& text);

/// A time as the clocks of this place show it.
std::tm local_time(std::time_t time);

}  // namespace arbiter
