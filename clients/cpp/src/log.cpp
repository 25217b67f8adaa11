#include "arbiter/log.hpp"

#include <chrono>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <utility>

#include "arbiter/plain_text.hpp"
#include "system.hpp"

namespace arbiter {

namespace {

std::mutex mutex;  // guards what `current` returns

Log& current() {
  static Log log = standard_error_log(Level::info);
  return log;
}

const char* name(Level level) {
  switch (level) {
    case Level::debug:
      return "DEBUG";
    case Level::info:
      return "INFO";
    case Level::warning:
      return "WARNING";
    case Level::error:
      return "ERROR";
  }
  return "";
}

}  // namespace

void set_log(Log log) {
  const std::lock_guard lock(mutex);
  current() = std::move(log);
}

Log standard_error_log(Level from) {
  return [from](Level level, std::string_view text) {
    if (level < from) return;
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    const std::tm parts = local_time(now);
    std::cerr << std::put_time(&parts, "%F %T ") << name(level) << ' ' << plain_lines(text) << std::endl;
  };
}

void log(Level level, std::string_view text) {
  const std::lock_guard lock(mutex);
  current()(level, text);
}

}  // namespace arbiter
