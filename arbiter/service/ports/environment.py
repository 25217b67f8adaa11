"""Time and chance as ports."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time as the arbiter knows it."""

    def now_ms(self) -> int:
        """Return the instant, UTC, milliseconds since 1970. It never goes back within a process."""


class Ids(Protocol):
    """Chance: ids that nobody guesses, and lots."""

    def new(self, kind: str) -> str:
        """Return a fresh id that begins with `kind` and sorts by the time of its making."""

    def secret(self) -> str:
        """Return 256 random bits as text that doesn't begin with "-": a command line would take it for an option."""

    def lot(self, size: int) -> int:
        """Draw a number from 0 to size − 1."""
