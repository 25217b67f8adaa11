"""What tests of live matches share."""

from __future__ import annotations

from typing import Any

from arbiter.errors import Refusal
from arbiter.matches.commands import Play
from arbiter.matches.match import Match
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import read
from arbiter.service.matches.live_match import Answer
from arbiter.testing.in_memory import InMemoryArbiter

AT_ONCE = Policy(start=ClockStart.AT_ONCE)


def first_move(match: Match) -> str:
    return min(match.game.moves(match.position))


def submit(
    server: InMemoryArbiter, player: str, match: Match, request: str, move: str = "", ply: int | None = None
) -> Any:
    """Request a move by a unary call; by default the first legal one."""
    now = server.clock.now_ms()
    text, at = move or first_move(match), match.ply if ply is None else ply
    return server.arbiter.matches.request(player, match.id, lambda seat: Play(seat, request, at, text, now))


def said(answer: Answer) -> object:
    """Return all fields of an answer, for comparisons."""
    return (answer.reason, answer.message, list(answer.facts.items())) if isinstance(answer, Refusal) else answer


async def kinds(server: InMemoryArbiter, match: Match) -> list[str]:
    return [read(record.body).kind.value for record in await server.journal.read(match.id)]


async def finished(server: InMemoryArbiter, match: Match) -> Match:
    async with server.arbiter.feed.of_match(match.id, 0) as stream:
        async for batch in stream:
            del batch
    return await server.arbiter.matches.match(match.id)
