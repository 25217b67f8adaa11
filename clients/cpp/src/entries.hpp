// The text of a credentials file: JSON, or the TOML of earlier versions. What the file has is all that is read here.
#pragma once

#include <string>
#include <string_view>

#include "arbiter/credentials.hpp"

namespace arbiter {

/// What a text says.
struct ReadEntries {
  credentials::Entries entries;
  bool old = false;  ///< whether it is TOML
};

/// What a text says. Throws std::invalid_argument for what is no credentials file.
ReadEntries read_entries(std::string_view text);

/// The text of that, in JSON.
std::string write_entries(const credentials::Entries& entries);

}  // namespace arbiter
