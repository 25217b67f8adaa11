#include "time_control.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>

namespace arbiter {

namespace {

constexpr std::size_t LONGEST_TEXT = 40;                  // bytes; longer ones have other characters, and are none
constexpr std::uint64_t LONGEST_MS = 168ULL * 3'600'000;  // of each duration
constexpr std::uint64_t MOST_PERIODS = 100;
constexpr std::uint64_t MOST_MOVES = 1'000;
constexpr std::size_t MOST_DIGITS = 9;

struct Unit {
  std::string_view name;
  std::uint64_t ms;
};

constexpr std::array<Unit, 4> UNITS = {{{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};  // small to large

// Reads a time control from left to right, and writes its canonical form.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  // Whether the whole text is a time control, but for times that are too long.
  bool read() { return rest_.size() <= LONGEST_TEXT && control() && rest_.empty(); }

  [[nodiscard]] const std::string& form() const { return form_; }
  [[nodiscard]] const std::string& too_long() const { return too_long_; }  // the first one of these times
  [[nodiscard]] std::uint64_t each_move_ms() const { return each_move_ms_; }

 private:
  bool control() {
    if (take("none")) return true;
    if (!number()) return false;
    if (rest_.starts_with('/')) return count(MOST_MOVES) && take("/") && number() && time();
    if (!time()) return false;
    if (take("/move")) {
      each_move_ms_ = ms_;
      return !take("+") || (number() && time());
    }
    if (!take("+")) return true;
    if (!number()) return false;
    const bool periods = rest_.starts_with('x');
    if (periods && !(count(MOST_PERIODS) && take("x") && number())) return false;
    if (!time()) return false;
    each_move_ms_ = ms_;
    if (!periods && !take("d")) take("b");  // a delay; otherwise it is an increment
    return true;
  }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    form_ += word;
    return true;
  }

  // Reads the digits of a number, without a zero at its beginning.
  bool number() {
    digits_ = rest_.substr(0, rest_.find_first_not_of("0123456789"));
    rest_.remove_prefix(digits_.size());
    return !digits_.empty() && digits_.size() <= MOST_DIGITS && digits_[0] != '0';
  }

  bool count(std::uint64_t most) {
    form_ += digits_;
    return std::stoull(std::string(digits_)) <= most;
  }

  bool time() {
    for (const Unit& unit : UNITS) {
      if (!rest_.starts_with(unit.name)) continue;
      rest_.remove_prefix(unit.name.size());
      ms_ = std::stoull(std::string(digits_)) * unit.ms;
      if (ms_ > LONGEST_MS && too_long_.empty()) too_long_ = std::string(digits_) + std::string(unit.name);
      auto largest = UNITS.rbegin();
      while (ms_ % largest->ms != 0) ++largest;
      form_ += std::to_string(ms_ / largest->ms) + std::string(largest->name);
      return true;
    }
    return false;
  }

  std::string_view rest_;
  std::string_view digits_;  // the number that was read last
  std::uint64_t ms_ = 0;     // the time that was read last
  std::uint64_t each_move_ms_ = 0;
  std::string form_;
  std::string too_long_;
};

}  // namespace

std::string canonical_time_control(std::string_view text) {
  Reader reader(text);
  if (!reader.read()) {
    throw std::invalid_argument("\"" + std::string(text.substr(0, LONGEST_TEXT + 1)) +
                                "\" is no time control: expected " + std::string(TIME_CONTROLS_ALLOWED));
  }
  if (!reader.too_long().empty()) {
    throw std::invalid_argument(reader.too_long() + " in the time control \"" + std::string(text) +
                                "\" is more than 168h");
  }
  return reader.form();
}

bool same_time_control(std::string_view one, std::string_view other) {
  if (one == other) return true;
  Reader first(one);
  Reader second(other);
  return first.read() && second.read() && first.form() == second.form();
}

double each_move_ms(std::string_view text) {
  Reader reader(text);
  return reader.read() ? static_cast<double>(reader.each_move_ms()) : 0.0;
}

}  // namespace arbiter
