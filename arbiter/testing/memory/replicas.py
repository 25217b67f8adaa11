"""Replicas and their Play streams in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from arbiter.service.ports.replicas import (
    NOT_YET,
    HandOver,
    HandOvers,
    Heartbeat,
    LostPlayer,
    PlaySession,
    Taken,
    is_page,
    no_hand_overs,
)


@dataclass
class _Row:
    seen_ms: int
    heir: str = ""


@dataclass
class _Player:
    session: PlaySession
    left: dict[str, int] = field(default_factory=dict)  # replicas that have been silent since, and when it left them


class MemoryReplicas:
    """The rows of replicas (`arbiter.service.ports.replicas`); their time is the event loop's."""

    def __init__(self) -> None:
        self._replicas: dict[str, _Row] = {}
        self._players: dict[str, _Player] = {}
        self._hand_overs: dict[tuple[str, str], HandOver] = {}  # by player and match

    async def enter(self, replica: str) -> None:
        """Add a replica."""
        await asyncio.sleep(0)
        self._replicas[replica] = _Row(_now_ms())

    async def beat(self, replica: str, silence_ms: int, hand_overs: HandOvers = no_hand_overs) -> Heartbeat | None:
        """Say that a replica is alive."""
        await asyncio.sleep(0)
        mine, now = self._replicas.get(replica), _now_ms()
        if mine is None or mine.heir:
            return None
        mine.seen_ms = now
        self._hand_over(
            [each for name, there in self._players.items() if replica in there.left for each in hand_overs(name)]
        )
        self._resolve(replica)
        alive = {name for name, row in self._replicas.items() if row.seen_ms >= now - silence_ms}
        for name, row in self._replicas.items():
            if name not in alive and row.heir not in alive and not is_page(replica):
                row.heir = replica
        gone = sorted(name for name, row in self._replicas.items() if row.heir == replica)
        sessions = [
            there.session._replace(left_ms=max(there.left.values(), default=None))
            for _, there in sorted(self._players.items())
        ]
        others = sorted(name for name, row in self._replicas.items() if name != replica and not row.heir)
        here = {name for name, there in self._players.items() if there.session.replica == replica}
        return Heartbeat(tuple(gone), tuple(sessions), tuple(others), self._taken_over(here))

    async def forget(self, replica: str) -> None:
        await asyncio.sleep(0)
        self._replicas.pop(replica, None)
        for there in self._players.values():
            if there.session.replica == replica:
                there.session = there.session._replace(replica="")
        self._resolve(replica)

    def _resolve(self, replica: str) -> None:
        """Note that a replica is not in doubt any more, and remove the players who are nowhere without a doubt."""
        for name, there in list(self._players.items()):
            there.left.pop(replica, None)
            if not there.session.replica and not there.left:
                del self._players[name]

    async def lost_players(self, replica: str) -> list[LostPlayer]:
        await asyncio.sleep(0)
        return sorted(
            LostPlayer(name, _known(there.left.get(replica)))
            for name, there in self._players.items()
            if there.session.replica == replica or replica in there.left
        )

    async def take(self, player: str, replica: str, bot_version: str, most_matches: int) -> Taken | None:
        await asyncio.sleep(0)
        mine = self._replicas.get(replica)
        if mine is None or mine.heir:
            return None
        before = self._players.get(player)
        left = before.left if before is not None else {}
        if before is not None and before.session.replica:
            left[before.session.replica] = NOT_YET
        left.pop(replica, None)  # it is alive: it takes the stream
        epoch = before.session.epoch + 1 if before is not None else 1
        self._players[player] = _Player(PlaySession(player, replica, epoch, bot_version, most_matches), left)
        return Taken(epoch, max(left.values(), default=None), self._taken_over({player}))

    async def arrive(self, player: str, replica: str, epoch: int, opened_ms: int) -> None:
        """Note when a Play stream was opened."""
        await asyncio.sleep(0)
        self._arrive(player, replica, epoch, opened_ms)

    def _arrive(self, player: str, replica: str, epoch: int, opened_ms: int) -> _Player | None:
        """Note it, and return the player, if this is its stream."""
        there = self._players.get(player)
        if there is None or (there.session.replica, there.session.epoch) != (replica, epoch):
            return None
        there.left = {name: min(left_ms, opened_ms) for name, left_ms in there.left.items()}
        return there

    async def give_back(
        self,
        player: str,
        replica: str,
        epoch: int,
        hand_overs: Sequence[HandOver] = (),
        opened_ms: int = NOT_YET,
    ) -> bool:
        await asyncio.sleep(0)
        there = self._arrive(player, replica, epoch, opened_ms)
        if there is None:
            return False
        self._hand_over(hand_overs)
        there.session = there.session._replace(replica="")
        if not there.left:
            del self._players[player]
        return True

    def _hand_over(self, hand_overs: Sequence[HandOver]) -> None:
        self._hand_overs |= {(each.player, each.match_id): each for each in hand_overs}

    def _taken_over(self, players: set[str]) -> tuple[HandOver, ...]:
        found = [key for key in self._hand_overs if key[0] in players]
        return tuple(self._hand_overs.pop(key) for key in found)


def _known(left_ms: int | None) -> int | None:
    return None if left_ms == NOT_YET else left_ms


def _now_ms() -> int:
    return round(asyncio.get_running_loop().time() * 1_000)
