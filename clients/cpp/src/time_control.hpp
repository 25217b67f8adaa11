// Time controls, compared by meaning: `60s+2s` is `1m+2s`. The arbiter writes the canonical form, a bot any form.
#pragma once

#include <string>
#include <string_view>

namespace arbiter {

/// What would be a time control, for people.
constexpr std::string_view TIME_CONTROLS_ALLOWED =
    "5m, 5m+3s, 5m+3sd, 5m+3sb, 300ms/move, 300ms/move+10s, 1m+3x10s, 40/30m or none";

/// The canonical form of a time control: each duration in the largest unit that divides it. Throws
/// std::invalid_argument for a text that is none, as the arbiter does (arbiter/matches/time_control.py).
std::string canonical_time_control(std::string_view text);

/// Whether two texts are the same time control. Texts that are none are compared as they are.
bool same_time_control(std::string_view one, std::string_view other);

/// The time in milliseconds that a time control adds for every move: increment, delay, fixed time or period; 0 where it
/// adds none, or is none that is known here.
double each_move_ms(std::string_view text);

}  // namespace arbiter
