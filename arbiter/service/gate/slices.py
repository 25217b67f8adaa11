"""Long answers in slices: live matches have the event loop between two of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Final, TypeVar

from arbiter.service.gate.admission import Admission

LIVE_SHARE: Final = 2  #: how many times as long as for a slice everything else has the event loop

T = TypeVar("T")


class Slices:
    """The long answers of all callers together take at most a third of the event loop: one slice at a time, in turn.

    An answer of one slice does not wait. Each caller is charged for the time that its answers take.
    """

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._turn = asyncio.Lock()  # it is granted in the order in which it was asked for

    async def each(self, name: str, parts: Iterator[T]) -> AsyncGenerator[T, None]:
        """Yield the parts of an answer, each of which is made when its turn has come.

        name: that under which the caller's budget is counted. A part should take a millisecond or so.
        """
        now = asyncio.get_running_loop().time
        began = now()
        part = next(parts, None)
        took_s = spent_s = now() - began
        try:
            while part is not None:
                yield part
                async with self._turn:
                    await asyncio.sleep(LIVE_SHARE * took_s)
                    began = now()
                    part = next(parts, None)
                    took_s = now() - began
                spent_s += took_s
        finally:
            self._admission.charge_time(name, spent_s)
