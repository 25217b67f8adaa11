"""Players that are not on this server: their Play streams on other replicas, and from which one each has come."""

from __future__ import annotations

from arbiter.service.ports.replicas import PlaySession


class Whereabouts:
    """What this replica knows of players on other ones.

    elsewhere: the Play streams on other replicas, as of the last heartbeat. nowhere: players without a stream on any
    replica that come from one that may be gone, with the instant at which they left it, as of then. known: there has
    been a heartbeat.
    """

    def __init__(self) -> None:
        self.known = False
        self.elsewhere: dict[str, PlaySession] = {}
        self.nowhere: dict[str, int] = {}
        self._doubtful: dict[str, int] = {}  # players who may come from a replica that is gone: when they left it

    def doubt(self, player: str, left_ms: int | None) -> None:
        """Note when a player left the last replica that may be gone.

        None if each of its replicas is known to be there, or has been cleaned up after.
        """
        if left_ms is None:
            self._doubtful.pop(player, None)
        else:
            self._doubtful[player] = left_ms

    def in_doubt(self) -> list[str]:
        """Return the players who may come from a replica that is gone."""
        return list(self._doubtful)

    def left_at(self, player: str, has_stream: bool) -> int | None:
        """Return when a player left the last replica that may be gone; None if no replica of it is in doubt.

        has_stream: it has a Play stream here. Otherwise it may have one on another replica, or on none, while it calls
        this one.
        """
        left = [self._doubtful.get(player)]
        if not has_stream:
            row = self.elsewhere.get(player)
            left += [self.nowhere.get(player), row.left_ms if row is not None else None]
        return max((instant for instant in left if instant is not None), default=None)

    def is_judged_elsewhere(self, player: str) -> bool:
        """Return whether another replica, which may be gone, has the player's Play stream or has just had it."""
        return player in self.elsewhere or player in self._doubtful or player in self.nowhere
