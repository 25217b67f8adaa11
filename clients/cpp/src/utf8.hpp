// Text as the wire wants it: UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace arbiter {

/// Whether bytes are UTF-8.
bool is_utf8(std::string_view bytes);

/// The number of a character, from its bytes, which are UTF-8.
char32_t number_of(std::string_view character);

/// Adds a character to a text, by its number.
void append_utf8(std::string& text, char32_t character);

/// A text without the byte-order mark that some editors put at its beginning.
constexpr std::string_view without_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

/// The first so many characters of a text.
std::string first_characters(std::string_view text, std::size_t most);

}  // namespace arbiter
