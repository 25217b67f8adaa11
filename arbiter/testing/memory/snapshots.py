"""The snapshots of tournaments in memory."""

from __future__ import annotations

from arbiter.service.ports.snapshots import EVERY, Snapshot


class MemorySnapshots:
    """Snapshots (`arbiter.service.ports.snapshots.Snapshots`) as a dictionary. taken: how many were kept."""

    def __init__(self, every: int = EVERY) -> None:
        self.every = every
        self.taken = 0
        self._kept: dict[str, Snapshot] = {}

    async def newest(self, tournament: str) -> Snapshot | None:
        """Return the snapshot of a tournament."""
        return self._kept.get(tournament)

    async def keep(self, snapshot: Snapshot) -> None:
        self._kept[snapshot.tournament] = snapshot
        self.taken += 1
