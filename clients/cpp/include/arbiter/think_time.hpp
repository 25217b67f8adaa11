// How long to think for a move.
#pragma once

#include <string_view>

namespace arbiter {

/// How many plies are expected to the end of a game, from any position, where nothing else is known.
constexpr int EXPECTED_PLIES = 60;

/// The time for a move in milliseconds, never negative: a share of the main time, and most of what the time control
/// adds for every move. The rules, the same in every client, and why, are in clients/README.md.
///
/// `time_control`: the bot's own. `left_ms`: until the flag falls. `main_ms`: main time left (with a fixed time a move:
/// the bank). `moves_left`: moves to go in the session, 0 if there is none. `expected_plies`: to the end of the game,
/// of both players. `matches`: how many think in this process.
double think_time_ms(std::string_view time_control, double left_ms, double main_ms, int moves_left = 0,
                     int expected_plies = EXPECTED_PLIES, int matches = 1);

}  // namespace arbiter
