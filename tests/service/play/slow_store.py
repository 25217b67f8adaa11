"""A store that keeps moves and streams for a while."""

from __future__ import annotations

import asyncio
from typing import Any

from arbiter.bootstrap.store import Store
from arbiter.config import Limits
from arbiter.matches.events import Event, Moved
from arbiter.matches.match import Match, Phase
from arbiter.service.ports.directory import Challenge, Player
from arbiter.service.ports.journal import StoredRecord, StoreFailed, Subject
from arbiter.testing.clock import settle
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas

LATE_S = Limits().stall_ms / 1_000
THINKS_S = 0.5
READS_S = 0.2


class KeepingDirectory(MemoryDirectory):
    """A directory that answers nobody who connects, as long as it keeps them. fails: it answers with an error."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = False
        self.free = asyncio.Event()
        self.free.set()

    async def challenges(self, player: str, after: str, most: int) -> list[Challenge]:
        """Return what a player finds that connects."""
        await self.free.wait()
        return await super().challenges(player, after, most)

    async def change_player(self, name: str, **changes: Any) -> Player | None:
        """Store what is new about a player."""
        if self.fails:
            raise StoreFailed("a fault was asked for")
        await self.free.wait()
        return await super().change_player(name, **changes)


class KeepingJournal(MemoryJournal):
    """A log that nobody can read, as long as it is locked. fails: whether the records of a match can't be read."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = False
        self.free = asyncio.Event()
        self.free.set()

    async def read(
        self, match_id: str, after: int = 0, most: int | None = None, subject: Subject = Subject.MATCH
    ) -> list[StoredRecord]:
        """Return the records of a match after a revision."""
        await asyncio.sleep(READS_S)
        if self.fails:
            raise StoreFailed("a fault was asked for")
        return await super().read(match_id, after, most, subject)

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        """Return the records after a place."""
        await self.free.wait()
        return await super().read_all(after, most)


async def replied(bot: StreamReader) -> None:
    """Answer the next turn after a thought."""
    turn = await bot.turn()
    await asyncio.sleep(THINKS_S)
    bot.reply(turn)
    await settle()


async def held(server: InMemoryArbiter, match: Match, alice: StreamReader, seconds: float) -> None:
    """Have alice answer her turn while the store takes nothing, for so long."""
    server.journal.hold = True
    await replied(alice)
    await asyncio.sleep(seconds)
    live = server.arbiter.matches.live.find(match.id)
    assert live is not None
    assert live.newest.phase is Phase.ACTIVE, "no flag falls in a turn that nobody knows"
    server.journal.release()
    await settle()


async def with_a_lock() -> tuple[InMemoryArbiter, InMemoryArbiter, KeepingJournal, KeepingDirectory]:
    """Return two servers that share a store, and the parts of it that can be locked."""
    journal, directory = KeepingJournal(), KeepingDirectory()
    home = InMemoryArbiter(Store(journal, directory, replicas=MemoryReplicas()))
    away = home.beside()
    for server in (home, away):
        await server.share()
    return home, away, journal, directory


def last_move(found: list[Event]) -> Moved:
    return next(event for event in reversed(found) if isinstance(event, Moved))
