"""Servers in memory that share a store, and what their tests look at."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from arbiter.bootstrap.store import Store
from arbiter.config import Limits
from arbiter.matches.events import Event, Moved
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import check_chain
from arbiter.service.observing.feed import Reached, Stream
from arbiter.service.play.session import TurnItem
from arbiter.service.ports.replicas import HandOvers, Heartbeat, no_hand_overs
from arbiter.service.sharing.replica import BEAT_S
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas

AT_ONCE = Policy(start=ClockStart.AT_ONCE)
NUMBERS = itertools.count(1)
SILENCE_MS = Limits().server_silence_ms
NOTICED_S = SILENCE_MS / 1_000 + 2 * BEAT_S


async def servers(number: int, **given: Any) -> list[InMemoryArbiter]:
    """Return servers that share a store. given: their settings."""
    first = InMemoryArbiter(Store(MemoryJournal(), MemoryDirectory(), replicas=MemoryReplicas()), **given)
    made = [first, *(first.beside() for _ in range(number - 1))]
    for server in made:
        await server.share()
    return made


class RemoteReplicas(MemoryReplicas):
    """The rows of replicas in a store that takes a moment to answer."""

    async def beat(self, replica: str, silence_ms: int, hand_overs: HandOvers = no_hand_overs) -> Heartbeat | None:
        """Say that a replica is alive."""
        await asyncio.sleep(0.01)
        return await super().beat(replica, silence_ms, hand_overs)


async def events(server: InMemoryArbiter, match_id: str) -> list[Event]:
    return check_chain([stored.body for stored in await server.journal.read(match_id)])


async def kinds(server: InMemoryArbiter, match_id: str) -> list[str]:
    return [event.kind.value for event in await events(server, match_id)]


async def charges(server: InMemoryArbiter, match_id: str) -> list[int]:
    return [event.ledger.charged for event in await events(server, match_id) if isinstance(event, Moved)]


async def observed(stream: Stream, to: list[int]) -> None:
    """Collect the places in the journal that a stream sends."""
    async for batch in stream:
        if not isinstance(batch, Reached):
            to += [event.sequence for event in batch]


async def bot(reader: StreamReader) -> None:
    """Answer every turn after a while, until the stream ends."""
    while reader.session.ended is None:
        for item in await reader.receive():
            if isinstance(item, TurnItem):
                await asyncio.sleep(0.2)
                if reader.session.ended is None:
                    move = min(item.match.game.moves(item.match.position))
                    reader.play(item.match.id, item.match.ply, move, f"request {next(NUMBERS)}")
        await asyncio.sleep(0.05)


def items(reader: StreamReader, kind: type[Any]) -> list[Any]:
    return [item for item in reader.received if isinstance(item, kind)]
