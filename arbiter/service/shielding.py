"""Shielding from cancellation: work of several steps that runs to its end, even if its caller is cancelled.

A coroutine that is cancelled stops at its current await. Sometimes the steps after it must follow: a token that is
marked as revoked must also leave the cache. Such steps run in a task of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Shielded:
    """Runs coroutines to their end."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine; if the caller is cancelled, the coroutine goes on."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return await asyncio.shield(task)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # read it, so that asyncio does not log it if the caller has left
