"""A server's rows in a shared store: its own as a replica, and those of its Play streams."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from arbiter.service.alone import PlayStream
from arbiter.service.cut_off import NO_ANSWER, CutOff
from arbiter.service.ports.environment import Ids
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.ports.replicas import (
    PAGE,
    PLAYERS,
    HandOvers,
    Heartbeat,
    PlaySession,
    Replicas,
    Taken,
    is_page,
)
from arbiter.service.sharing.news import News

TAKEN_FOR_GONE: Final = "no heartbeat of this server has reached it for a while"


class Membership:
    """A replica's rows in the store. silence_ms: a replica that has written nothing for this time is gone.

    cut_off: whether the store has taken no heartbeat for that time. page: this replica has the page alone. alone: there
    was no other replica at the last heartbeat. last: there was no other one for players, there or gone. news: the bus
    on which the other replicas hear of new streams, or None.
    """

    def __init__(
        self,
        replicas: Replicas,
        ids: Ids,
        silence_ms: int,
        cut_off: CutOff,
        news: News | None = None,
        page: bool = False,
    ) -> None:
        self._replicas = replicas
        self.lost_players: Final = replicas.lost_players
        self.forget: Final = replicas.forget
        self._ids = ids
        self.silence_ms = silence_ms
        self.news: Final = news
        self.replica = ""
        self.cut_off: Final = cut_off
        self.page: Final = page
        self.alone = False
        self.last = False
        self._opening: Counter[str] = Counter()  # players whose stream has a row but is not open yet

    def is_alone(self) -> bool:
        """Return whether there was no other replica at the last heartbeat."""
        return self.alone

    async def enter(self) -> None:
        """Become a replica, with an id that was never used before. Raises StoreFailed."""
        replica = self._ids.new(PAGE if self.page else PLAYERS)
        await self._replicas.enter(replica)
        self.replica = replica
        if self.news is not None:
            self.news.server = replica

    async def leave(self) -> None:
        """Stop being a replica, so that no other replica has to clean up. Raises StoreFailed."""
        await self._replicas.forget(self.replica)

    async def beat(self, hand_overs: HandOvers) -> Heartbeat | None:
        """Record that this replica is alive. hand_overs: of this replica, for those to which its players have gone.

        Returns None if another replica already cleans up after this one. Raises StoreFailed, also if the store does not
        answer in time: it may take long until a connection that was cut reports an error.
        """
        try:
            async with asyncio.timeout(self.silence_ms / 1_000):  # `wait_for` may swallow that it is cancelled
                heartbeat = await self._replicas.beat(self.replica, self.silence_ms, hand_overs)
        except TimeoutError:
            raise StoreFailed(NO_ANSWER) from None
        if heartbeat is not None:
            self.alone = heartbeat.alone
            self.last = not heartbeat.servers and all(map(is_page, heartbeat.gone))
            if self.news is not None:
                self.news.expect(heartbeat.others)
        return heartbeat

    @contextmanager
    def opening(self, player: str) -> Iterator[None]:
        """Keep the row of a stream that is about to open."""
        self._opening[player] += 1
        try:
            yield
        finally:
            self._opening[player] -= 1
            if not self._opening[player]:
                del self._opening[player]

    def is_opening(self, player: str) -> bool:
        """Return whether a stream of a player is about to open here."""
        return player in self._opening

    async def take(self, player: str, bot_version: str, most_matches: int) -> tuple[str, Taken]:
        """Write the row of a Play stream that is about to open; return the replica in it, and the rest.

        Raises StoreFailed, also if others have taken this replica for gone.
        """
        self.cut_off.check()
        replica = self.replica
        taken = await self._replicas.take(player, replica, bot_version, most_matches)
        if taken is None:
            raise StoreFailed(TAKEN_FOR_GONE)
        if self.news is not None:
            self.news.opened_stream(player)
        return replica, taken

    async def arrive(self, stream: PlayStream) -> None:
        """Record when a stream was opened; its player may come from a replica that is gone. Raises StoreFailed."""
        replica, epoch = stream.row
        await self._replicas.arrive(stream.player, replica, epoch, stream.opened_ms)

    async def give_back(self, stream: PlayStream, hand_overs: HandOvers) -> bool:
        """Record that a stream has ended; return whether it was still the player's current one.

        Raises StoreFailed, also if this replica is cut off: then the stream was cut, as that of a replica that is gone.
        """
        self.cut_off.check()
        replica, epoch = stream.row
        turns = hand_overs(stream.player)
        return await self._replicas.give_back(stream.player, replica, epoch, turns, stream.opened_ms)

    async def drop(self, row: PlaySession) -> bool:
        """Record that no stream with this row is open here: it has ended, or its opening has failed.

        Raises StoreFailed.
        """
        return await self._replicas.give_back(row.player, row.replica, row.epoch)
