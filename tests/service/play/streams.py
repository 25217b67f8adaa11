"""What tests of play streams share."""

from __future__ import annotations

from typing import Any

from arbiter.matches import Receipt
from arbiter.matches.commands import Resign
from arbiter.matches.match import Match
from arbiter.matches.policy import ClockStart, Policy
from arbiter.service.play.session import Item
from arbiter.testing.in_memory import InMemoryArbiter

AT_ONCE = Policy(start=ClockStart.AT_ONCE)


def of(kind: type[Any], items: list[Item]) -> list[Any]:
    return [item for item in items if isinstance(item, kind)]


async def resign(server: InMemoryArbiter, match: Match, player: str) -> None:
    answer = await server.arbiter.matches.request(player, match.id, lambda seat: Resign(seat, f"{player} resigns"))
    assert isinstance(answer, Receipt)
