"""A player goes from server to server within one turn, and each of them may die: what is this thought charged?

A thought that was handed over by a server that died, or was there when it died, is not charged for the outage. If all
servers live as long as the player is there, it is charged whole. All orders of a few steps are tried, with deaths that
are noticed in one order or the other, servers that stand still for a while, and servers that return after the others
have declared them dead.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum, auto
from random import Random
from typing import NamedTuple

import pytest

from arbiter.bootstrap.store import Store
from arbiter.matches import Receipt
from arbiter.matches.clock import CreditRules
from arbiter.matches.events import Moved
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import check_chain
from arbiter.service.play.session import AnswerItem
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas

POLICY = replace(Policy(start=ClockStart.AT_ONCE), credit=CreditRules(hand_over_most_ms=0))
THINKS_S = 0.4  #: at each server
AWAY_S = 0.1  #: from one server to the next
LATER_S = 0.9  #: longer than the time between two heartbeats
SHORT_S = 1.2  #: a pause that the others wait for
LONG_S = 4.0  #: a pause after which they have declared the server dead
ANSWERED_S = 4.0  #: after the last move; the last death is known by then


class Fate(Enum):
    """What happens to a server about when the player leaves it."""

    LIVES = auto()
    DIES = auto()
    DIES_LATER = auto()
    PAUSES = auto()
    RETURNS = auto()  #: under a new id

    @property
    def cuts(self) -> bool:
        """Whether the others have to take it for dead."""
        return self in (Fate.DIES, Fate.RETURNS)


class Way(NamedTuple):
    """The servers of the player, what happens to each of them but the last, and at which of them its turn begins."""

    servers: tuple[int, ...]
    fates: tuple[Fate, ...]
    begins: int

    @property
    def is_cut(self) -> bool:
        return any(fate.cuts for fate in self.fates[self.begins :])

    def __str__(self) -> str:
        fates = [fate.name.lower() for fate in self.fates]
        return "-".join(map(str, [*itertools.chain(*zip(self.servers, fates, strict=False)), self.servers[-1]]))


def ways(stays: int) -> Iterator[Way]:
    """Return all ways over so many stays at three servers, with no return to a server that is not there."""
    for servers in itertools.product(range(3), repeat=stays):
        moves = list(itertools.pairwise(servers))
        if servers[0] != 0 or servers[1] != 1 or any(one == next_one for one, next_one in moves):
            continue
        for fates in itertools.product(Fate, repeat=stays - 1):
            away = [number for number, fate in enumerate(fates) if fate is not Fate.LIVES]
            if any(servers[number] in servers[number + 1 :] for number in away):
                continue
            yield from (Way(servers, fates, begins) for begins in range(stays - 1))


class Journey:
    """Three servers for the player, and one more for its opponent, which lives."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._dice = Random(str(way))
        self._later: list[asyncio.Task[None]] = []
        self._servers: list[InMemoryArbiter] = []

    async def charged(self) -> tuple[int, int]:
        """Go the way, and move at its end; return how long the thought took, and what it is charged."""
        await self._start()
        home, way = self._servers[3], self._way
        bob = await home.connect("bob")
        match = await home.create("pondlife", ("bob", "alice"), time="1m", policy=POLICY)
        alice, began = await self._servers[way.servers[0]].connect("alice"), 0
        for stay, server in enumerate(way.servers):
            if stay:
                alice = await self._servers[server].connect("alice")
            if stay == way.begins:
                await asyncio.sleep(LATER_S if stay == 0 else AWAY_S)  # at the first server nothing is in doubt
                bob.reply(await bob.turn())
                began = home.clock.now_ms()
            await asyncio.sleep(THINKS_S)
            if stay < len(way.fates):
                await self._meets(self._servers[server], way.fates[stay])
                await asyncio.sleep(AWAY_S)
        request, arrived = alice.reply(await alice.turn()), home.clock.now_ms()
        await self._answer(alice, request)
        events = check_chain([stored.body for stored in await home.journal.read(match.id)])
        moved = [event for event in events if isinstance(event, Moved)][-1]
        for task in self._later:
            await task
        return arrived - began, moved.ledger.charged

    async def _start(self) -> None:
        first = InMemoryArbiter(Store(MemoryJournal(), MemoryDirectory(), replicas=MemoryReplicas()))
        self._servers = [first, *(first.beside() for _ in range(3))]
        for server in self._servers:
            await asyncio.sleep(self._dice.uniform(0, 0.5))  # so the order of their heartbeats differs
            await server.share()

    async def _meets(self, server: InMemoryArbiter, fate: Fate) -> None:
        match fate:
            case Fate.DIES:
                await server.die()
            case Fate.DIES_LATER:
                self._later.append(asyncio.create_task(_die_later(server)))
            case Fate.PAUSES:
                self._later.append(asyncio.create_task(_pause(server, SHORT_S)))
            case Fate.RETURNS:
                self._later.append(asyncio.create_task(_pause(server, LONG_S)))
        await asyncio.sleep(0)

    async def _answer(self, alice: StreamReader, request: str) -> None:
        async with asyncio.timeout(ANSWERED_S):
            while not any(isinstance(item, AnswerItem) for item in await alice.receive()):  # noqa: ASYNC110
                await asyncio.sleep(AWAY_S)
        assert isinstance(alice.answer(request), Receipt)


async def _die_later(server: InMemoryArbiter) -> None:
    await asyncio.sleep(LATER_S)
    await server.die()


async def _pause(server: InMemoryArbiter, for_s: float) -> None:
    """Stop a server's tasks, as if its process stood still, and let them go on."""
    for task in server.tasks:
        task.cancel()
    await asyncio.gather(*server.tasks, return_exceptions=True)
    await asyncio.sleep(for_s)
    assert server.arbiter.replica is not None
    server.tasks = [
        asyncio.create_task(server.arbiter.replica.run()),
        asyncio.create_task(server.arbiter.follower.run()),
    ]


@virtually
async def go(way: Way) -> None:
    """Let a player go one way, and compare what it is charged."""
    took, charged = await Journey(way).charged()
    if way.is_cut:
        assert charged == 0, f"{way}: an outage is charged"
    else:
        assert charged == pytest.approx(took, abs=1), f"{way}: a thought at servers that live is charged in part"


@pytest.mark.parametrize("way", [pytest.param(way, id=f"{way} turn at {way.begins}") for way in ways(2)])
def test_a_player_goes_to_another_server(way: Way) -> None:
    go(way)


@pytest.mark.long
@pytest.mark.parametrize("stays", [3, 4])
def test_a_player_goes_on_to_further_servers(stays: int, seeds: int) -> None:
    found = list(ways(stays))
    for way in Random(seeds).sample(found, min(len(found), seeds)):
        go(way)


@pytest.mark.long
def test_a_player_whose_server_has_died_goes_on_before_anybody_knows() -> None:
    for way in ways(3):
        if way.fates[0] is Fate.DIES:
            go(way)
