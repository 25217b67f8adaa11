#include "toml.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <stdexcept>

#include "utf8.hpp"

namespace arbiter {

namespace {

// Reads a text from its beginning to its end, once.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Tables read() {
    Tables tables;
    std::string table;
    for (skip_lines(); !rest_.empty(); end_line()) {
      if (take('[')) {
        table = key();
        expect(']');
        if (!tables.try_emplace(table).second) fail("the table is there twice");
        continue;
      }
      const std::string name = key();
      expect('=');
      if (table.empty()) fail("an entry stands before the first table");
      if (!tables[table].try_emplace(name, value()).second) fail("the entry is there twice");
    }
    return tables;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("line " + std::to_string(line_) + ": " + what);
  }

  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }

  bool take(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_[0] != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail(std::string("expected ") + wanted);
  }

  // Skips a comment and the end of the line; false where something else stands.
  bool skip_line_end() {
    skip_blanks();
    if (!rest_.empty() && rest_[0] == '#') rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    if (rest_.starts_with("\r\n")) rest_.remove_prefix(1);
    if (rest_.empty() || rest_[0] != '\n') return rest_.empty();
    rest_.remove_prefix(1);
    ++line_;
    return true;
  }

  void skip_lines() {
    while (!rest_.empty() && skip_line_end()) {
    }
  }

  void end_line() {
    if (!skip_line_end()) fail("expected the end of the line");
    skip_lines();
  }

  std::string key() {
    skip_blanks();
    if (!rest_.empty() && (rest_[0] == '"' || rest_[0] == '\'')) return value();
    const auto* const end = std::find_if_not(rest_.begin(), rest_.end(), [](unsigned char letter) {
      return std::isalnum(letter) != 0 || letter == '-' || letter == '_';
    });
    std::string found(rest_.begin(), end);
    if (found.empty()) fail("expected a name");
    rest_.remove_prefix(found.size());
    return found;
  }

  std::string value() {
    if (take('\'')) {
      std::string text(rest_.substr(0, rest_.find_first_of("'\n")));
      rest_.remove_prefix(text.size());
      if (!take_now('\'')) fail("the text has no end");
      return text;
    }
    if (!take('"')) fail("expected a text in quotation marks");
    std::string text;
    while (!take_now('"')) {
      if (rest_.empty() || rest_[0] == '\n') fail("the text has no end");
      if (take_now('\\')) {
        escaped(text);
      } else {
        text += rest_[0];
        rest_.remove_prefix(1);
      }
    }
    return text;
  }

  bool take_now(char wanted) {
    if (rest_.empty() || rest_[0] != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void escaped(std::string& text) {
    static const std::map<char, char> SHORT = {{'b', '\b'}, {'t', '\t'}, {'n', '\n'}, {'f', '\f'},
                                               {'r', '\r'}, {'"', '"'},  {'\\', '\\'}};
    const char letter = rest_.empty() ? '\0' : rest_[0];
    if (const auto found = SHORT.find(letter); found != SHORT.end()) {
      text += found->second;
      rest_.remove_prefix(1);
      return;
    }
    const std::size_t digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    const std::string_view number = rest_.substr(std::min<std::size_t>(1, rest_.size()), digits);
    const bool hexadecimal =
        std::all_of(number.begin(), number.end(), [](unsigned char digit) { return std::isxdigit(digit) != 0; });
    if (digits == 0 || number.size() != digits || !hexadecimal) fail("no such escape");
    std::string character;
    append_utf8(character, static_cast<char32_t>(std::stoul(std::string(number), nullptr, 16)));
    if (!is_utf8(character)) fail("no such character");
    text += character;
    rest_.remove_prefix(1 + digits);
  }

  std::string_view rest_;
  int line_ = 1;
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F) {
      char escape[7];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(letter));
      out += escape;
    } else {
      out += letter;
    }
  }
  return out + '"';
}

}  // namespace

Tables parse_tables(std::string_view text) {
  if (!is_utf8(text)) throw std::invalid_argument("it is not UTF-8");
  return Reader(text).read();
}

std::string write_tables(const Tables& tables) {
  std::string out;
  for (const auto& [table, entries] : tables) {
    if (entries.empty()) continue;
    out += '[' + quoted(table) + "]\n";
    for (const auto& [name, value] : entries) out += quoted(name) + " = " + quoted(value) + '\n';
    out += '\n';
  }
  return out;
}

}  // namespace arbiter
