"""Replicas as a port: the servers that share a store, and which replica has each player's Play stream.

Every replica writes its own rows and reads those of the others. Heartbeats are compared in the store's time. Instants
at which players leave replicas are in the arbiter's time, as those in the record of a match, because they are compared
with them.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class PlaySession(NamedTuple):
    """A player's Play stream: the last one that was opened on any replica.

    epoch: grows with each stream of the player. most_matches: the number in its bot's hello, 0 for no limit. left_ms:
    the player has left replicas that have been silent since, without closing its stream there. Nobody knows yet
    whether they are dead. This is when it left the last of them, in milliseconds since the epoch; None if there is no
    such replica. replica: '' if the last stream is over, and replicas before it are in doubt.
    """

    player: str
    replica: str
    epoch: int
    bot_version: str
    most_matches: int
    left_ms: int | None = None


class Taken(NamedTuple):
    """The row of a new Play stream: its epoch, and `left_ms` as in `PlaySession`."""

    epoch: int
    left_ms: int | None


class LostPlayer(NamedTuple):
    """A player whose Play stream was on a replica when that was last alive. left_ms: when it left; None if it did not.

    Turns that began later were not handed over by that replica.
    """

    player: str
    left_ms: int | None


class Heartbeat(NamedTuple):
    """The answer to a heartbeat. gone: the dead replicas that this replica has to clean up after.

    sessions: all Play streams. others: the other replicas that nobody cleans up after, by id.
    """

    gone: tuple[str, ...]
    sessions: tuple[PlaySession, ...]
    others: tuple[str, ...]

    @property
    def alone(self) -> bool:
        """Whether there is no other replica, alive or dead."""
        return not (self.others or self.gone)


class Replicas(Protocol):
    """The rows of the replicas and of their Play streams. Every call raises StoreFailed if the store can't be used."""

    async def enter(self, replica: str) -> None:
        """Add a replica, which is alive from now on. An id is never used again."""

    async def beat(self, replica: str, silence_ms: int) -> Heartbeat | None:
        """Record that a replica is alive. Returns None if another replica already cleans up after it.

        A replica that has been silent for `silence_ms` is dead, or sooner if the store knows that its process has
        ended. The first replica that notices cleans up after it (`gone`), and then calls `forget`. If that replica dies
        before this, the next one does the same.
        """

    async def forget(self, replica: str) -> None:
        """Remove a replica that has left or is dead, and its Play streams."""

    async def lost_players(self, replica: str) -> list[LostPlayer]:
        """Return the players whose Play stream was on a replica when it was last alive, by name."""

    async def take(self, player: str, replica: str, bot_version: str, most_matches: int, now_ms: int) -> Taken | None:
        """Record that a player opens a Play stream on a replica now; it replaces the player's previous one.

        Returns None, and records nothing, if the replica is none any more: others have declared it dead.
        """

    async def give_back(self, player: str, replica: str, epoch: int) -> bool:
        """Record that a Play stream has ended; return whether it was still the player's current one.

        As long as replicas that the player left before are in doubt, its next stream is in doubt too.
        """
