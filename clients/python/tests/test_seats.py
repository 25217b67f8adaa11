"""Bots on a real arbiter: after an opening, against themselves, and with several moves in a row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import arbiter_client as arb
import pytest

from arbiter.games.registry import game
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served, served


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    """Run an arbiter in this process."""
    async with served() as running:
        yield running


class Following(arb.Bot):
    """Plays the first legal move of its own replay, which must lead to the turn's position."""

    name = "following"

    def __init__(self) -> None:
        self.begun: list[tuple[int, int]] = []
        self.turns: list[tuple[int, int]] = []  # ply and seat
        self.finished: list[arb.FinishedMatch] = []

    async def started(self, match: arb.LiveMatch) -> None:
        """Record the seat, and the length of the opening."""
        self.begun.append((match.seat, match.opening_plies))

    async def choose(self, turn: arb.Turn) -> str:
        """Replay the line, and compare the position."""
        assert turn.seat == turn.match.seat
        self.turns.append((turn.ply, turn.seat))
        rules = game(turn.game)
        position = rules.initial()
        for move in turn.match.moves:
            position = rules.play(position, move)
        assert (rules.text(position), position.turn) == (turn.position, turn.seat)
        return min(rules.moves(position))

    async def ended(self, finished: arb.FinishedMatch) -> None:
        """Record the result."""
        self.finished.append(finished)


async def played(server: Served, players: tuple[str, str], variant: str, opening: tuple[str, ...]) -> list[Following]:
    """Let bots play a match to its end."""
    ((_, bearer),) = await server.token("org", Scope.ORGANISE)
    bots = {name: Following() for name in players}
    tokens = {name: (await server.token(name))[0][1].removeprefix("Bearer ") for name in bots}
    async with arb.Client(server.address, token=bearer.removeprefix("Bearer ")) as client:
        made = await client.create_match(variant, players, time_control="5m", opening=opening)
        assert (made.ply, made.opening_plies) == (len(opening), len(opening))
        async with asyncio.TaskGroup() as group:
            for name, bot in bots.items():
                group.create_task(arb.play(bot, server.address, token=tokens[name], matches=1, on_error="raise"))
        whole = await client.get_match(made.match_id, with_moves=True)
        assert whole.moves[: len(opening)] == opening
        events = [event async for event in client.observe(made.match_id)]
        assert isinstance(events[0].what, arb.MatchCreated)
        assert events[0].what.opening == opening
    assert [bot.finished[0].result.cause for bot in bots.values()] == [arb.Cause.RULES] * len(bots)
    return list(bots.values())


@pytest.mark.long
async def test_two_bots_continue_an_opening(server: Served) -> None:
    alice, bob = await played(server, ("alice", "bob"), "pods(size=3)", ("a1", "e3", "b1"))
    assert (alice.begun, bob.begun) == ([(1, 3)], [(2, 3)])


async def test_a_bot_plays_against_itself(server: Served) -> None:
    (alice,) = await played(server, ("alice", "alice"), "pods(size=3)", ("a1", "e3", "b1"))
    assert sorted(alice.begun) == [(1, 3), (2, 3)]
    assert alice.turns[:4] == [(3, 2), (4, 1), (5, 2), (6, 1)]
    assert len(alice.finished) == 1


@pytest.mark.long
@pytest.mark.parametrize("players", [("alice", "bob"), ("alice", "alice")])
async def test_a_seat_that_moves_several_times_in_a_row(server: Served, players: tuple[str, str]) -> None:
    bots = await played(server, players, "pondlife(handicap=4)", ())
    turns = sorted(turn for bot in bots for turn in bot.turns)
    assert turns[:5] == [(0, 2), (1, 2), (2, 2), (3, 2), (4, 1)]
