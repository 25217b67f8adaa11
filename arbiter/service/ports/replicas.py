"""Replicas as a port: the servers that share a store, and which replica has each player's Play stream.

Every replica writes its own rows and reads those of the others. All instants are the store's.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class PlaySession(NamedTuple):
    """A player's Play stream: the last one that was opened on any replica.

    epoch: grows with each stream of the player. most_matches: the number in its bot's hello, 0 for no limit. doubtful:
    the player came from another replica without closing its stream there, and that replica has been silent since. It
    may be dead without anybody knowing it yet. replica: '' if the last stream is over, and the one before is in doubt.
    """

    player: str
    replica: str
    epoch: int
    bot_version: str
    most_matches: int
    doubtful: bool = False


class Heartbeat(NamedTuple):
    """The answer to a heartbeat. gone: the dead replicas that this replica has to clean up after.

    sessions: all Play streams. alone: there is no other replica.
    """

    gone: tuple[str, ...]
    sessions: tuple[PlaySession, ...]
    alone: bool


class Replicas(Protocol):
    """The rows of the replicas and of their Play streams. Every call raises StoreFailed if the store can't be used."""

    async def enter(self, replica: str) -> None:
        """Add a replica, which is alive from now on. An id is never used again."""

    async def beat(self, replica: str, silence_ms: int) -> Heartbeat | None:
        """Record that a replica is alive. Returns None if another replica already cleans up after it.

        A replica that has been silent for `silence_ms` is dead. The first replica that notices cleans up after it
        (`gone`), and then calls `forget`. If that replica dies before this, the next one does the same.
        """

    async def forget(self, replica: str) -> None:
        """Remove a replica that has left or is dead, and its Play streams."""

    async def lost_players(self, replica: str) -> list[str]:
        """Return the players whose Play stream was on a replica when it was last alive, by name."""

    async def take(self, player: str, replica: str, bot_version: str, most_matches: int) -> tuple[int, bool]:
        """Record that a player has opened a Play stream on a replica; it replaces the player's previous one.

        Returns its epoch, and whether it is doubtful (see `PlaySession`).
        """

    async def give_back(self, player: str, replica: str, epoch: int) -> bool:
        """Record that a Play stream has ended; return whether it was still the player's current one.

        If it was doubtful, the player's next stream is so too, as long as nobody knows about the replica before.
        """
