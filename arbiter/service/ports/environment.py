"""Time, ids and random numbers as ports."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The current time."""

    def now_ms(self) -> int:
        """Return the current instant, UTC milliseconds since 1970. It never goes back within a process."""


class Ids(Protocol):
    """Ids, secrets and random numbers that nobody can guess."""

    def new(self, kind: str) -> str:
        """Return a fresh id that begins with `kind`. Ids sort by the time of their creation."""

    def secret(self) -> str:
        """Return 256 random bits as text. It never begins with "-", which a command line would take for an option."""

    def lot(self, size: int) -> int:
        """Return a random number from 0 to size − 1."""
