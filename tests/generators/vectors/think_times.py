"""How long to think for a move: computed by hand from the table of the clients' README, and in simulated games.

In these the Python client thinks for as long as it says, and each move also loses time on the way to the server. The
flag never falls (`tests/generators/test_think_times.py`), so it does not for a client that thinks as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from arbiter_client.think_time import think_time_ms

from arbiter.matches import clock as clocks
from arbiter.matches import time_control


class ThinkCase(NamedTuple):
    """A clock, and the time for the move in milliseconds."""

    name: str
    time_control: str
    left_ms: float
    main_ms: float
    think_ms: float
    moves_left: int = 0
    expected_plies: int = 60
    matches: int = 1


CASES: Final = (
    ThinkCase("a thirtieth of the main time but for a second", "5m", 300_000, 300_000, 299_000 / 30),
    ThinkCase("half of a small main time is kept back", "1s", 1_000, 1_000, 500 / 30),
    ThinkCase("an increment", "1m+2s", 62_000, 60_000, 59_000 / 30 + 1_400),
    ThinkCase("an increment in another form", "60s+2000ms", 62_000, 60_000, 59_000 / 30 + 1_400),
    ThinkCase("a simple delay", "2m+5sd", 125_000, 120_000, 119_000 / 30 + 3_500),
    ThinkCase("a Bronstein delay", "2m+5sb", 120_000, 120_000, 119_000 / 30 + 3_500),
    ThinkCase("a fixed time a move: three fifths of the time to the flag are less", "1s/move", 1_000, 0, 600),
    ThinkCase("a fixed time a move with a bank", "1s/move+31s", 32_000, 31_000, 1_000 + 700),
    ThinkCase("byo-yomi with main time", "10m+3x10s", 610_000, 600_000, 599_000 / 30),
    ThinkCase("byo-yomi with little main time: most of a period", "1m+3x10s", 70_000, 60_000, 7_000),
    ThinkCase("byo-yomi without main time", "1m+3x10s", 10_000, 0, 6_000),
    ThinkCase("moves in a time, many of them", "40/30m", 1_800_000, 1_800_000, 1_799_000 / 30, moves_left=40),
    ThinkCase("moves in a time, few of them", "40/30m", 61_000, 61_000, 6_000, moves_left=10),
    ThinkCase("moves in a time, the last one", "40/30m", 61_000, 61_000, 36_600, moves_left=1),
    ThinkCase("a long game is expected", "5m", 300_000, 300_000, 2_990, expected_plies=200),
    ThinkCase("a short game is expected", "5m", 300_000, 300_000, 29_900, expected_plies=20),
    ThinkCase("an odd number of plies: the last one is the bot's", "5m", 300_000, 300_000, 299_000 / 11, 0, 21),
    ThinkCase("the last ply of the game", "5m", 300_000, 300_000, 180_000, expected_plies=1),
    ThinkCase("no plies are expected: at least one", "5m", 300_000, 300_000, 180_000, expected_plies=0),
    ThinkCase("fewer moves are expected than are in the session", "40/30m", 61_000, 61_000, 20_000, 40, 6),
    ThinkCase("little time", "5m", 20, 20, 1 / 3),
    ThinkCase("little time, and the reserve for the way to the server", "100ms/move", 30, 0, 15),
    ThinkCase("other matches in the process", "100ms/move", 50, 0, 15, matches=5),
    ThinkCase("no time is left", "5m", 10, 10, 0),
    ThinkCase("at least five milliseconds while the flag is far away", "5m", 210, 210, 5),
    ThinkCase("a control of a newer arbiter: its main time alone", "5m*3s", 300_000, 300_000, 299_000 / 30),
)


CONTROLS: Final = (
    "10s",
    "2m",
    "1s+50ms",
    "5s+300ms",
    "1s+100msd",
    "2s+200msb",
    "50ms/move",
    "100ms/move+2s",
    "2s+3x1s",
    "40/10s",
)
EXPECTED: Final = (60, 400, 0)  #: plies to the end, as the player says; 0: it knows how many are left
MOVES: Final = 100  #: of one player, in a simulated game
LOST_MS: Final = 8  #: by each move, on the network and elsewhere


def simulated(notation: str, expected_plies: int) -> Iterator[ThinkCase]:
    """Yield each thought of a player in a game. expected_plies: 0 if the player knows how many are left.

    Raises AssertionError if the flag falls.
    """
    control = time_control.parse(notation)
    clock = clocks.start(control)
    for move in range(MOVES):
        left_ms = clocks.available(control, clock)
        main_ms = min(left_ms, clock.remaining_ms)
        plies = expected_plies or 2 * (MOVES - move)
        think_ms = think_time_ms(notation, left_ms, main_ms, clock.moves_left, plies)
        name = f"a simulated game at {notation}, {expected_plies or 'known'} plies expected, move {move + 1}"
        yield ThinkCase(name, notation, left_ms, main_ms, think_ms, clock.moves_left, plies)
        after = clocks.after_move(control, clock, round(think_ms) + LOST_MS)
        assert after is not None, f"the flag falls with {left_ms} ms left, after a thought of {think_ms} ms: {name}"
        clock = after


def vectors() -> list[dict[str, Any]]:
    """Return the content of think_times.json: of each simulated game the first ten moves and every tenth."""
    games = (tuple(simulated(control, plies)) for control in CONTROLS for plies in EXPECTED)
    shown = chain.from_iterable((*game[:10], *game[10::10]) for game in games)
    return [case._asdict() for case in (*CASES, *shown)]
