// As much of TOML as a credentials file has: tables of texts.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace arbiter {

/// Tables of texts, by name.
using Tables = std::map<std::string, std::map<std::string, std::string>>;

/// What a text says. Throws std::invalid_argument, which names the line, for anything but tables of texts.
Tables parse_tables(std::string_view text);

/// The text of that.
std::string write_tables(const Tables& tables);

}  // namespace arbiter
