"""Snapshots of tournaments as a port: states from which a start goes on, instead of reading whole logs.

The log stays the authority. Whoever reads a snapshot checks that it fits the log, and reads the whole log if it does
not (`arbiter.service.record.snapshots`).
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

EVERY: Final = 5_000  #: events of a tournament after which its next snapshot is due


class Snapshot(NamedTuple):
    """The state of a tournament after one event of its log.

    revision, digest: which event: its revision, and the SHA-256 of its record in hexadecimal digits. code: the version
    of the code that wrote `state`, bytes that only this code reads.
    """

    tournament: str
    revision: int
    digest: str
    code: str
    state: bytes


class Snapshots(Protocol):
    """Keeps the newest snapshot of each tournament."""

    @property
    def every(self) -> int:
        """After how many events of a tournament the next one is due."""

    async def newest(self, tournament: str) -> Snapshot | None:
        """Return the snapshot of a tournament; None if there is none, or it is not what was kept.

        Raises StoreFailed.
        """

    async def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in the place of the one before. Raises StoreFailed."""


class NoSnapshots:
    """Keeps none."""

    every: Final = EVERY

    async def newest(self, tournament: str) -> Snapshot | None:
        """Return None."""

    async def keep(self, snapshot: Snapshot) -> None:
        """Do nothing."""
