// Text as the wire wants it: UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace arbiter {

/// Whether bytes are UTF-8.
bool is_utf8(std::string_view bytes);

/// Adds a character to a text, by its number.
void append_utf8(std::string& text, char32_t character);

/// The first so many characters of a text.
std::string first_characters(std::string_view text, std::size_t most);

}  // namespace arbiter
