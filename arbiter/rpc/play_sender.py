"""Sends the items of one Play stream, from callbacks: no task wakes up for a message."""

from __future__ import annotations

import asyncio
from typing import Protocol

from arbiter_protos.v1 import play_pb2 as pb

from arbiter.rpc.writes import Writes
from arbiter.service.play.session import Session
from arbiter.service.ports.environment import Clock


class Messages(Protocol):
    """Reads and builds the messages of Play streams: `arbiter.rpc.play_messages.PlayMessages`."""

    def act(self, session: Session, act: pb.PlayAct, arrived: int) -> None:
        """Do what a bot's message asks; it arrived at the given instant."""

    def message(self, session: Session) -> tuple[bytes, int]:
        """Make a serialized `PlayResponse` of a stream's first items; return it with the instant of sending."""


class PlaySender:
    """Sends what is put on a stream, one message after the other, until the stream ends."""

    def __init__(self, session: Session, writes: Writes, messages: Messages, clock: Clock) -> None:
        self._session = session
        self._writes = writes
        self._messages = messages
        self._clock = clock
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def run(self) -> asyncio.Future[None]:
        """Begin to send. Return a future: done when the stream has ended and all is sent, or when a write failed."""
        self._next()
        return self._over

    def stop(self) -> None:
        """Send nothing more."""
        self._session.call_with_items(None)

    def _next(self) -> None:
        """Send the items that there are, or wait for more."""
        session = self._session
        if self._over.done():  # items came in the turn of the event loop in which the stream was left
            return
        try:
            if session.outbox:
                message, now = self._messages.message(session)
                session.write_began(now)
                self._writes.begin(message, self._sent)
            elif not session.is_done:
                session.call_with_items(self._next)
            else:
                self._over.set_result(None)
        except Exception as error:  # for the stream's task
            self._sent(error)

    def _sent(self, error: BaseException | None) -> None:
        if error is None:
            self._session.write_ended(self._clock.now_ms())
            self._next()
        elif not self._over.done():
            self._over.set_exception(error)
