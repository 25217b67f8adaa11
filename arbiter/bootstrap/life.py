"""What a server does at its start, while it runs and at its end because of other servers of its store."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple, NoReturn, Protocol

from structlog import get_logger as log

from arbiter.bootstrap.world import World
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.sharing.replica import Replica
from arbiter.service.sharing.timekeeping import keep_time

Duty = Coroutine[Any, Any, NoReturn]


class Counts(NamedTuple):
    """What the metrics show of other servers. See `arbiter.bootstrap.gauges`."""

    failovers: int = 0
    taken_for_gone: int = 0
    log_reads: int = 0
    log_place: int = 0
    bus_lost: bool = False
    bus_published: int = 0
    bus_received: int = 0
    bus_refused: int = 0


class Life(Protocol):
    """The life of a server. replica: None for a server alone."""

    replica: Replica | None

    def first_duties(self) -> Sequence[Duty]:
        """Return what runs before anything is read."""

    async def enter(self) -> None:
        """Become a server of the store, before its unfinished matches are read. Raises StoreFailed."""

    async def begin(self) -> int:
        """Begin with the unfinished matches; return how many continue. Raises StoreFailed."""

    def duties(self) -> Sequence[Duty]:
        """Return what runs from the start on."""

    async def is_last(self) -> bool:
        """Return whether the server stops as the last one of several."""

    async def leave(self) -> None:
        """Be no server of the store any more, once no match is served here. Raises StoreFailed."""

    def counts(self) -> Counts:
        """Return what the metrics show. Any thread may ask."""


class LifeAlone:
    """A server alone. It serves before its matches are read: each becomes live when it is asked for."""

    def __init__(self, matches: MatchRegistry) -> None:
        self.replica: Replica | None = None
        self._matches = matches

    def first_duties(self) -> Sequence[Duty]:
        """Return nothing."""
        return ()

    async def enter(self) -> None:
        """Do nothing."""

    async def begin(self) -> int:
        """Find the unfinished matches; return how many continue. Raises StoreFailed."""
        return await self._matches.begin()

    def duties(self) -> Sequence[Duty]:
        """Return nothing."""
        return ()

    async def is_last(self) -> bool:
        """Return False: there were no others."""
        return False

    async def leave(self) -> None:
        """Do nothing."""

    def counts(self) -> Counts:
        """Return zeros."""
        return Counts()


class SharedLife:
    """A server that shares its store: every unfinished match is live here before it serves."""

    def __init__(self, replica: Replica, matches: MatchRegistry, world: World) -> None:
        self.replica: Replica | None = replica
        self._replica = replica
        self._matches = matches
        self._world = world

    def first_duties(self) -> Sequence[Duty]:
        """Return the reports on the bus, if there is one: the others are to be heard from the beginning."""
        news = self._replica.news
        return [news.run()] if news is not None else []

    async def enter(self) -> None:
        """Become a replica. Raises StoreFailed."""
        await self._replica.start()

    async def begin(self) -> int:
        """Make the unfinished matches live, and clean up after servers that are gone. Raises StoreFailed."""
        matches = await self._matches.start()
        await self._replica.beat()
        self._matches.watch_flags()
        return matches

    def duties(self) -> Sequence[Duty]:
        """Return the heartbeats, what follows the log, and what keeps this clock level with the store's."""
        duties: list[Duty] = [self._replica.run(), self._replica.follower.run()]
        clock, source = self._world.following, self._world.store.time
        if clock is not None and source is not None:
            duties.append(keep_time(clock, source, self._matches, log("arbiter.clock")))
        return duties

    async def is_last(self) -> bool:
        """Return whether no other server uses the store now."""
        return await self._replica.is_last()

    async def leave(self) -> None:
        """Stop being a replica. Raises StoreFailed."""
        await self._replica.stop()

    def counts(self) -> Counts:
        """Return what this server has counted."""
        replica, news, bus = self._replica, self._replica.news, self._world.bus
        follower = replica.follower
        counts = Counts(replica.failovers, replica.taken_for_gone, follower.reads, follower.place)
        if news is None or bus is None:
            return counts
        return counts._replace(
            bus_lost=news.lost, bus_published=news.published, bus_received=news.received, bus_refused=bus.refused
        )
