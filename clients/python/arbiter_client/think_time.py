"""How long to think for a move: a share of the main time, and most of what the time control adds for every move.

The rules, the same in every client, and why, are in `clients/README.md`; `clients/vectors/think_times.json` has the
numbers.
"""

from __future__ import annotations

import re
from typing import Final

from arbiter_client.time_control import UNITS

EXPECTED_PLIES: Final = 60  #: to the end of a game, from any position
HELD_BACK_MS: Final = 1_000.0  #: of the main time, but never more than half of it: the way to the server in a long game
MOST: Final = 0.7  #: share of the time that is added, or lost, after the move
BEFORE_FLAG: Final = 0.6  #: share of the time until the flag falls, for one choice
RESERVE_MS: Final = 15.0  #: reserve before the flag falls: the way to the server, and other load of the processor
SWITCH_MS: Final = 5.0  #: how long the thread of another match may keep the interpreter
LEAST_MS: Final = 5.0  #: minimum for one choice, while the flag is far away
FAR_MS: Final = 200.0

_DURATION: Final = "([0-9]{1,9})(ms|[smh])"
_EACH_MOVE: Final = re.compile(rf"{_DURATION}/move|\+(?:[0-9]+x)?{_DURATION}[db]?$", re.ASCII)


def each_move_ms(time_control: str) -> int:
    """Return the time that a time control adds for every move: increment, delay, fixed time or period; else 0."""
    found = _EACH_MOVE.search(time_control)
    if found is None:
        return 0
    number, unit = found.group(1, 2) if found[1] else found.group(3, 4)
    return int(number) * UNITS[unit]


def think_time_ms(
    time_control: str,
    left_ms: float,
    main_ms: float,
    moves_left: int = 0,
    expected_plies: int = EXPECTED_PLIES,
    matches: int = 1,
) -> float:
    """Return the time for a move in milliseconds, never negative.

    time_control: the bot's own. left_ms: until the flag falls. main_ms: main time left (with a fixed time a move: the
    bank). moves_left: moves to go in the session, 0 if there is none. expected_plies: to the end of the game, of both
    players. matches: the number of matches under way in this process.
    """
    spendable_ms = main_ms - min(HELD_BACK_MS, main_ms / 2)
    moves = max(1, (expected_plies + 1) // 2)
    share_ms = spendable_ms / min(moves_left or moves, moves)
    each_ms = MOST * each_move_ms(time_control)
    wanted_ms = max(share_ms, each_ms) if "x" in time_control else share_ms + each_ms
    if left_ms > FAR_MS:
        wanted_ms = max(wanted_ms, LEAST_MS)
    reserve_ms = RESERVE_MS + SWITCH_MS * (matches - 1)
    return max(0.0, min(wanted_ms, BEFORE_FLAG * left_ms, left_ms - reserve_ms))
