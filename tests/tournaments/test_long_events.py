"""What is next in a tournament takes as many steps in a long one as in a short one."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import formats
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.tournament import Tournament


def begun(format_: Format, players: int, **options: object) -> TournamentRun:
    made = Options(**options)  # type: ignore[arg-type]
    return TournamentRun(Spec("test", format_, ("hop-it",), "1s", options=made), players, random.Random(1))


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs, the second time: the first one may fill caches."""
    count = 0

    def trace(_frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    work()
    before = sys.gettrace()
    gc.disable()  # a collection runs lines too: the callbacks of libraries
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    assert count
    return count


def to_propose(tournament: Tournament, *free: str) -> int:
    pairer, now = formats.of(tournament.spec), 1_000_000
    field = formats.FreePlayers(free, dict.fromkeys(free, now), now=now)
    return lines_run(lambda: pairer.propose(tournament, field))


@pytest.mark.parametrize(
    ("format_", "boards"), [(Format.ROUND_ROBIN, 0), (Format.ROUND_ROBIN, 2), (Format.GAUNTLET, 0)]
)
def test_the_next_round(format_: Format, boards: int) -> None:
    short, long = (begun(format_, 6, cycles=cycles, boards=boards).tournament for cycles in (3, 300))
    assert to_propose(long) == to_propose(short)


@pytest.mark.parametrize("players", [2, 6])
def test_the_next_game(players: int) -> None:
    def to_begin(cycles: int) -> int:
        run = begun(Format.ROUND_ROBIN, players, cycles=cycles)
        run.pair()
        assert len([*run.tournament.waiting]) == cycles * players * (players - 1)
        return lines_run(lambda: next(run.tournament.ready()))

    assert to_begin(30) == to_begin(3)


def test_the_next_games_of_two_bots_that_play_one_at_a_time() -> None:
    def to_begin(cycles: int) -> int:
        run = begun(Format.ROUND_ROBIN, 2, cycles=cycles)
        run.pair()
        return lines_run(lambda: list(run.tournament.ready()))

    assert to_begin(300) == to_begin(3)


def test_the_next_games_of_an_arena_are_no_work_of_the_others_games() -> None:
    def of_newcomers(meetings: int) -> int:
        run = begun(Format.ARENA, 4, duration_ms=10_000_000)
        one, other, *newcomers = run.tournament.players
        for number in range(meetings):
            run.act(Arrange(run.tournament.revision, number + 1, (Pair(one, other),)))
            while games := list(run.tournament.ready()):
                run.begin(games[0])
                run.finish(games[0].number)
        assert len(run.tournament.results) == 2 * meetings
        return to_propose(run.tournament, *newcomers)

    assert of_newcomers(100) == of_newcomers(2)
