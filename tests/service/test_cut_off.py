"""Calls that wait for a store from which the server is cut off."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.service.cut_off import CutOff
from arbiter.service.ports.journal import StoreFailed
from arbiter.testing.clock import virtually

LONG_S = 600.0


@virtually
async def test_what_waits_is_refused_as_soon_as_the_server_is_cut_off() -> None:
    cut_off = CutOff()

    async def call() -> None:
        async with cut_off.waiting():
            await asyncio.sleep(LONG_S)

    async def nested() -> None:
        async with cut_off.waiting():
            await call()

    calls = [asyncio.create_task(work()) for work in (call, nested)]
    await asyncio.sleep(1)
    cut_off.begin(StoreFailed("for a test"))
    async with asyncio.timeout(1):
        answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreFailed, StoreFailed]
    cut_off.begin(StoreFailed("once more"))  # nothing waits any longer


@virtually
async def test_a_server_that_is_cut_off_answers_what_it_knows_and_refuses_what_waits() -> None:
    cut_off = CutOff()
    cut_off.begin(StoreFailed("for a test"))
    async with cut_off.waiting():
        known = 1
    assert known
    with pytest.raises(StoreFailed):
        async with cut_off.waiting():
            await asyncio.sleep(LONG_S)
    with pytest.raises(StoreFailed):
        cut_off.check()
    cut_off.end()
    cut_off.check()
    async with cut_off.waiting():
        await asyncio.sleep(LONG_S)


@virtually
async def test_it_tells_when_it_begins_and_once_when_it_ends() -> None:
    told: list[str] = []
    cut_off = CutOff(
        [lambda refusal: told.append(f"begun: {refusal.why}, {bool(cut_off)}")],
        [lambda: told.append(f"ended: {bool(cut_off)}")],
    )
    cut_off.end()  # as with every heartbeat
    cut_off.begin(StoreFailed("for a test"))
    cut_off.end()
    cut_off.end()
    assert told == ["begun: for a test, True", "ended: False"]


@virtually
async def test_a_call_that_ran_out_of_time_by_itself_says_so() -> None:
    with pytest.raises(TimeoutError):
        async with CutOff().waiting(), asyncio.timeout(1):
            await asyncio.sleep(LONG_S)
