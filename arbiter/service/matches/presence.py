"""Which players are connected, as a port for matches. `arbiter.service.play.connections` implements it."""

from __future__ import annotations

from typing import Protocol

from arbiter.errors import Refusal


class Presence(Protocol):
    """Which players have a stream open, here or on another server that shares the store."""

    def is_present(self, player: str) -> bool:
        """Return whether a player has a stream here."""

    def is_waiting(self, player: str) -> bool:
        """Return whether a player waits here for a Play stream, or may soon ask again for one that it could not get."""

    def is_judged_elsewhere(self, player: str) -> bool:
        """Return whether another server, which may be dead, has the player's Play stream or has just had it."""

    def is_outdated(self) -> bool:
        """Return whether players may have come to other servers, or wait there, without this server knowing."""

    def left_at(self, player: str) -> int | None:
        """Return when a player left the last server that may be dead, which is not known yet; else None.

        In milliseconds since the epoch.
        """

    def turn_away(self, player: str, match_id: str, refusal: Refusal) -> None:
        """End a player's Play stream here, and refuse new ones, because only other servers can serve a match of it."""

    def let_in(self, match_id: str) -> None:
        """Refuse no streams because of a match any more: it has ended."""

    def version_of(self, player: str) -> str:
        """Return the version of a player's connected bot; '' if none is connected, or it gave no version."""
