"""A command that waits in the queue of a tournament's driver."""

from __future__ import annotations

import asyncio
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
