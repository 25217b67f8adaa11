#include "arbiter/think_time.hpp"

#include <algorithm>

#include "time_control.hpp"

namespace arbiter {

namespace {
constexpr double HELD_BACK_MS = 1'000;  // of the main time, at most half of it: the way to the server in a long game
constexpr double MOST = 0.7;            // share of the time that is added, or lost, after the move
constexpr double BEFORE_FLAG = 0.6;     // share of the time until the flag falls, for one choice
constexpr double RESERVE_MS = 15;       // before the flag falls: the way to the server, and other load of the processor
constexpr double SWITCH_MS = 5;         // more of it for each other match
constexpr double LEAST_MS = 5;          // for one choice, while the flag is far away
constexpr double FAR_MS = 200;
}  // namespace

double think_time_ms(std::string_view time_control, double left_ms, double main_ms, int moves_left, int expected_plies,
                     int matches) {
  const double spendable_ms = main_ms - std::min(HELD_BACK_MS, main_ms / 2);
  const int moves = std::max(1, (expected_plies + 1) / 2);
  const double share_ms = spendable_ms / (moves_left > 0 ? std::min(moves_left, moves) : moves);
  const double each_ms = MOST * each_move_ms(time_control);
  const bool periods = time_control.find('x') != std::string_view::npos;
  double wanted_ms = periods ? std::max(share_ms, each_ms) : share_ms + each_ms;
  if (left_ms > FAR_MS) wanted_ms = std::max(wanted_ms, LEAST_MS);
  const double reserve_ms = RESERVE_MS + SWITCH_MS * (matches - 1);
  return std::max(0.0, std::min({wanted_ms, BEFORE_FLAG * left_ms, left_ms - reserve_ms}));
}

}  // namespace arbiter
