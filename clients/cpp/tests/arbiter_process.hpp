// A real arbiter, and other programs, as processes.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace arbiter::testing {

/// A program that runs until it is told to end.
class Process {
 public:
  Process() = default;
  /// Starts a program; its standard output can be read, its standard error goes to a file.
  Process(const std::vector<std::string>& command, const std::filesystem::path& errors,
          const std::map<std::string, std::string>& environment = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  /// The next line of its standard output, without its end; throws std::runtime_error after the last one.
  std::string line();

  /// Sends a signal.
  void tell(int signal) const;

  /// Waits for its end; returns its exit status, or minus the number of the signal that ended it.
  int wait();

 private:
  void end();

  pid_t number_ = -1;
  int output_ = -1;
  std::string read_;
};

/// An arbiter on a folder of its own: it can be killed, and started again on the same record.
class Arbiter {
 public:
  /// Starts it on a free port of the loopback. `more` are options of `arbiter serve`.
  explicit Arbiter(std::vector<std::string> more = {});
  ~Arbiter();

  /// Kills it the hard way.
  void kill();

  /// Starts it again, on the same port and record.
  void start();

  const std::string& address() const { return address_; }
  const std::string& admin_token() const { return admin_token_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::vector<std::string> more_;
  std::filesystem::path folder_;
  std::string address_ = "127.0.0.1:0";
  std::string admin_token_;
  Process process_;
};

/// Runs a program to its end. Throws std::runtime_error where it fails.
void run_program(const std::vector<std::string>& command, const std::filesystem::path& folder);

}  // namespace arbiter::testing
