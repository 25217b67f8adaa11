"""The event stream of one browser: first the past from the journal, then the new events.

The past is sent through ASGI, which waits for a slow connection. New events are written by the broadcast, directly to
the connection. A browser whose connection is too slow leaves the broadcast, and reads the missing events from the
journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Final, Protocol

import orjson
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.web.broadcast import Broadcast
from arbiter.web.browser_connections import DIRECT, Direct, disconnected
from arbiter.web.callers import HEADERS, status_of
from arbiter.web.channels import Message, Subscriber, Watch

RETRY: Final = b"retry: 1000\n\n"
PASSING: Final = (Reason.STORE_UNAVAILABLE, Reason.DRAINING)  #: refusals after which the same request is soon answered
STREAM_HEADERS: Final = {**HEADERS, "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store"}


class Past(Protocol):
    """The past events of a watch, from the journal."""

    async def is_complete(self) -> bool:
        """Return whether there will be no new events. May raise a Refusal."""
        ...

    def messages(self, reader: str, after: str, until: int | None) -> AsyncGenerator[Message]:
        """Yield the events after an id, up to a journal place; None for all."""
        ...


class EventStream(Response):
    """A response that ends after the last event, or when the browser disconnects, or when the gate ends it.

    A refusal before the first event is the response. A later one is an event named `refusal`; the browser then
    reconnects. So it does if the refusal is one of PASSING: a browser never repeats a request that had an error's
    status.
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
        """Send the events, and stop as soon as the browser has disconnected."""
        if scope["method"] == "HEAD":
            return await Response(headers=STREAM_HEADERS)(scope, receive, send)
        tasks = [asyncio.create_task(self._send(scope, receive, send)), asyncio.create_task(disconnected(receive))]
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
                await self._send_events(reader, scope, send)
            await self._write(send, b"event: over\ndata:\n\n")
        except Refusal as refusal:
            said = {"reason": refusal.reason, "message": refusal.message}
            if not self._begun and refusal.reason not in PASSING:
                return await JSONResponse(said, status_of(refusal))(scope, receive, send)
            await self._write(send, b"event: refusal\ndata: %b\n\n" % orjson.dumps(said))
        except TimeoutError:
            return None  # nothing was read for too long: the connection is closed; a live browser reconnects
        return await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_events(self, reader: str, scope: Scope, send: Send) -> None:
        """Send past and new events, until there are no more."""
        while not await self._past.is_complete():
            connection: Direct = scope["extensions"][DIRECT]
            subscriber = Subscriber(connection)
            async with self._broadcast.joined(self._watch, subscriber) as place:
                if await self._send_past(reader, send, place):
                    return
                await self._write(send, self._watch.bookmark(place))
                if not self._watch.single_match:
                    self._after = str(place)
                subscriber.resume()
                if await subscriber.finished:
                    return
                self._after = str(subscriber.id) if subscriber.id else self._after
            async with asyncio.timeout(self._patience_s):
                await connection.drained()
        await self._send_past(reader, send, None)

    async def _send_past(self, reader: str, send: Send, until: int | None) -> bool:
        """Send the events in the journal up to a place; return whether the last event of the stream was among them."""
        async with aclosing(self._past.messages(reader, self._after, until)) as past:
            async for message in past:
                await self._write(send, message.plain)
                self._after = str(message.id) if message.id else self._after
                if message.is_last:
                    return True
        return False

    async def _write(self, send: Send, content: bytes) -> None:
        async with asyncio.timeout(self._patience_s):
            if not self._begun:
                headers = [(name.encode(), value.encode()) for name, value in STREAM_HEADERS.items()]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                self._begun, content = True, RETRY + content
            if content:
                await send({"type": "http.response.body", "body": content, "more_body": True})
