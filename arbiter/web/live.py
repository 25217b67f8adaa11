"""Streams of server-sent events: what a page needs to stay current.

Each event has an id: the revision in a match's stream, the token in that of all matches. A browser that lost its
connection sends the last id back (`Last-Event-ID`) and gets what came since. Comments say that an idle stream lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from arbiter.config import Limits
from arbiter.errors import Refusal
from arbiter.matches.events import EventKind
from arbiter.service.gate.gate import Gate
from arbiter.service.gate.matches import OfAll, OfMatch
from arbiter.service.observing.feed import Batch, Reached, Stream
from arbiter.service.ports.journal import Subject
from arbiter.service.record.published import Published
from arbiter.web.door import HEADERS, call_of, status_of
from arbiter.web.drawings import Drawings

MOST_MATCHES: Final = 60  #: that one stream of several matches is asked for
RETRY: Final = b"retry: 1000\n\n"

Write = Callable[[Batch], AsyncIterator[bytes]]


class Live:
    """The streams of events for pages."""

    def __init__(self, gate: Gate, limits: Limits) -> None:
        self._gate = gate
        self._limits = limits
        self._drawings = Drawings()

    async def of_match(self, request: Request) -> Response:
        """Answer with the events of a match after a revision."""
        match_id, after = request.path_params["match"], _last_id(request)
        revision = int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0
        call, watched = call_of(request), OfMatch(match_id, revision)
        seated = bool(request.query_params.get("seated"))  # the player moves on this page: it is there meanwhile
        return EventStream(self._gate.matches.observe(call, watched, seated), self._one, self._limits)

    async def of_several(self, request: Request) -> Response:
        """Answer with the events of some matches after a token; without one, with where each stands, and its events.

        With `begun` in the query it is told too that another match has begun: any, or one with the label `begun`.
        """
        wanted = frozenset(request.query_params.getlist("match")[:MOST_MATCHES])
        call, after, label = call_of(request), _last_id(request), request.query_params.get("begun")
        to_tell = [] if after else sorted(wanted)

        async def write(batch: Batch) -> AsyncIterator[bytes]:
            while to_tell:  # the stream has begun: whatever happens from now on is in it
                match = await self._gate.matches.get(call, to_tell.pop())
                yield b"data: %s\n\n" % await self._drawings.whole(match, self._gate.server.facts().now_ms)
            async for part in self._several(batch, wanted, label):
                yield part

        return EventStream(self._gate.matches.observe(call, OfAll(after, "")), write, self._limits)

    async def _one(self, batch: Batch) -> AsyncIterator[bytes]:
        if isinstance(batch, Reached):
            yield b": here\n\n"
            return
        for event in batch:
            yield b"id: %d\ndata: %s\n\n" % (event.revision, await self._form(event))

    async def _several(self, batch: Batch, wanted: frozenset[str], label: str | None) -> AsyncIterator[bytes]:
        if isinstance(batch, Reached):
            yield b"id: %d\nevent: here\ndata:\n\n" % batch.place
            return
        for event in batch:
            if event.match_id in wanted and event.subject is Subject.MATCH:
                yield b"id: %d\ndata: %s\n\n" % (event.sequence, await self._form(event))
            elif label is not None and event.event.kind is EventKind.STARTED and label in ("", event.label):
                yield b"id: %d\nevent: begun\ndata:\n\n" % event.sequence

    async def _form(self, event: Published) -> bytes:
        find = partial(self._gate.matches.at_event, event)
        return await self._drawings.of(event, find, self._gate.server.facts().now_ms)


class EventStream(Response):
    """An answer that goes on until its events end, its reader leaves, or the gate ends it.

    A refusal before the first event is the answer; later it is an event called `refusal`, after which the browser asks
    again by itself.
    """

    def __init__(self, stream: AbstractAsyncContextManager[Stream], write: Write, limits: Limits) -> None:
        self.background = None
        self._stream = stream
        self._write = write
        self._patience_s = limits.silence_ms / 1000

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events, and stop as soon as the reader has left."""
        tasks = [asyncio.create_task(self._send(scope, receive, send)), asyncio.create_task(_left(receive))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()

    async def _send(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False
        try:
            async with self._stream as stream:
                headers = {**HEADERS, "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store"}
                await send(
                    {
                        "type": "http.response.start",
                        "status": 200,
                        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
                    }
                )
                begun = True
                await self._part(send, RETRY)
                async for batch in stream:
                    await self._part(send, b"".join([part async for part in self._write(batch)]))
            await self._part(send, b"event: over\ndata:\n\n")
        except Refusal as refusal:
            if not begun:
                answer = JSONResponse({"reason": refusal.reason, "message": refusal.message}, status_of(refusal))
                return await answer(scope, receive, send)
            said = orjson.dumps({"reason": refusal.reason, "message": refusal.message})
            await self._part(send, b"event: refusal\ndata: %s\n\n" % said)
        except TimeoutError:
            return None  # nothing was read for too long: the connection is closed, and a browser that lives comes back
        return await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _part(self, send: Send, part: bytes) -> None:
        if part:
            async with asyncio.timeout(self._patience_s):
                await send({"type": "http.response.body", "body": part, "more_body": True})


async def _left(receive: Callable[[], Awaitable[object]]) -> None:
    """Wait until the reader has left."""
    while True:
        message = await receive()
        if isinstance(message, dict) and message["type"] == "http.disconnect":
            return


def _last_id(request: Request) -> str:
    """Return the id of the last event that the browser has: it sends the header when it comes back by itself."""
    return request.headers.get("last-event-id") or request.query_params.get("after", "")
