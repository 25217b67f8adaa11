"""Long work in a thread, one piece after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class OneThread:
    """Runs functions in a thread, one at a time.

    A thread goes on when its caller has left, and the next function waits for it. Otherwise callers who leave again and
    again would occupy all threads, which take the interpreter from the event loop.
    """

    def __init__(self) -> None:
        self._line = asyncio.Lock()

    async def run(self, work: Callable[..., T], *given: Any) -> T:
        """Return what a function returns."""
        await self._line.acquire()
        running = asyncio.create_task(asyncio.to_thread(work, *given))
        running.add_done_callback(self._ended)
        return await asyncio.shield(running)

    def _ended(self, running: asyncio.Task[Any]) -> None:
        self._line.release()
        if not running.cancelled():
            running.exception()  # read it, so that asyncio does not log it if the caller has left
