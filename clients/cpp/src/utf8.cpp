#include "utf8.hpp"

namespace arbiter {

namespace {

constexpr char32_t LAST = 0x10FFFF;
constexpr char32_t FIRST_SURROGATE = 0xD800;
constexpr char32_t LAST_SURROGATE = 0xDFFF;

// How many bytes a character has, by its first one; 0 for a byte that begins none.
std::size_t length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

// The least number that needs so many bytes: what is below it is written too long.
char32_t least(std::size_t bytes) {
  return bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : bytes == 4 ? 0x10000 : 0;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto first = static_cast<unsigned char>(bytes[0]);
    const std::size_t count = length(first);
    if (count == 0 || count > bytes.size()) return false;
    for (const char byte : bytes.substr(1, count - 1)) {
      if ((static_cast<unsigned char>(byte) & 0xC0) != 0x80) return false;
    }
    const char32_t character = number_of(bytes.substr(0, count));
    if (character < least(count) || character > LAST) return false;
    if (character >= FIRST_SURROGATE && character <= LAST_SURROGATE) return false;
    bytes.remove_prefix(count);
  }
  return true;
}

char32_t number_of(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  char32_t number = character.size() == 1 ? first : first & (0xFF >> (character.size() + 1));
  for (const char byte : character.substr(1)) number = number << 6 | (static_cast<unsigned char>(byte) & 0x3F);
  return number;
}

void append_utf8(std::string& text, char32_t character) {
  if (character < 0x80) {
    text += static_cast<char>(character);
    return;
  }
  const int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  text += static_cast<char>((0xF00 >> (more + 1) & 0xFF) | character >> (6 * more));
  for (int shift = 6 * (more - 1); shift >= 0; shift -= 6) {
    text += static_cast<char>(0x80 | (character >> shift & 0x3F));
  }
}

std::string first_characters(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  for (std::size_t count = 0; count < most && end < text.size(); ++count) {
    const std::size_t bytes = length(static_cast<unsigned char>(text[end]));
    end += bytes == 0 ? 1 : bytes;
  }
  return std::string(text.substr(0, end));
}

}  // namespace arbiter
