"""Who can be reached now, as matches ask: a port, which `arbiter.service.play.connections` implements."""

from __future__ import annotations

from typing import Protocol


class Presence(Protocol):
    """Which players have a stream open, here or on another server that shares the store."""

    def is_present(self, player: str) -> bool:
        """Say whether a player can be reached here now."""

    def is_judged_elsewhere(self, player: str) -> bool:
        """Say whether another server, which may be gone, has the player's Play stream, or had it a moment ago."""

    def version_of(self, player: str) -> str:
        """Return the version of a player's bot that is connected; '' if none is, or it named none."""
