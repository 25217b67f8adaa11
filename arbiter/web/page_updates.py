"""Streams of server-sent events, which keep a page current.

Each event has an id: the revision in the stream of one match, the journal place in a stream of several. A browser that
has lost its connection sends the last id (`Last-Event-ID`) and gets the events after it. An idle stream sends comments,
so that the browser knows that it is alive.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from arbiter.config import Limits
from arbiter.matches.match import Phase
from arbiter.service.gate.admission import Call
from arbiter.service.gate.gate import Gate
from arbiter.service.gate.match_calls import OfAll, OfMatch
from arbiter.service.record.published import Published
from arbiter.web.broadcast import Broadcast
from arbiter.web.callers import call_of
from arbiter.web.channels import BEGUN, Message, Watch, is_beginning, make_message
from arbiter.web.drawings import Drawings
from arbiter.web.event_stream import EventStream
from arbiter.web.grids import live_matches

MOST_MATCHES: Final = 60  #: in one stream of several matches


class Live:
    """The streams of events for pages."""

    def __init__(self, gate: Gate, limits: Limits) -> None:
        self._gate = gate
        self._limits = limits
        self._drawings = Drawings()
        self._broadcast = Broadcast(gate.matches, self._to_json, limits)

    async def of_match(self, request: Request) -> Response:
        """Answer with the events of a match after a revision."""
        match_id, after = request.path_params["match"], _last_id(request)
        revision = after if after.isascii() and after.isdigit() and len(after) < 18 else "0"
        seated = bool(request.query_params.get("seated"))  # the player is present while this stream is open
        past = PastOfOne(self._gate, self._to_json, match_id)
        return self._stream(request, Watch(frozenset((match_id,)), single_match=True), past, revision, seated)

    async def of_several(self, request: Request) -> Response:
        """Answer with the events of some matches after a token; without one, with the state of each, then its events.

        With `begun` in the query the stream also announces new matches: all, or those with the label `begun`.
        """
        wanted = frozenset(request.query_params.getlist("match")[:MOST_MATCHES])
        watch = Watch(wanted, single_match=False, label=request.query_params.get("begun"))
        past = PastOfSeveral(self._gate, self._to_json, self._drawings, watch, call_of(request))
        return self._stream(request, watch, past, _last_id(request))

    def _stream(
        self, request: Request, watch: Watch, past: PastOfOne | PastOfSeveral, after: str, seated: bool = False
    ) -> EventStream:
        watching = self._gate.matches.watching(call_of(request), seated)
        return EventStream(watching, watch, past, after, self._broadcast, self._limits)

    async def _to_json(self, event: Published) -> bytes:
        """Return an event of a match as JSON. It is made only once."""
        find = partial(self._gate.matches.at_event, event)
        return await self._drawings.of(event, find, self._gate.server.facts().now_ms)


ToJson = Callable[[Published], Awaitable[bytes]]


class PastOfOne:
    """The events of a match in the journal."""

    def __init__(self, gate: Gate, to_json: ToJson, match_id: str) -> None:
        self._gate = gate
        self._to_json = to_json
        self._match_id = match_id
        self._watch = Watch(frozenset((match_id,)), single_match=True)

    async def is_complete(self) -> bool:
        """Return whether the match has no further events. Raises Refusal MATCH_NOT_FOUND."""
        return (await self._gate.matches.watched(self._match_id)).phase is Phase.ENDED

    async def messages(self, reader: str, after: str, until: int | None) -> AsyncGenerator[Message]:
        """Yield the events after a revision, up to a journal place; None for all."""
        past = self._gate.matches.past(reader, OfMatch(self._match_id, int(after)), until)
        async with aclosing(past):
            async for events in past:
                parts = [self._watch.encode(event, await self._to_json(event)) for event in events]
                yield make_message(events[-1].revision, b"".join(parts), self._watch.is_last(events[-1]))


class PastOfSeveral:
    """The events of some matches in the journal; for a new viewer, the state of each match instead.

    The new viewer also learns if a match has begun since the page was made.
    """

    def __init__(self, gate: Gate, to_json: ToJson, drawings: Drawings, watch: Watch, call: Call) -> None:
        self._gate = gate
        self._to_json = to_json
        self._drawings = drawings
        self._watch = watch
        self._call = call

    async def is_complete(self) -> bool:
        """Return False: another match may begin at any time."""
        return False

    async def messages(self, reader: str, after: str, until: int | None) -> AsyncGenerator[Message]:
        """Yield the events after a journal place up to another one; if `after` is '', the state of each match."""
        if not after:
            for match_id in sorted(self._watch.matches):
                match = await self._gate.matches.get(self._call, match_id)
                whole = await self._drawings.whole(match, self._gate.server.facts().now_ms)
                yield make_message(0, b"data: %b\n\n" % whole)
            if await self._is_another_live():
                yield make_message(0, BEGUN)
            return
        past = self._gate.matches.past(reader, OfAll(after, ""), until)
        async with aclosing(past):
            async for events in past:
                parts = [await self._part(event) for event in events]
                yield make_message(events[-1].sequence, b"".join(parts))

    async def _is_another_live(self) -> bool:
        """Return whether the page, made anew, would show another match: one that has begun since it was made."""
        if self._watch.label is None:
            return False
        live = await live_matches(self._gate, self._call, self._watch.label)
        return any(match.id not in self._watch.matches for match in live)

    async def _part(self, event: Published) -> bytes:
        if self._watch.includes(event):
            return self._watch.encode(event, await self._to_json(event))
        begins = is_beginning(event) and self._watch.announces(event)
        return self._watch.encode(event, b"") if begins else b""


def _last_id(request: Request) -> str:
    """Return the id of the last event that the browser has. A browser that reconnects sends it in a header."""
    return request.headers.get("last-event-id") or request.query_params.get("after", "")
