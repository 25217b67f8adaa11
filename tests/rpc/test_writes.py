"""Writes on a call, from callbacks: each is told once how it ended, and is counted until then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.rpc.unread import Unread
from arbiter.rpc.writes import Writes
from arbiter.testing.clock import settle, virtually

LIMITS = Limits()
PATIENCE_S = LIMITS.silence_ms / 1_000


class Call:
    """A call whose messages go to the network when the test says so."""

    def __init__(self) -> None:
        self.under_way: list[tuple[bytes, asyncio.Future[None]]] = []
        self.fails: Exception | None = None  # as soon as a write begins
        self.turns = 1  # for how many futures a write waits
        self.at_end: list[Callable[[Any], object]] = []

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        self.at_end.append(callback)

    async def write(self, message: bytes) -> None:
        if self.fails is not None:
            raise self.fails
        for _ in range(self.turns):
            sent = asyncio.get_running_loop().create_future()
            self.under_way.append((message, sent))
            await sent

    def end(self) -> None:
        for callback in self.at_end:
            callback(self)


class Desk:
    """A call, its writes, what is unread, and how the writes ended."""

    def __init__(self, patient: bool = False) -> None:
        self.call = Call()
        self.closed: list[str] = []
        self.unread = Unread(LIMITS, self.closed.append, structlog.get_logger())
        self.writes = Writes(self.call, self.unread, LIMITS, patient)
        self.ends: list[BaseException | None] = []

    def begin(self, message: bytes = b"abc") -> asyncio.Future[None] | None:
        """Begin a write; return the future for which it waits, if it does."""
        before = len(self.call.under_way)
        self.writes.begin(message, self.ends.append)
        assert self.unread.size == len(message)
        return self.call.under_way[before][1] if len(self.call.under_way) > before else None


@virtually
async def test_a_write_ends_when_the_message_has_gone_and_the_next_can_begin() -> None:
    desk = Desk()
    for number in range(3):
        sent = desk.begin(b"x" * (number + 1))
        await settle()
        assert len(desk.ends) == number
        assert sent is not None
        sent.set_result(None)
        await settle()
        assert desk.ends == [None] * (number + 1)
        assert (len(desk.unread), desk.unread.size) == (0, 0)


@virtually
async def test_a_write_may_wait_several_times() -> None:
    desk = Desk()
    desk.call.turns = 3
    desk.begin()
    for turn in range(3):
        assert desk.ends == []
        desk.call.under_way[turn][1].set_result(None)
        await settle()
    assert desk.ends == [None]


@virtually
async def test_a_write_that_does_not_wait_ends_after_begin_has_returned() -> None:
    desk = Desk()
    desk.call.turns = 0
    desk.begin()
    assert desk.ends == []
    await settle()
    assert desk.ends == [None]
    assert not len(desk.unread)


@pytest.mark.parametrize("at_once", [True, False])
@virtually
async def test_an_error_of_the_call_is_passed_on(at_once: bool) -> None:
    desk, error = Desk(), ConnectionError("the client has left")
    desk.call.fails = error if at_once else None
    sent = desk.begin()
    assert desk.ends == []
    if sent is not None:
        sent.set_exception(error)
    await settle()
    assert desk.ends == [error]
    assert (len(desk.unread), desk.unread.size) == (0, 0)


@virtually
async def test_a_message_that_is_not_read_is_abandoned_and_counted_until_the_call_ends() -> None:
    desk = Desk()
    sent = desk.begin()
    await asyncio.sleep(PATIENCE_S + 1)
    (refusal,) = desk.ends
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.READER_TOO_SLOW
    assert sent is not None
    assert sent.cancelled()
    assert desk.unread.size == 3
    desk.call.end()
    assert (len(desk.unread), desk.unread.size) == (0, 0)


@virtually
async def test_a_patient_write_waits() -> None:
    desk = Desk(patient=True)
    sent = desk.begin()
    await asyncio.sleep(10 * PATIENCE_S)
    assert desk.ends == []
    assert sent is not None
    sent.set_result(None)
    await settle()
    assert desk.ends == [None]


@virtually
async def test_a_write_that_is_cancelled_ends_at_once_and_does_not_disturb_the_next() -> None:
    desk = Desk()
    desk.writes.cancel()  # nothing is under way
    desk.begin()
    desk.writes.cancel()
    (error,) = desk.ends
    assert isinstance(error, asyncio.CancelledError)
    desk.writes.begin(b"next", desk.ends.append)  # the callback of the first one's future has not run yet
    await settle()
    assert len(desk.ends) == 1
    desk.call.under_way[1][1].set_result(None)
    await settle()
    assert desk.ends == [error, None]
    assert desk.unread.size == 3  # the first message
    desk.call.end()
    assert (len(desk.unread), desk.unread.size) == (0, 0)
