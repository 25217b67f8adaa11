"""Threads for the bot's plain methods: as many as are needed at once; they do not keep the process alive."""

from __future__ import annotations

import asyncio
import contextvars
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
        self._free = 0  # waiting threads minus queued functions

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function, or raise its error. If the caller is cancelled, the function goes on."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()  # in which the function runs, as a task would

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
                value = context.run(function, *arguments)
            except BaseException as raised:
                error = raised
            try:
                loop.call_soon_threadsafe(settle, value, error)
            except RuntimeError:
                return  # the loop is closed: the result is not needed any more

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
                work = self._work.get()  # a function was queued at the last moment
