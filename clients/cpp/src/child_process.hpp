// A program that runs beside this one: src/posix and src/windows.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace arbiter {

/// A program with pipes as its standard input, output and error. One thread may read its output, another one its
/// errors.
class ChildProcess {
 public:
  /// Starts a program, which is looked for as a shell does. Throws std::system_error.
  explicit ChildProcess(const std::vector<std::string>& command);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  /// The next part of its standard output; empty at its end.
  std::string output();

  /// The next part of its standard error; empty at its end.
  std::string errors();

  /// Closes its standard input.
  void close_input();

  /// Ends the program at once, from any thread, unless it is over.
  void kill();

  /// Waits until it is over, once. Returns how it ended: "exit code 1", "signal 9".
  std::string wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace arbiter
