"""Drawings of live matches: one for each move, whatever the number of viewers."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import orjson

from arbiter.matches.events import Moved
from arbiter.matches.match import Match
from arbiter.service.record.published import Published
from arbiter.web.boards import shown
from arbiter.web.states import event_state, is_move, moved_state, positions, shown_at, shown_move, state_of

KEPT: Final = 1_000  #: matches whose last position is kept, so that the next move is drawn without replaying
FORM: Final = "page"  #: the key of an event's JSON for browsers


class Drawings:
    """Events as JSON for browsers. It is made for the first viewer, and kept with the event for the others."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, tuple[int, Any]] = OrderedDict()
        self._whole: OrderedDict[str, tuple[int, bytes]] = OrderedDict()
        self._drawing: dict[tuple[str, int], asyncio.Lock] = {}

    async def of(self, published: Published, match: Callable[[], Awaitable[Match]], now_ms: int) -> bytes:
        """Return an event of a match as JSON. `match` returns the match, which may already have later events."""
        form = published.forms.get(FORM)
        if form is None:
            place = published.match_id, published.revision
            lock = self._drawing.setdefault(place, asyncio.Lock())  # a thousand viewers may ask at once
            try:
                async with lock:
                    form = published.forms.get(FORM) or await self._draw(published, await match(), now_ms)
                    published.forms[FORM] = form
            finally:
                self._drawing.pop(place, None)
        return form

    async def _draw(self, published: Published, match: Match, now_ms: int) -> bytes:
        if is_move(published):
            values = await self._moved(published, match, now_ms)
        else:
            values = event_state(match, published, now_ms)
        return orjson.dumps({"match": match.id, **values}, default=list)  # named tuples

    async def whole(self, match: Match, now_ms: int) -> bytes:
        """Return the state of a match with its board, as JSON: the same bytes for all viewers until its next event."""
        revision, kept = self._whole.get(match.id, (0, b""))
        if revision != match.revision:
            position = await asyncio.to_thread(shown_at, match, match.ply)
            state = {"match": match.id, **state_of(match, now_ms), **position.json()}
            kept = orjson.dumps(state, default=list)
            self._whole[match.id] = match.revision, kept
            while len(self._whole) > KEPT:
                self._whole.popitem(last=False)
        return kept

    async def _moved(self, published: Published, match: Match, now_ms: int) -> dict[str, Any]:
        event, game = cast("Moved", published.event), match.game
        ply, before = self._last.get(match.id, (-1, None))
        if ply != event.ply:
            line = await asyncio.to_thread(positions, game, match.created.position, match.moves[: event.ply])
            before = line[-1]
        after = event.after if event.after is not None else game.play(before, event.move)
        self._last[match.id] = event.ply + 1, after
        self._last.move_to_end(match.id)
        while len(self._last) > KEPT:
            self._last.popitem(last=False)
        named = shown_move(game, before, event.ply, event.move)
        return moved_state(match, published, shown(game, after, game.steps(before, event.move), before), now_ms, named)
