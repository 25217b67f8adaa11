"""The connected players: each player's Play stream, and the players who are present by another stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from arbiter.errors import Refusal
from arbiter.service.play.session import Session
from arbiter.service.play.waits import Waits
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.replicas import PlaySession


class Connections:
    """The open streams. It is the `Presence` that matches use.

    by_player: the Play stream of each player who has one. others: the number of other streams that make a player
    present. waits: the players who have asked for a Play stream that is not open yet. elsewhere: the Play streams on
    other replicas, as of the last heartbeat. nowhere: players without a stream on any replica, who come from one that
    may be dead, with the instant at which they left it, as of then. is_outdated: whether this server may not know what
    other replicas have stored.
    """

    def __init__(self, clock: Clock, is_outdated: Callable[[], bool]) -> None:
        self.by_player: dict[str, Session] = {}
        self.others: Counter[str] = Counter()
        self.waits = Waits(clock)
        self.elsewhere: dict[str, PlaySession] = {}
        self.nowhere: dict[str, int] = {}
        self.is_outdated = is_outdated
        self._doubtful: dict[str, int] = {}  # players who may come from a dead replica: when they left it
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
        """Return whether a player waits here for a Play stream, or may soon ask again for one that it could not get."""
        return self.waits.is_waiting(player)

    def doubt(self, player: str, left_ms: int | None) -> None:
        """Note when a player left the last replica that may be dead.

        None if each of its replicas is known to be alive, or has been cleaned up after.
        """
        if left_ms is None:
            self._doubtful.pop(player, None)
        else:
            self._doubtful[player] = left_ms

    def in_doubt(self) -> list[str]:
        """Return the players who may come from a dead replica."""
        return list(self._doubtful)

    def left_at(self, player: str) -> int | None:
        """Return when a player left the last replica that may be dead; None if no replica of it is in doubt.

        Its stream may be on another replica, or on none, while it calls this one.
        """
        left = [self._doubtful.get(player)]
        if player not in self.by_player:
            row = self.elsewhere.get(player)
            left += [self.nowhere.get(player), row.left_ms if row is not None else None]
        return max((instant for instant in left if instant is not None), default=None)

    def is_judged_elsewhere(self, player: str) -> bool:
        """Return whether another replica, which may be dead, has the player's Play stream or has just had it."""
        return player in self.elsewhere or player in self._doubtful or player in self.nowhere

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

    def turn_away(self, player: str, match_id: str, refusal: Refusal) -> None:
        """End a player's Play stream here, and refuse new ones, because only other servers can serve a match of it."""
        self._turned_away.setdefault(player, {})[match_id] = refusal
        session = self.of(player)
        if session is not None:
            session.end(refusal)

    def let_in(self, match_id: str) -> None:
        """Refuse no streams because of a match any more: it has ended."""
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
