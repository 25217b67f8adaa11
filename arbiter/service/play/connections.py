"""The connected players: each player's Play stream, and the players who are present by another stream."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

from arbiter.service.play.session import Session
from arbiter.service.ports.replicas import PlaySession


class Connections:
    """The open streams. It is the `Presence` that matches use.

    by_player: the Play stream of each player who has one. others: the number of other streams that make a player
    present. elsewhere: the Play streams on other replicas, as of the last heartbeat.
    """

    def __init__(self) -> None:
        self.by_player: dict[str, Session] = {}
        self.others: Counter[str] = Counter()
        self.elsewhere: dict[str, PlaySession] = {}
        self._doubtful: dict[str, int] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(self.by_player.values())

    def of(self, player: str) -> Session | None:
        """Return a player's Play stream, or None."""
        return self.by_player.get(player)

    def is_present(self, player: str) -> bool:
        """Return whether a player has a stream here: a Play stream, or another stream on which it can move."""
        return player in self.by_player or player in self.others

    def doubt(self, player: str, for_s: float) -> None:
        """Note that a player has come from a replica that may be dead.

        for_s: after this many seconds it is known whether that replica is dead.
        """
        self._doubtful[player] = self._doubtful.get(player, 0) + 1
        asyncio.get_running_loop().call_later(for_s, self._is_certain, player)

    def _is_certain(self, player: str) -> None:
        self._doubtful[player] -= 1
        if not self._doubtful[player]:
            del self._doubtful[player]

    def is_judged_elsewhere(self, player: str) -> bool:
        """Return whether another replica, which may be dead, has the player's Play stream or has just had it."""
        return player in self.elsewhere or player in self._doubtful

    def is_elsewhere(self, player: str) -> bool:
        """Return whether a player's Play stream is on another replica."""
        return player in self.elsewhere

    def is_anywhere(self, player: str) -> bool:
        """Return whether a player has a stream here, or a Play stream on another replica."""
        return self.is_present(player) or player in self.elsewhere

    def version_of(self, player: str) -> str:
        """Return the version in the hello of a player's Play stream; '' if there is no stream or no version."""
        session = self.by_player.get(player)
        return session.hello.bot_version if session is not None else ""

    def add_other(self, player: str) -> None:
        """Count a stream that makes a player present but is no Play stream."""
        self.others[player] += 1

    def remove_other(self, player: str) -> None:
        """Stop counting such a stream."""
        self.others[player] -= 1
        if not self.others[player]:
            del self.others[player]
