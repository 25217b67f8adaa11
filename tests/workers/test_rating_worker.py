"""Ratings in a process of their own: the same answers as in this process, and an event loop that goes on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest

from arbiter.matches.events import Created
from arbiter.matches.policy import Policy
from arbiter.matches.record import seal_first
from arbiter.ratings.rated_matches import result_of_tally
from arbiter.service.ports.journal import MatchEnd, MatchSummary, Tally
from arbiter.service.ratings.rating_ports import ComparisonRequest, RatingFailed
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.workers.rating_worker import PACKED, RatingProcess, packed, unpacked
from tests.workers.children import workers

pytestmark = pytest.mark.long


def tallies(players: int) -> list[Tally]:
    """Return one game of every two players in both seats."""
    names = [f"p{number}" for number in range(players)]
    return [
        Tally("", "pods", True, one, two, "win", 1 + (n + m) % 2, "rules", 3, "1", "")
        for n, one in enumerate(names)
        for m, two in enumerate(names)
        if one != two
    ]


TALLIES = tallies(30)


def encounter(number: int, one: str, two: str, winner: int) -> tuple[MatchSummary, bytes]:
    """Return a match of a tournament as the journal has it, with its first record."""
    created = Created(
        1, f"m{number}", "pods", (one, two), "1m", Policy(), True, "t1", "tournament:t1", f"{number}/1", ("a1",)
    )
    [first] = seal_first(created.match, [created])
    end = MatchEnd("win" if winner else "draw", winner, "", "rules", "", 0, "", 9, "", 5)
    row = MatchSummary(
        created.match, "pods", one, two, "1m", True, "t1", created.creator, created.request, 1, number, 9
    )
    return MatchSummary(**{name: getattr(row, name) for name in MatchSummary.__slots__} | {"end": end}), first.data


@pytest.fixture
async def rating() -> AsyncIterator[RatingProcess]:
    process = RatingProcess()
    try:
        yield process
    finally:
        await process.close()


async def test_the_process_answers_what_this_process_would(rating: RatingProcess) -> None:
    here, anchors, few = InProcessRating(), {"p0": 50.0}, tallies(12)
    assert await rating.rating_list(few, anchors) == await here.rating_list(few, anchors)
    results = [result_of_tally(tally) for tally in few]
    assert await rating.fit(results) == await here.fit(results) == await here.rating_list(few, {})
    dated = [(place // 15, tally) for place, tally in enumerate(few)]
    history = (dated, 1_000, (1, 3), anchors)
    assert await rating.history(*history) == await here.history(*history)
    met = [encounter(1, "p1", "p2", 1), encounter(2, "p2", "p1", 0), encounter(3, "p2", "p1", 1)]
    comparison = (ComparisonRequest("p1", "p2", player_version=""), few, met, anchors)
    found = await rating.comparison(*comparison)
    assert found == await here.comparison(*comparison)
    assert (found.pairs.one_and_a_half, found.unpaired) == (1, 1)
    assert found.fitted is not None
    assert (found.fitted.a, found.fitted.b) == ("p1", "p2@1")


async def test_the_event_loop_goes_on(rating: RatingProcess) -> None:
    await rating.rating_list((), {})  # the process has started
    fitting = asyncio.create_task(rating.rating_list(TALLIES, {}))
    turns = 0
    while not fitting.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 100


async def test_a_caller_gets_an_error_when_the_process_is_killed_and_the_next_one_an_answer(
    rating: RatingProcess,
) -> None:
    listed = await rating.rating_list(TALLIES, {})
    [worker] = workers("arbiter.workers.rating_worker")
    os.kill(worker, signal.SIGSTOP)
    waiting = asyncio.create_task(rating.rating_list(TALLIES, {}))
    while not rating.busy:  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0)
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(RatingFailed, match="gave no answer"):
        await waiting
    assert await rating.rating_list(TALLIES, {}) == listed


async def test_an_error_is_reported_and_does_not_affect_other_answers(rating: RatingProcess) -> None:
    with pytest.raises(RatingFailed, match="winner 3"):
        await rating.rating_list([TALLIES[0]._replace(winner=3)], {})
    assert (await rating.rating_list(TALLIES, {})).games == 3 * len(TALLIES)


async def test_items_are_packed_in_parts() -> None:
    items = list(range(2 * PACKED + 1))
    parts = await packed(items)
    assert len(parts) == 3
    assert unpacked(parts) == items
    assert await packed(()) == []
