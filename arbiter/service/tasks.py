"""The tasks that a component has started: they are kept until they are over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks:
    """Runs coroutines as tasks. failed: is told of an error that one raises; if it is None, asyncio logs the error."""

    def __init__(self, failed: Callable[[BaseException], object] | None = None) -> None:
        self._failed = failed
        self._running: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._running)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._done)

    async def finish(self) -> None:
        """Wait for all of them but the calling one."""
        await asyncio.gather(*self._running - {asyncio.current_task()}, return_exceptions=True)

    async def cancel(self) -> None:
        """Cancel all of them, and wait until they are over."""
        for task in self._running:
            task.cancel()
        await self.finish()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if self._failed is not None and not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)
