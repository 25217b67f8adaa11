"""Which players are connected: the Play stream of each, and the players who are present by another stream."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

from arbiter.service.play.session import Session
from arbiter.service.ports.replicas import PlaySession


class Connections:
    """The streams that are open now. Matches ask it who is there: it is their `Presence`.

    by_player: the Play stream of each player who has one. others: how many other streams make a player present.
    elsewhere: the Play streams on other replicas, as they were at the last heartbeat.
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
        """Say whether a player can be reached: by a Play stream, or by another stream that it moves on."""
        return player in self.by_player or player in self.others

    def doubt(self, player: str, for_s: float) -> None:
        """Note that a player has come from a replica that may be gone, which will be known in a while."""
        self._doubtful[player] = self._doubtful.get(player, 0) + 1
        asyncio.get_running_loop().call_later(for_s, self._is_certain, player)

    def _is_certain(self, player: str) -> None:
        self._doubtful[player] -= 1
        if not self._doubtful[player]:
            del self._doubtful[player]

    def is_judged_elsewhere(self, player: str) -> bool:
        """Say whether another replica, which may be gone, has the player's Play stream, or had it a moment ago."""
        return player in self.elsewhere or player in self._doubtful

    def is_elsewhere(self, player: str) -> bool:
        """Say whether a player's Play stream is on another replica."""
        return player in self.elsewhere

    def is_anywhere(self, player: str) -> bool:
        """Say whether a player can be reached, here or by a Play stream elsewhere."""
        return self.is_present(player) or player in self.elsewhere

    def version_of(self, player: str) -> str:
        """Return the version of a player's bot, as its Play stream said; '' if it has no stream, or said none."""
        session = self.by_player.get(player)
        return session.hello.bot_version if session is not None else ""

    def add_other(self, player: str) -> None:
        """Count a stream that makes a player present and is no Play stream."""
        self.others[player] += 1

    def remove_other(self, player: str) -> None:
        """Count such a stream no longer."""
        self.others[player] -= 1
        if not self.others[player]:
            del self.others[player]
