"""Deeds of several steps that are done whole, whoever waits for them.

A call that is cancelled stops at the step that it waits for. Where the next step has to follow (a token that is marked
as revoked is also to be forgotten), the steps run in a task of their own.
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

    async def run(self, deed: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns; if the caller is cancelled the coroutine goes on."""
        task = asyncio.create_task(deed)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return await asyncio.shield(task)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever still waits gets it; if nobody does, it was a refusal to somebody who left
