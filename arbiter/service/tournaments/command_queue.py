"""The queue of commands for the task of a tournament's driver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from arbiter.errors import Refusal
from arbiter.tournaments import commands as do


class QueuedCommand(NamedTuple):
    """A command in the queue. answer: the future of its answer, None if no caller waits for it."""

    command: do.Command
    answer: asyncio.Future[Refusal | None] | None = None

    def settle(self, answer: Exception | None) -> None:
        """Set the answer: a refusal, an error, or None if the command was accepted."""
        if self.answer is None or self.answer.done():
            return
        if answer is None or isinstance(answer, Refusal):
            self.answer.set_result(answer)
        else:
            self.answer.set_exception(answer)


class CommandQueue:
    """The commands that wait for the task, in order, and what wakes it."""

    def __init__(self) -> None:
        self.waiting: list[QueuedCommand] = []
        self._wake = asyncio.Event()
        self._late: Callable[[do.Command], Refusal | None] | None = None

    def submit(self, command: do.Command) -> asyncio.Future[Refusal | None]:
        """Queue a command. The future gets a refusal, or None once the command's events are durable."""
        answer: asyncio.Future[Refusal | None] = asyncio.get_running_loop().create_future()
        self.add(command, answer)
        return answer

    def add(self, command: do.Command, answer: asyncio.Future[Refusal | None] | None = None) -> None:
        """Queue a command, or answer it if the queue is closed. answer: as in `QueuedCommand`."""
        queued = QueuedCommand(command, answer)
        if self._late is not None:
            queued.settle(self._late(command))
        else:
            self.waiting.append(queued)
            self.wake()

    def take(self) -> list[QueuedCommand]:
        """Return all commands that wait, and remove them."""
        taken, self.waiting = self.waiting, []
        return taken

    def close(self, late: Callable[[do.Command], Refusal | None]) -> None:
        """Answer the commands that wait, and those that are still to come, by a function."""
        self._late = late
        for queued in self.take():
            queued.settle(late(queued.command))

    def wake(self) -> None:
        """Make the task check the tournament now."""
        self._wake.set()

    async def wait(self, most_s: float | None) -> None:
        """Wait until a command is queued or the task is woken, and no longer than some seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                await self._wake.wait()
        self._wake.clear()
