"""One browser's stream of events: what the journal has of the past first, then what happens.

The past goes the way of every answer, with its back pressure. What happens is written by the broadcast, straight to the
connection. A browser whose connection is slow leaves the broadcast, and is told from the journal what it has missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Final, Protocol

import orjson
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from arbiter.config import Limits
from arbiter.errors import Refusal
from arbiter.web.broadcast import Broadcast
from arbiter.web.channels import Message, Viewer, Watch
from arbiter.web.connections import DIRECT, Direct
from arbiter.web.door import HEADERS, status_of

RETRY: Final = b"retry: 1000\n\n"
STREAM_HEADERS: Final = {**HEADERS, "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store"}


class Past(Protocol):
    """What the journal has of what is watched."""

    async def is_whole(self) -> bool:
        """Say whether nothing is to come. May raise a Refusal."""
        ...

    def told(self, reader: str, after: str, until: int | None) -> AsyncGenerator[Message]:
        """Yield what is told after an id, up to a journal place; None for all."""
        ...


class EventStream(Response):
    """An answer that goes on until its events end, its reader leaves, or the gate ends it.

    A refusal before the first event is the answer; later it is an event called `refusal`, after which the browser asks
    again by itself.
    """

    def __init__(
        self,
        watching: AbstractAsyncContextManager[str],
        watch: Watch,
        past: Past,
        after: str,
        broadcast: Broadcast,
        limits: Limits,
    ) -> None:
        self.background = None
        self._watching = watching
        self._watch = watch
        self._past = past
        self._after = after
        self._broadcast = broadcast
        self._patience_s = limits.silence_ms / 1000
        self._begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events, and stop as soon as the reader has left."""
        if scope["method"] == "HEAD":
            return await Response(headers=STREAM_HEADERS)(scope, receive, send)
        tasks = [asyncio.create_task(self._send(scope, receive, send)), asyncio.create_task(_left(receive))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()
        return None

    async def _send(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with self._watching as reader:
                await self._tell(reader, scope, send)
            await self._part(send, b"event: over\ndata:\n\n")
        except Refusal as refusal:
            said = {"reason": refusal.reason, "message": refusal.message}
            if not self._begun:
                return await JSONResponse(said, status_of(refusal))(scope, receive, send)
            await self._part(send, b"event: refusal\ndata: %b\n\n" % orjson.dumps(said))
        except TimeoutError:
            return None  # nothing was read for too long: the connection is closed, and a browser that lives comes back
        return await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, reader: str, scope: Scope, send: Send) -> None:
        """Tell the past and what happens, until nothing is to come."""
        while not await self._past.is_whole():
            connection: Direct = scope["extensions"][DIRECT]
            viewer = Viewer(connection)
            async with self._broadcast.joined(self._watch, viewer) as place:
                if await self._tell_past(reader, send, place):
                    return
                await self._part(send, self._watch.here(place))
                if not self._watch.of_one:
                    self._after = str(place)
                viewer.go_on()
                if await viewer.parted:
                    return
                self._after = str(viewer.id) if viewer.id else self._after
            async with asyncio.timeout(self._patience_s):
                await connection.drained()
        await self._tell_past(reader, send, None)

    async def _tell_past(self, reader: str, send: Send, until: int | None) -> bool:
        """Tell what the journal has up to a place; return whether nothing comes after it."""
        async with aclosing(self._past.told(reader, self._after, until)) as past:
            async for told in past:
                await self._part(send, told.plain)
                self._after = str(told.id) if told.id else self._after
                if told.over:
                    return True
        return False

    async def _part(self, send: Send, part: bytes) -> None:
        async with asyncio.timeout(self._patience_s):
            if not self._begun:
                headers = [(name.encode(), value.encode()) for name, value in STREAM_HEADERS.items()]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                self._begun, part = True, RETRY + part
            if part:
                await send({"type": "http.response.body", "body": part, "more_body": True})


async def _left(receive: Callable[[], Awaitable[object]]) -> None:
    """Wait until the reader has left."""
    while True:
        message = await receive()
        if isinstance(message, dict) and message["type"] == "http.disconnect":
            return
