"""Shielding from cancellation: work of several steps that is done to its end, even if its caller is cancelled.

A coroutine that is cancelled stops at the await that it has reached. Where the steps after it have to follow (a token
that is marked as revoked has to leave the cache too), the steps run in a task of their own.
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
            task.exception()  # whoever still waits gets it; if nobody does, it was a refusal to somebody who left
