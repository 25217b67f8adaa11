"""Long answers leave the event loop to others, and are charged for their time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise

import pytest

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.service.cut_off import CutOff
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.rights import Action
from arbiter.service.gate.slices import LIVE_SHARE, Slices
from arbiter.service.players.accounts import Accounts
from arbiter.testing.clock import VirtualClock, VirtualLoop, virtually
from arbiter.testing.memory import CountingIds, MemoryDirectory


async def _made() -> tuple[Admission, str]:
    """Return an admission of calls, and the secret of alice."""
    limits = Limits(calls_a_second=50)
    accounts = Accounts(MemoryDirectory(), CountingIds(), VirtualClock(), "open", limits)
    _, secret = await accounts.register("alice", "", "", None)
    return Admission(accounts, limits, CutOff()), secret


class Work:
    """An answer of some parts, each of which takes the event loop for a while, by the loop's clock."""

    def __init__(self, parts: int, takes_s: float) -> None:
        self._parts, self._takes_s = parts, takes_s
        self.began: list[float] = []

    def parts(self) -> Iterator[int]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        for number in range(self._parts):
            self.began.append(loop.time())
            loop.hold_up(self._takes_s)
            yield number


@virtually
async def test_between_two_slices_others_have_the_event_loop() -> None:
    admission, _ = await _made()
    slices, work = Slices(admission), Work(5, 0.001)

    async def answer(name: str) -> list[int]:
        return [part async for part in slices.each(name, work.parts())]

    found = await asyncio.gather(answer("player alice"), answer("player bob"))
    assert [*found] == [[0, 1, 2, 3, 4]] * 2
    later = work.began[2:]  # the first slice of each does not wait
    pauses = [after - before for before, after in pairwise(later)]
    assert min(pauses) >= (1 + LIVE_SHARE) * 0.001 - 1e-9


@virtually
async def test_an_answer_costs_a_call_for_each_hundredth_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    admission, secret = await _made()
    slices, work = Slices(admission), Work(50, 0.02)
    call = Call(secret, "192.0.2.1")
    name = await admission.name(call, Action.PLAY_MOVES)
    charged: list[tuple[str, float]] = []
    monkeypatch.setattr(admission, "charge_time", lambda *what: charged.append(what))
    async for _ in slices.each(name, work.parts()):
        pass
    ((charged_name, seconds),) = charged
    assert (charged_name, round(seconds, 6)) == ("player alice", 1.0)
    monkeypatch.undo()
    admission.charge_time(name, seconds)  # a hundred calls, which are all that it may make in two seconds
    with pytest.raises(Refusal) as refused:
        await asyncio.gather(*(admission.name(call, Action.PLAY_MOVES) for _ in range(2)))
    assert refused.value.reason is Reason.RATE_LIMITED
