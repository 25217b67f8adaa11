"""Clock arithmetic: a worked example for every time control, and properties of all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.matches.clock import UNLIMITED_MS, SeatClock, after_move, available, start
from arbiter.matches.time_control import (
    BronsteinDelay,
    ByoYomi,
    FixedMove,
    Increment,
    MainTime,
    MovesPerPeriod,
    SimpleDelay,
    TimeControl,
    Unlimited,
    parse,
)
from tests.matches.test_time_control import CONTROLS

FALLEN = None

EXAMPLES: list[tuple[str, list[tuple[int, SeatClock | None]]]] = [
    # time control, and consecutive moves: milliseconds charged, the clock after the move
    ("none", [(10**12, SeatClock(0)), (0, SeatClock(0))]),
    ("5m", [(100_000, SeatClock(200_000)), (199_999, SeatClock(1)), (0, SeatClock(1)), (1, FALLEN)]),
    ("5m+3s", [(1_000, SeatClock(302_000)), (301_999, SeatClock(3_001)), (3_001, FALLEN)]),
    (
        "5m+3sd",
        [(2_000, SeatClock(300_000)), (13_000, SeatClock(290_000)), (292_999, SeatClock(1)), (3_000, SeatClock(1))],
    ),
    ("5m+3sd", [(303_000, FALLEN)]),
    (
        "5m+3sb",
        [(2_000, SeatClock(300_000)), (13_000, SeatClock(290_000)), (289_999, SeatClock(3_001)), (3_001, FALLEN)],
    ),
    ("300ms/move", [(0, SeatClock(0)), (299, SeatClock(0)), (300, FALLEN)]),
    (
        "300ms/move+10s",
        [(100, SeatClock(10_000)), (1_300, SeatClock(9_000)), (9_299, SeatClock(1)), (300, SeatClock(1))],
    ),
    ("300ms/move+10s", [(10_300, FALLEN)]),
    (
        "1m+3x10s",
        [(59_999, SeatClock(1, 3)), (1, SeatClock(0, 3)), (9_999, SeatClock(0, 3)), (10_000, SeatClock(0, 2))],
    ),
    ("1m+3x10s", [(80_000, SeatClock(0, 1)), (9_999, SeatClock(0, 1)), (10_000, FALLEN)]),
    ("1m+3x10s", [(50_000, SeatClock(10_000, 3)), (25_000, SeatClock(0, 2)), (20_000, FALLEN)]),
    ("1m+3x10s", [(90_000, FALLEN)]),
    ("2/30m", [(1_000, SeatClock(1_799_000, 0, 1)), (9_000, SeatClock(3_590_000, 0, 2)), (3_590_000, FALLEN)]),
    ("1/10s", [(4_000, SeatClock(16_000, 0, 1)), (15_999, SeatClock(10_001, 0, 1))]),
]


@pytest.mark.parametrize(("text", "moves"), EXAMPLES)
def test_examples(text: str, moves: list[tuple[int, SeatClock | None]]) -> None:
    control = parse(text)
    clock = start(control)
    for charged_ms, expected in moves:
        after = after_move(control, clock, charged_ms)
        assert after == expected
        assert (after is None) == (charged_ms >= available(control, clock))
        if after is not None:
            clock = after


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("none", UNLIMITED_MS),
        ("5m", 300_000),
        ("5m+3s", 300_000),
        ("5m+3sd", 303_000),
        ("5m+3sb", 300_000),
        ("300ms/move", 300),
        ("300ms/move+10s", 10_300),
        ("1m+3x10s", 90_000),
        ("40/30m", 1_800_000),
    ],
)
def test_available_on_the_first_move(text: str, milliseconds: int) -> None:
    control = parse(text)
    assert available(control, start(control)) == milliseconds


def most_gain(control: TimeControl) -> int:
    """Return by how much the time for a move may exceed what the move before left over, whatever happens."""
    match control:
        case Increment():
            return control.increment_ms
        case SimpleDelay() | BronsteinDelay():
            return control.delay_ms
        case FixedMove():
            return control.move_ms
        case ByoYomi():
            return control.period_ms
        case MovesPerPeriod():
            return control.session_ms
        case MainTime() | Unlimited():
            return 0


@given(CONTROLS, st.lists(st.floats(0, 1.05) | st.just(1.0) | st.just(0.0), max_size=30))
def test_properties_of_any_sequence_of_moves(control: TimeControl, shares: list[float]) -> None:
    clock = start(control)
    for share in shares:
        limit = available(control, clock)
        assert limit >= 1
        charged = int(limit * share)
        after = after_move(control, clock, charged)
        if after is None:
            assert charged >= limit
            return
        assert charged < limit
        assert min(after.remaining_ms, after.periods, after.moves_left) >= 0
        if control != Unlimited():
            assert limit - charged <= available(control, after) <= limit - charged + most_gain(control)
        clock = after


@given(CONTROLS, st.integers(0, 10**7), st.integers(0, 10**7))
def test_a_slower_move_never_leaves_more(control: TimeControl, first: int, second: int) -> None:
    faster, slower = sorted((first, second))
    clock = start(control)
    after_faster, after_slower = after_move(control, clock, faster), after_move(control, clock, slower)
    if after_slower is not None:
        assert after_faster is not None
        assert available(control, after_faster) >= available(control, after_slower)
