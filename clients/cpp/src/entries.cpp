#include "entries.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <utility>

#include "utf8.hpp"

namespace arbiter {

namespace {

using credentials::Entries;

constexpr const char* EXPECTED = "it is no credentials file: expected {\"HOST:PORT\": {\"NAME\": \"TOKEN\"}}";

// Reads a text from its beginning to its end, once.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Entries read_toml() {
    Entries entries;
    std::string server;
    for (skip_lines(); !rest_.empty(); end_line()) {
      if (take('[')) {
        server = key();
        expect(']');
        entries[server];
        continue;
      }
      const std::string name = key();
      expect('=');
      if (server.empty()) fail("an entry stands before the first table");
      entries[server][name] = value();
    }
    return entries;
  }

  // Throws for what is no JSON, too; its words are those of `EXPECTED` then.
  Entries read_json() {
    Entries entries;
    object([&](const std::string& server) {
      auto& players = entries[server];
      object([&](const std::string& name) { players[name] = json_text(); });
    });
    skip_white();
    if (!rest_.empty()) fail("expected the end");
    return entries;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("line " + std::to_string(line_) + ": " + what);
  }

  template <class Member>
  void object(Member member) {
    json_sign('{');
    if (json_take('}')) return;
    do {
      const std::string name = json_text();
      json_sign(':');
      member(name);
    } while (json_take(','));
    json_sign('}');
  }

  std::string json_text() {
    skip_white();
    if (!rest_.starts_with('"')) fail("expected a text in quotation marks");
    return value();
  }

  bool json_take(char wanted) {
    skip_white();
    return take_now(wanted);
  }

  void json_sign(char wanted) {
    if (!json_take(wanted)) fail(std::string("expected ") + wanted);
  }

  void skip_white() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

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
    static const std::map<char, char> SHORT = {{'b', '\b'}, {'t', '\t'}, {'n', '\n'},  {'f', '\f'},
                                               {'r', '\r'}, {'"', '"'},  {'\\', '\\'}, {'/', '/'}};
    const char letter = rest_.empty() ? '\0' : rest_[0];
    if (const auto found = SHORT.find(letter); found != SHORT.end()) {
      text += found->second;
      rest_.remove_prefix(1);
      return;
    }
    const std::size_t digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits == 0) fail("no such escape");
    rest_.remove_prefix(1);
    char32_t code = hexadecimal(digits);
    // Beyond U+FFFF, JSON has two escapes, a pair of surrogates.
    if (code >= 0xD800 && code < 0xDC00 && rest_.starts_with("\\u")) {
      rest_.remove_prefix(2);
      const char32_t low = hexadecimal(4);
      if (low < 0xDC00 || low > 0xDFFF) fail("no such character");
      code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    }
    std::string character;
    append_utf8(character, code);
    if (!is_utf8(character)) fail("no such character");
    text += character;
  }

  char32_t hexadecimal(std::size_t digits) {
    const std::string_view number = rest_.substr(0, digits);
    const bool valid =
        std::all_of(number.begin(), number.end(), [](unsigned char digit) { return std::isxdigit(digit) != 0; });
    if (number.size() != digits || !valid) fail("no such escape");
    rest_.remove_prefix(digits);
    return static_cast<char32_t>(std::stoul(std::string(number), nullptr, 16));
  }

  std::string_view rest_;
  int line_ = 1;
};

void quote(const std::string& text, std::string& out) {
  out += '"';
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
  out += '"';
}

}  // namespace

ReadEntries read_entries(std::string_view text) {
  text = without_mark(text);
  if (!is_utf8(text)) throw std::invalid_argument("it is not UTF-8");
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  if (text[start] != '{') return {Reader(text).read_toml(), true};
  try {
    return {Reader(text).read_json(), false};
  } catch (const std::invalid_argument&) {
    throw std::invalid_argument(EXPECTED);
  }
}

std::string write_entries(const Entries& entries) {
  std::string out = "{";
  for (const auto& [server, players] : entries) {
    if (players.empty()) continue;
    out += out.size() == 1 ? "\n " : ",\n ";
    quote(server, out);
    out += ": {";
    const char* before = "\n  ";
    for (const auto& [name, token] : players) {
      out += std::exchange(before, ",\n  ");
      quote(name, out);
      out += ": ";
      quote(token, out);
    }
    out += "\n }";
  }
  return out + (out.size() == 1 ? "}\n" : "\n}\n");
}

}  // namespace arbiter
