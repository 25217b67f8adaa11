"""The writes of one call, from callbacks: no task waits for them.

gRPC's write is a coroutine that waits for a future until the message has gone to the network. If a task awaits it, that
task and each coroutine in it run once more for every message. Where a thousand observers get an event, a sixth of the
server's processor time went there. Here a callback of that future runs the coroutine to its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.rpc.unread import Pending, Unread

Then: TypeAlias = Callable[[BaseException | None], None]  #: called with None, or with what failed


class Writes:
    """Writes messages on a call, one after the other, and counts those that are not read yet. Its headers must be sent.

    A message that is not read for `silence_ms` is abandoned with a Refusal READER_TOO_SLOW, unless `patient`. gRPC
    still sends an abandoned message, and the call can end with a status after it.
    """

    def __init__(self, context: Any, unread: Unread, limits: Limits, patient: bool) -> None:
        self._context = context
        self._write = context.write
        self._peer: str = context.peer()
        self._unread = unread
        self._limits = limits
        self._patient = patient
        self._coroutine: Any = None  # of the write under way
        self._waits_for: Any = None  # the future that it awaits
        self._then: Then | None = None
        self._pending: Pending | None = None
        self._too_late = False

    def begin(self, message: Any, then: Then) -> None:
        """Begin to write a message. Only one is written at a time.

        then: called once, after this has returned: with None when the message is written, or with what failed: an error
        of gRPC, READER_TOO_SLOW, or CancelledError after `cancel`.
        """
        size: int = len(message) if isinstance(message, bytes) else message.ByteSize()
        self._pending = self._unread.began(self._peer, size, None if self._patient else self._give_up)
        self._then = then
        self._coroutine = self._write(message)
        try:
            self._wait(self._coroutine.send(None))
        except StopIteration:
            asyncio.get_running_loop().call_soon(self._end, None)
        except BaseException as error:  # passed on, whatever it is
            asyncio.get_running_loop().call_soon(self._end, error)

    def cancel(self) -> None:
        """Abandon the write that is under way, if there is one."""
        waits_for = self._waits_for
        if waits_for is not None:
            waits_for.cancel()
            self._run(asyncio.CancelledError())

    def _wait(self, waits_for: Any) -> None:
        """Run the coroutine on when a future is done; None means in the next turn of the event loop."""
        if waits_for is None:
            loop = asyncio.get_running_loop()
            waits_for = loop.create_future()
            loop.call_soon(_set_done, waits_for)
        self._waits_for = waits_for
        waits_for.add_done_callback(self._go_on)

    def _go_on(self, done: Any) -> None:
        if done is self._waits_for:  # otherwise its write was abandoned
            self._run(None)

    def _run(self, error: BaseException | None) -> None:
        """Run the coroutine on, or raise an error in it."""
        coroutine = self._coroutine
        try:
            self._wait(coroutine.send(None) if error is None else coroutine.throw(error))
        except StopIteration:
            self._end(None)
        except BaseException as failure:  # passed on, whatever it is
            self._end(failure)

    def _end(self, error: BaseException | None) -> None:
        pending, then, too_late = self._pending, self._then, self._too_late
        self._coroutine = self._waits_for = self._then = self._pending = None
        self._too_late = False
        assert pending is not None
        assert then is not None
        if isinstance(error, asyncio.CancelledError):
            self._unread.end_began(self._context, pending.size)
            if too_late:
                error = unread(self._limits)
        self._unread.ended(pending)
        then(error)

    def _give_up(self) -> None:
        self._too_late = True
        self.cancel()


def _set_done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def unread(limits: Limits, resume_from: str | int = "") -> Refusal:
    """Return the refusal for a reader that has not read for too long."""
    then = f"resume after {resume_from}" if resume_from != "" else "ask again, and read it"
    message = f"nothing of this answer was read for {limits.silence_ms} ms: {then}"
    return Refusal(Reason.READER_TOO_SLOW, message, resume_from=resume_from)
