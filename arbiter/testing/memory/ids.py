"""Ids without randomness."""

from __future__ import annotations

from collections.abc import Iterable


class CountingIds:
    """Ids (`arbiter.service.ports.Ids`) that count up, and lots from a given list, 0 when the list is empty."""

    def __init__(self, lots: Iterable[int] = ()) -> None:
        self._count = 0
        self._lots = iter(lots)

    def new(self, kind: str) -> str:
        """Return the next id of a kind."""
        self._count += 1
        return f"{kind}{self._count:06}"

    def secret(self) -> str:
        """Return the next secret. It is predictable: a real server must not use it."""
        self._count += 1
        return f"secret-{self._count:06}"

    def lot(self, size: int) -> int:
        """Return the next lot."""
        return next(self._lots, 0) % size
