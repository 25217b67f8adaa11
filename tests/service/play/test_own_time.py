"""Clocks: the time that the server itself takes is charged to nobody."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from arbiter.bootstrap.store import Store
from arbiter.service.play.session import Session, TurnItem
from arbiter.service.ports.journal import Append
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter, items_of
from arbiter.testing.memory import MemoryDirectory, MemoryJournal
from tests.service.play.ledgers import AT_ONCE, ledgers, passed


class SlowJournal(MemoryJournal):
    """A journal whose commits take random times."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__()
        self._dice = dice

    def append(self, append: Append) -> asyncio.Future[int]:
        """Store records now, and report it later."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[int] = loop.create_future()
        stored = super().append(append)
        loop.call_later(self._dice.uniform(0, 0.05), _pass_on, stored, done)
        return done


def _pass_on(stored: asyncio.Future[int], done: asyncio.Future[int]) -> None:
    if not done.cancelled():
        done.set_result(stored.result())


class Thinker:
    """A bot that thinks for a random time on every turn; its server takes random times to hand over and decide."""

    def __init__(self, server: InMemoryArbiter, session: Session, dice: random.Random, moves: int) -> None:
        self._server = server
        self._session = session
        self._dice = dice
        self._moves = moves
        self.thought: dict[tuple[str, int], int] = {}  #: match and ply: milliseconds

    async def run(self) -> None:
        """Play this many moves."""
        for _ in range(self._moves):
            turn = await self._turn()
            match, clock, arbiter = turn.match, self._server.clock, self._server.arbiter
            await asyncio.sleep(self._dice.uniform(0, 0.04))  # the server is busy with something else
            handed_over = clock.now_ms()
            arbiter.delivery.turn_sent(self._session, turn, handed_over)
            await asyncio.sleep(self._dice.uniform(0.5, 1.5))
            arrived = clock.now_ms()
            self.thought[match.id, match.ply] = arrived - handed_over
            await asyncio.sleep(self._dice.uniform(0, 0.04))  # it is busy again, while the move waits for its decision
            move = min(match.game.moves(match.position))
            arbiter.acts.play(self._session, f"r{match.ply}", match.id, match.ply, move, arrived)

    async def _turn(self) -> TurnItem:
        while True:
            for item in await items_of(self._session):
                if isinstance(item, TurnItem):
                    return item


@pytest.mark.long
@virtually
async def test_in_five_hundred_matches_the_servers_own_time_is_charged_to_nobody() -> None:
    dice = random.Random(5)
    server = InMemoryArbiter(Store(SlowJournal(dice), MemoryDirectory()))
    games = [(f"first-{n}", f"second-{n}") for n in range(500)]
    bots = [await server.connect(player) for players in games for player in players]
    thinkers = [Thinker(server, bot.session, dice, 2) for bot in bots]
    play = asyncio.gather(*(thinker.run() for thinker in thinkers))
    matches = await asyncio.gather(*(server.create(players=players, policy=AT_ONCE) for players in games))
    await play
    await passed(1)
    thought: dict[Any, int] = {}
    for thinker in thinkers:
        thought |= thinker.thought
    server_ms = 0
    for match in matches:
        for ply, ledger in enumerate(await ledgers(server, match)):
            assert ledger.charged == thought[match.id, ply]
            server_ms += ledger.credited
    assert len(thought) == 2_000
    assert server_ms > 50_000  # there was some time to charge
