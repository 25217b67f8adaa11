"""What tests of feeds share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager

import pytest

from arbiter.matches.commands import Play
from arbiter.matches.match import Match
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.requests import Receipt
from arbiter.service.matches.live_match import Answer
from arbiter.service.observing.feed import Batch, Reached, Stream
from arbiter.service.observing.relay import Then
from arbiter.service.record.published import Published
from arbiter.testing.clock import settle
from arbiter.testing.guarantees import Bookmarked, Item, Received
from arbiter.testing.in_memory import InMemoryArbiter

AT_ONCE = Policy(start=ClockStart.AT_ONCE)


class Reader:
    """Reads a stream to its end, or until it is stopped, and keeps the items.

    relayed: published events are passed on to `_write`. They are written a turn of the event loop later.
    """

    relayed = False

    def __init__(self, opening: AbstractAsyncContextManager[Stream]) -> None:
        self.items: list[Item] = []
        self.places: list[int] = []  # of each event in the journal
        self.marks: list[int] = []
        self.labels: set[str] = set()
        self.task = asyncio.create_task(self._read(opening))

    async def _read(self, opening: AbstractAsyncContextManager[Stream]) -> None:
        async with opening as stream:
            if self.relayed:
                stream.relay_to(self._write)
            async for batch in stream:
                self._keep(batch)

    def _write(self, events: Sequence[Published], then: Then) -> bool:
        self._keep(list(events))
        asyncio.get_running_loop().call_soon(then, None)
        return True

    def _keep(self, batch: Batch) -> None:
        if isinstance(batch, Reached):
            self.items.append(Bookmarked(batch.place))
            self.marks.append(batch.place)
            return
        for event in batch:
            self.items.append(Received(event.match_id, event.revision, event.body))
            self.places.append(event.sequence)
            self.labels.add(event.label)

    @property
    def events(self) -> list[Received]:
        return [item for item in self.items if isinstance(item, Received)]

    async def stop(self) -> list[Received]:
        await settle()
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        return self.events


async def move(server: InMemoryArbiter, match_id: str) -> Match:
    """Play the first legal move of a match; return the match after it."""
    assert isinstance(await try_to_move(server, match_id), Receipt)
    return await server.arbiter.matches.match(match_id)


async def try_to_move(server: InMemoryArbiter, match_id: str) -> Answer:
    match = await server.arbiter.matches.match(match_id)
    player, line, now = match.players[match.turn - 1], min(match.game.moves(match.position)), server.clock.now_ms()
    request = f"m{match.ply}"
    return await server.arbiter.matches.request(
        player, match_id, lambda seat: Play(seat, request, match.ply, line, now)
    )


async def whole(server: InMemoryArbiter, match_id: str = "") -> list[Received]:
    records = await (server.journal.read(match_id) if match_id else server.journal.read_all(0, 1_000_000))
    return [Received(record.match_id, record.revision, record.body) for record in records]


@pytest.fixture(scope="module", params=[False, True], autouse=True)
def relayed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run each test twice: the task reads all events, and published ones come from the relay."""
    Reader.relayed = request.param
    yield
    Reader.relayed = False
