// The environment of the process.
#pragma once

#include <cstdlib>
#include <string>

namespace arbiter {

/// The value of an environment variable; empty where it is not set.
inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace arbiter
