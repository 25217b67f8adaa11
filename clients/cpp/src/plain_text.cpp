#include "arbiter/plain_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "utf8.hpp"

namespace arbiter {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// What Unicode 14 calls control, format and private characters, surrogates, and separators except the blank.
constexpr std::array UNPRINTABLE = {
    Range{0x0, 0x1f},        Range{0x7f, 0xa0},       Range{0xad, 0xad},       Range{0x600, 0x605},
    Range{0x61c, 0x61c},     Range{0x6dd, 0x6dd},     Range{0x70f, 0x70f},     Range{0x890, 0x891},
    Range{0x8e2, 0x8e2},     Range{0x1680, 0x1680},   Range{0x180e, 0x180e},   Range{0x2000, 0x200f},
    Range{0x2028, 0x202f},   Range{0x205f, 0x2064},   Range{0x2066, 0x206f},   Range{0x3000, 0x3000},
    Range{0xd800, 0xf8ff},   Range{0xfeff, 0xfeff},   Range{0xfff9, 0xfffb},   Range{0x110bd, 0x110bd},
    Range{0x110cd, 0x110cd}, Range{0x13430, 0x13438}, Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a},
    Range{0xe0001, 0xe0001}, Range{0xe0020, 0xe007f}, Range{0xf0000, 0xffffd}, Range{0x100000, 0x10fffd},
};

bool is_printable(char32_t character) {
  return std::none_of(UNPRINTABLE.begin(), UNPRINTABLE.end(),
                      [&](const Range& range) { return range.first <= character && character <= range.last; });
}

std::string escaped(char32_t character) {
  if (character == '\n') return "\\n";
  if (character == '\r') return "\\r";
  if (character == '\t') return "\\t";
  std::array<char, 16> shown{};
  const char* const form = character <= 0xff ? "\\x%02x" : character <= 0xffff ? "\\u%04x" : "\\U%08x";
  std::snprintf(shown.data(), shown.size(), form, static_cast<unsigned>(character));
  return shown.data();
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::string first = first_characters(text, 1);
    if (!is_utf8(first)) {
      shown += escaped(static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    const char32_t character = number_of(first);
    shown += is_printable(character) ? first : escaped(character);
    text.remove_prefix(first.size());
  }
  return shown;
}

std::string plain_lines(std::string_view text) {
  std::string shown;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    shown += plain_text(text.substr(0, end)) + "\n    ";
    text.remove_prefix(end + 1);
  }
  return shown + plain_text(text);
}

}  // namespace arbiter
