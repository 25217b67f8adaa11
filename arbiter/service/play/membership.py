"""The place of a server among the replicas of its store: its id, and the rows of its Play streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from arbiter.service.play.session import Hello, Session
from arbiter.service.ports.environment import Ids
from arbiter.service.ports.replicas import Heartbeat, PlaySession, Replicas


class Membership:
    """A replica's rows in the store. `silence_ms`: after how long a replica that says nothing is gone."""

    def __init__(self, replicas: Replicas, ids: Ids, silence_ms: int) -> None:
        self._replicas = replicas
        self._ids = ids
        self._silence_ms = silence_ms
        self.replica = ""
        self._opening: Counter[str] = Counter()  # players whose stream has a row and is not open yet

    async def enter(self) -> None:
        """Become a replica, under an id that nobody has used before. Raises StoreFailed."""
        replica = self._ids.new("s")
        await self._replicas.enter(replica)
        self.replica = replica

    async def leave(self) -> None:
        """Be none any more: nobody has to notice. Raises StoreFailed."""
        await self._replicas.forget(self.replica)

    async def beat(self) -> Heartbeat | None:
        """Say that this replica is alive; None if the others take it for gone. Raises StoreFailed."""
        return await self._replicas.beat(self.replica, self._silence_ms)

    async def lost_players(self, gone: str) -> list[str]:
        """Return whose Play stream was on a replica that is gone. Raises StoreFailed."""
        return await self._replicas.lost_players(gone)

    async def forget(self, gone: str) -> None:
        """Remove the rows of a replica that is gone. Raises StoreFailed."""
        await self._replicas.forget(gone)

    @contextmanager
    def opening(self, player: str) -> Iterator[None]:
        """Keep the row of a stream that is about to be opened."""
        self._opening[player] += 1
        try:
            yield
        finally:
            self._opening[player] -= 1
            if not self._opening[player]:
                del self._opening[player]

    def is_opening(self, player: str) -> bool:
        """Say whether a stream of a player is about to be opened here."""
        return player in self._opening

    async def take(self, player: str, hello: Hello) -> tuple[str, int, bool]:
        """Take the row of a player's Play stream: return the replica and epoch that it is known by.

        And whether the player was on another replica a moment ago, which may be gone. Raises StoreFailed.
        """
        version, most, silence_ms = hello.bot_version, hello.most_matches, self._silence_ms
        replica = self.replica
        return replica, *await self._replicas.take(player, replica, version, most, silence_ms)

    async def give_back(self, session: Session) -> bool:
        """Note that a stream is over; return whether it was still the player's. Raises StoreFailed."""
        replica, epoch = session.row
        return await self._replicas.give_back(session.player, replica, epoch)

    async def drop(self, row: PlaySession) -> bool:
        """Note that a stream is over that has a row and is not here. Raises StoreFailed."""
        return await self._replicas.give_back(row.player, row.replica, row.epoch)
