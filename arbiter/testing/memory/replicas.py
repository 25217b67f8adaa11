"""Replicas and their Play streams in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from arbiter.service.ports.replicas import Heartbeat, PlaySession


@dataclass
class _Row:
    seen_ms: int
    heir: str = ""


class MemoryReplicas:
    """The rows of replicas (`arbiter.service.ports.replicas`); their time is the event loop's."""

    def __init__(self) -> None:
        self._replicas: dict[str, _Row] = {}
        self._sessions: dict[str, PlaySession] = {}
        self._taken: dict[str, tuple[int, str]] = {}  # by player: when, and the replica of the stream before

    async def enter(self, replica: str) -> None:
        """Add a replica."""
        await asyncio.sleep(0)
        self._replicas[replica] = _Row(_now_ms())

    async def beat(self, replica: str, silence_ms: int) -> Heartbeat | None:
        """Say that a replica is alive."""
        await asyncio.sleep(0)
        mine, now = self._replicas.get(replica), _now_ms()
        if mine is None or mine.heir:
            return None
        mine.seen_ms = now
        alive = {name for name, row in self._replicas.items() if row.seen_ms >= now - silence_ms}
        for name, row in self._replicas.items():
            if name not in alive and row.heir not in alive:
                row.heir = replica
        gone = sorted(name for name, row in self._replicas.items() if row.heir == replica)
        sessions = [
            session._replace(doubtful=self._is_doubtful(player))
            for player, session in sorted(self._sessions.items())
            if session.replica or self._is_doubtful(player)
        ]
        return Heartbeat(tuple(gone), tuple(sessions), len(self._replicas) == 1)

    async def forget(self, replica: str) -> None:
        """Remove a replica and its Play streams."""
        await asyncio.sleep(0)
        self._replicas.pop(replica, None)
        for player in [
            name
            for name, session in self._sessions.items()
            if session.replica == replica or (not session.replica and self._taken[name][1] == replica)
        ]:
            del self._sessions[player]

    async def lost_players(self, replica: str) -> list[str]:
        """Return the players whose Play stream was on a replica when it was alive for the last time."""
        await asyncio.sleep(0)
        row = self._replicas.get(replica)
        return sorted(
            player
            for player, session in self._sessions.items()
            if session.replica == replica
            or (row is not None and self._taken[player][1] == replica and self._taken[player][0] >= row.seen_ms)
        )

    async def take(self, player: str, replica: str, bot_version: str, most_matches: int) -> tuple[int, bool]:
        """Note that a player has opened a Play stream on a replica."""
        await asyncio.sleep(0)
        there = self._sessions.get(player)
        now = _now_ms()
        if there is None:
            self._taken[player] = (now, "")
        elif there.replica not in (replica, "") and not self._is_doubtful(player):
            self._taken[player] = (now, there.replica)
        epoch = there.epoch + 1 if there is not None else 1
        self._sessions[player] = PlaySession(player, replica, epoch, bot_version, most_matches)
        return epoch, self._is_doubtful(player)

    def _is_doubtful(self, player: str) -> bool:
        at, before = self._taken[player]
        row = self._replicas.get(before)
        return row is not None and row.seen_ms <= at

    async def give_back(self, player: str, replica: str, epoch: int) -> bool:
        """Note that a Play stream is over; return whether it was still the player's."""
        await asyncio.sleep(0)
        there = self._sessions.get(player)
        if there is None or (there.replica, there.epoch) != (replica, epoch):
            return False
        if self._is_doubtful(player):
            self._sessions[player] = there._replace(replica="")
        else:
            del self._sessions[player]
        return True


def _now_ms() -> int:
    return round(asyncio.get_running_loop().time() * 1_000)
