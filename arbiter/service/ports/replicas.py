"""Replicas as a port: the servers that share a store, and which player has a Play stream on which of them.

Every replica writes its own rows there and reads those of the others. All instants are the store's.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class PlaySession(NamedTuple):
    """A player's Play stream: the last one that was opened on any replica.

    epoch: grows with each stream of the player. most_matches: what its bot said, 0 for nothing.
    """

    player: str
    replica: str
    epoch: int
    bot_version: str
    most_matches: int


class Heartbeat(NamedTuple):
    """What a replica learns as it says that it is alive: `gone`, those it has to deal with, and all Play streams."""

    gone: tuple[str, ...]
    sessions: tuple[PlaySession, ...]


class Replicas(Protocol):
    """Rows of the replicas and of their Play streams. Every call raises StoreFailed if the store can't be used."""

    async def enter(self, replica: str) -> None:
        """Add a replica, which is alive from now on. No id is used twice."""

    async def beat(self, replica: str, silence_ms: int) -> Heartbeat | None:
        """Say that a replica is alive; None if it has been silent too long, and another one deals with that.

        Replicas that have been silent for `silence_ms` are gone. Whoever notices first deals with what they left behind
        (`gone`), and says so with `forget`; if it is gone itself before that, the next one does.
        """

    async def forget(self, replica: str) -> None:
        """Remove a replica that is gone, or leaves by itself, and its Play streams."""

    async def lost_players(self, replica: str) -> list[str]:
        """Return the players whose Play stream was on a replica when it was alive for the last time, by name."""

    async def take(
        self, player: str, replica: str, bot_version: str, most_matches: int, silence_ms: int
    ) -> tuple[int, bool]:
        """Note that a player has opened a Play stream on a replica; it replaces the one before.

        Return its epoch, and whether the player has come from another replica in the last `silence_ms`, without leaving
        that one: nobody may know yet that it is gone.
        """

    async def give_back(self, player: str, replica: str, epoch: int) -> bool:
        """Note that a Play stream is over; return whether it was still the player's."""
