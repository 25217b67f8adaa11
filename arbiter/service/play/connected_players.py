"""The connected players: each player's Play stream, and the players who are present by another stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from arbiter.errors import Refusal
from arbiter.service.play.session import Session
from arbiter.service.play.waits import Waits
from arbiter.service.ports.environment import Clock


class Connections:
    """The open streams. It is the `Presence` that matches use.

    by_player: the Play stream of each player who has one. others: the number of other streams that make a player
    present. waits: the players who have asked for a Play stream that is not open yet.
    """

    def __init__(self, clock: Clock) -> None:
        self.by_player: dict[str, Session] = {}
        self.others: Counter[str] = Counter()
        self.waits = Waits(clock)
        self._turned_away: dict[str, dict[str, Refusal]] = {}  # by player and match

    def __iter__(self) -> Iterator[Session]:
        return iter(self.by_player.values())

    def of(self, player: str) -> Session | None:
        """Return a player's Play stream, or None."""
        return self.by_player.get(player)

    def is_present(self, player: str) -> bool:
        """Return whether a player has a stream here: a Play stream, or another stream on which it can move."""
        return player in self.by_player or player in self.others

    def is_waiting(self, player: str) -> bool:
        return self.waits.is_waiting(player)

    def is_preparing(self, player: str, match_id: str) -> bool:
        session = self.by_player.get(player)
        return session is not None and match_id in session.preparing

    def version_of(self, player: str) -> str:
        """Return the version in the hello of a player's Play stream; '' if there is no stream or no version."""
        session = self.by_player.get(player)
        return session.hello.bot_version if session is not None else ""

    def turn_away(self, player: str, match_id: str, refusal: Refusal) -> None:
        self._turned_away.setdefault(player, {})[match_id] = refusal
        session = self.of(player)
        if session is not None:
            session.end(refusal)

    def let_in(self, match_id: str) -> None:
        for player, refusals in list(self._turned_away.items()):
            refusals.pop(match_id, None)
            if not refusals:
                del self._turned_away[player]

    def check(self, player: str) -> None:
        """Raise the refusal of a player who has been turned away."""
        for refusal in self._turned_away.get(player, {}).values():
            raise refusal

    def add_other(self, player: str) -> None:
        """Count a stream that makes a player present but is no Play stream."""
        self.others[player] += 1

    def remove_other(self, player: str) -> None:
        """Stop counting such a stream."""
        self.others[player] -= 1
        if not self.others[player]:
            del self.others[player]
