//! How long to think for a move: a share of the main time, and most of what the time control adds for every move.
//!
//! The rules, the same in every client, and why, are in `clients/README.md`; `clients/vectors/think_times.json` has the
//! numbers.

use crate::time_control::each_move_ms;

/// How many plies are expected to the end of a game, from any position, where nothing else is known.
pub const EXPECTED_PLIES: u32 = 60;

const HELD_BACK_MS: f64 = 1_000.0; // of the main time, at most half of it: the way to the server in a long game
const MOST: f64 = 0.7; // share of the time that is added, or lost, after the move
const BEFORE_FLAG: f64 = 0.6; // share of the time until the flag falls, for one choice
const RESERVE_MS: f64 = 15.0; // before the flag falls: the way to the server, and other load of the processor
const SWITCH_MS: f64 = 5.0; // more of it for each other match
const LEAST_MS: f64 = 5.0; // for one choice, while the flag is far away
const FAR_MS: f64 = 200.0;

/// Returns the time for a move in milliseconds, never negative.
///
/// `time_control`: the bot's own. `left_ms`: until the flag falls. `main_ms`: main time left (with a fixed time a move:
/// the bank). `moves_left`: moves to go in the session, 0 if there is none. `expected_plies`: to the end of the game, of
/// both players. `matches`: how many think in this process.
pub fn think_time_ms(
    time_control: &str,
    left_ms: f64,
    main_ms: f64,
    moves_left: u32,
    expected_plies: u32,
    matches: u32,
) -> f64 {
    let spendable_ms = main_ms - HELD_BACK_MS.min(main_ms / 2.0);
    let moves = expected_plies.div_ceil(2).max(1);
    let to_go = if moves_left > 0 { moves_left.min(moves) } else { moves };
    let share_ms = spendable_ms / f64::from(to_go);
    let each_ms = MOST * each_move_ms(time_control);
    let mut wanted_ms = if time_control.contains('x') { share_ms.max(each_ms) } else { share_ms + each_ms };
    if left_ms > FAR_MS {
        wanted_ms = wanted_ms.max(LEAST_MS);
    }
    let reserve_ms = RESERVE_MS + SWITCH_MS * f64::from(matches.saturating_sub(1));
    wanted_ms.min(BEFORE_FLAG * left_ms).min(left_ms - reserve_ms).max(0.0)
}
