"""Threads for the bot's plain methods: as many as are needed at once, and none that keeps the process alive."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, Final

IDLE_S: Final = 10.0  #: how long a thread waits for more work before it ends


class Threads:
    """Runs plain functions for an event loop, each in a thread of its own; threads that are free are used again.

    Their number has no limit, so that no function waits until a bot has finished thinking; a caller that needs a limit
    waits before it calls. The threads are daemons, so a bot that still thinks after its last match does not keep the
    program from ending.
    """

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._free = 0  # threads that wait, less the work that waits for them

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns, or raise what it raises; a caller that is cancelled leaves it running."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def settle(value: Any, error: BaseException | None) -> None:
            if answer.done():
                return  # cancelled meanwhile
            if error is None:
                answer.set_result(value)
            else:
                answer.set_exception(error)

        def work() -> None:
            value, error = None, None
            try:
                value = function(*arguments)
            except BaseException as raised:
                error = raised
            try:
                loop.call_soon_threadsafe(settle, value, error)
            except RuntimeError:
                return  # the loop is closed: nobody wants to know any more

        with self._lock:
            self._free -= 1
            needed = self._free < 0
            if needed:
                self._free += 1
        if needed:
            threading.Thread(target=self._serve, args=(work,), name="arbiter-bot", daemon=True).start()
        else:
            self._work.put(work)
        return await answer

    def _serve(self, work: Callable[[], None]) -> None:
        while True:
            work()
            with self._lock:
                self._free += 1
            try:
                work = self._work.get(timeout=IDLE_S)
            except queue.Empty:
                with self._lock:
                    if self._free > 0:
                        self._free -= 1
                        return
                work = self._work.get()  # it was given some at the last moment
