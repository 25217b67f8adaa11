"""Who can be reached now, as matches ask: a port, which `arbiter.service.play.connections` implements."""

from __future__ import annotations

from typing import Protocol


class Presence(Protocol):
    """Which players have a stream open."""

    def is_present(self, player: str) -> bool:
        """Say whether a player can be reached now."""

    def version_of(self, player: str) -> str:
        """Return the version of a player's bot that is connected; '' if none is, or it named none."""
