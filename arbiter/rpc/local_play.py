"""Play calls without a network: the bot plays in the server's process, and its messages are passed on as they are.

Everything else is as over the network: the token is checked, the session is the same, and so are its limits, its clocks
and its pings.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import grpc
from arbiter_protos.v1 import play_pb2 as pb

from arbiter.errors import Refusal
from arbiter.rpc.play_stream import PlayStreams
from arbiter.service.ports.log import Logger
from arbiter.service.ports.meter import Meter

PEER: Final = "ipv4:127.0.0.1:0"  #: where the caller is


class _Queue:
    """Messages from one end of a call to the other; None after the last one."""

    def __init__(self) -> None:
        self._messages: deque[Any] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._closed = False

    def put(self, message: Any) -> None:
        """Add a message, unless the queue is closed."""
        if not self._closed:
            self._messages.append(message)
            self._wake()

    def close(self) -> None:
        """Add no more."""
        self._closed = True
        self._wake()

    async def next(self) -> Any:
        """Return the next message."""
        while not self._messages:
            if self._closed:
                return None
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        return self._messages.popleft()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


class LocalCall:
    """A Play call of a bot in this process, which begins now: both its ends.

    The server's end has the methods of `arbiter.rpc.servicing.ContextPart`.
    """

    def __init__(self, token: str, streams: PlayStreams, log: Logger, meter: Meter) -> None:
        self._token = token
        self._log = log
        self._meter = meter
        self._asked = _Queue()
        self._answers = _Queue()
        self._callbacks = list[Callable[[Any], object]]()
        self._refusal: Refusal | None = None
        self._serving = asyncio.create_task(self._serve(streams))
        self._serving.add_done_callback(self._done)

    # The bot's end

    def send(self, request: pb.PlayRequest) -> None:
        """Send a message to the server."""
        self._asked.put(request)

    def close(self) -> None:
        """Send no more; the server answers what was sent, and ends the call."""
        self._asked.close()

    def cancel(self) -> None:
        """End the call at once."""
        self._serving.cancel()

    async def next(self) -> pb.PlayResponse | None:
        """Return the server's next message, None after the last one. Raises the Refusal with which the call ended."""
        message = await self._answers.next()
        if message is None:
            if self._refusal is not None:
                raise self._refusal
            return None
        return message if isinstance(message, pb.PlayResponse) else pb.PlayResponse.FromString(message)

    # The server's end

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        """Return the metadata of the call."""
        return (("authorization", f"Bearer {self._token}"),)

    def peer(self) -> str:
        """Return the bot's address."""
        return PEER

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Add a function to be called with this at the end of the call."""
        self._callbacks.append(callback)

    async def send_initial_metadata(self, metadata: tuple[()]) -> None:
        """There are no headers."""

    async def read(self) -> Any:
        """Return the bot's next message, EOF after the last one."""
        message = await self._asked.next()
        return grpc.aio.EOF if message is None else message

    async def write(self, message: Any) -> None:
        """Send a message to the bot."""
        self._answers.put(message)

    async def _serve(self, streams: PlayStreams) -> None:
        try:
            await streams.serve(self)
        except Refusal as refusal:
            self._meter.refused(refusal)
            self._refusal = refusal
        except Exception as error:
            self._log.error("call_failed", method="Play, in this process", exc_info=error)

    def _done(self, _: object) -> None:
        self._asked.close()
        self._answers.close()
        for callback in self._callbacks:
            callback(self)
