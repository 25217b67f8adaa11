"""Servers whose own clocks are wrong by seconds charge the same thinking time: they share one time."""

from __future__ import annotations

import asyncio
import itertools
from random import Random
from typing import Any

import pytest
import structlog

from arbiter.bootstrap.store import Store
from arbiter.matches import Receipt
from arbiter.matches.events import Interrupted, Moved
from arbiter.matches.policy import ClockStart, Policy
from arbiter.runtime.system_clock import FollowingClock
from arbiter.service.play.session import AnswerItem, TurnItem
from arbiter.service.ports.environment import TimeReading
from arbiter.service.sharing.replica import BEAT_S
from arbiter.service.sharing.timekeeping import keep_time
from arbiter.testing.clock import NOON_MS, VirtualClock, virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas
from tests.service.sharing.servers import charges, events

AT_ONCE = Policy(start=ClockStart.AT_ONCE)
WRONG_MS = (0, 1_000, -1_000)
SAME_MS = 5
NUMBERS = itertools.count(1)
THOUGHTS_S = (0.05, 0.4, 2.0)


class Machine(VirtualClock):
    """The clock of a server on a machine with a wrong clock; it asks a database for the time."""

    def __init__(self, wrong_ms: int, dice: Random, wrong_ppm: int = 0) -> None:
        super().__init__()
        self.database_ms = NOON_MS
        self._wrong_ms = wrong_ms
        self._wrong_ppm = wrong_ppm
        self._dice = dice
        self.following: FollowingClock | None = None

    def now_ms(self) -> int:
        return self._own_ns() // 1_000_000 if self.following is None else self.following.now_ms()

    def _own_ns(self) -> int:
        passed = asyncio.get_running_loop().time() * (1 + self._wrong_ppm / 1e6)
        return (NOON_MS + self._wrong_ms) * 1_000_000 + int(passed * 1e9)

    async def readings(self) -> list[TimeReading]:
        """Ask the database several times: round trips take up to 30 ms, with unequal halves, and are seldom under 3."""
        found = []
        for number in range(5):
            slow = 1 if number == 3 else self._dice.choice((2, 10))
            asked = self._own_ns()
            await asyncio.sleep(self._dice.uniform(0.0005, 0.0015) * slow)
            theirs = self.database_ms * 1_000_000 + int(asyncio.get_running_loop().time() * 1e9)
            await asyncio.sleep(self._dice.uniform(0.0005, 0.0015) * slow)
            answered = self._own_ns()
            found.append(TimeReading(theirs, (asked + answered) // 2, answered - asked))
        return found

    async def follow(self) -> None:
        self.following = FollowingClock(await self.readings(), self._own_ns)


async def servers(follow: bool = True) -> tuple[list[InMemoryArbiter], list[Machine]]:
    """Return three servers that share a store, on machines with wrong clocks."""
    dice = Random(1)
    clocks = [Machine(wrong, dice, ppm) for wrong, ppm in zip(WRONG_MS, (0, 90, -90), strict=True)]
    if follow:
        for clock in clocks:
            await clock.follow()
    first = InMemoryArbiter(Store(MemoryJournal(), MemoryDirectory(), replicas=MemoryReplicas()), clock=clocks[0])
    made = [first, *(first.beside(clock) for clock in clocks[1:])]
    for server, clock in zip(made, clocks, strict=True):
        await server.share()
        if clock.following is not None:
            keeping: Any = keep_time(clock.following, clock, server.arbiter.matches, structlog.get_logger())
            server.tasks.append(asyncio.create_task(keeping))
    return made, clocks


async def played(reader: StreamReader) -> None:
    """Play the turn that the reader has received."""
    await reader.receive()
    match = next(item.match for item in reversed(reader.received) if isinstance(item, TurnItem))
    move = min(match.game.moves(match.position))
    request = reader.play(match.id, match.ply, move, f"{reader.session.player} {match.ply}")
    async with asyncio.timeout(3 * BEAT_S):  # until it is known that the server from which the player came is alive
        while not any(isinstance(item, AnswerItem) for item in await reader.receive()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert isinstance(reader.answer(request), Receipt)
    await asyncio.sleep(0.1)  # the other servers read the move


async def one_game(
    made: list[InMemoryArbiter], seats: tuple[int, int], moves_to: tuple[int, ...] = (), leaves_first: bool = False
) -> list[int]:
    """Have alice and bob play on servers, alice with these thinking times; return what she is charged for each.

    moves_to: the servers to which she moves in the middle of each turn, one after the other. leaves_first: she closes
    her stream before she opens the next one.
    """
    names = f"alice-{next(NUMBERS)}", f"bob-{next(NUMBERS)}"
    alice, bob = await made[seats[0]].connect(names[0]), await made[seats[1]].connect(names[1])
    match = await made[seats[0]].create("pondlife", names, request=names[0], policy=AT_ONCE)
    await asyncio.sleep(0.1)
    ways = itertools.cycle(moves_to)
    for number, thought in enumerate(THOUGHTS_S):
        if number:
            await bob.receive()
            await played(bob)
        began = asyncio.get_running_loop().time()
        await alice.receive()
        for _ in moves_to[:-1]:
            await asyncio.sleep(thought / len(moves_to))
            if leaves_first:
                alice.leave()
                await asyncio.sleep(thought / len(moves_to) / 2)
            old, alice = alice, await made[next(ways)].connect(names[0])
            if not leaves_first:
                old.leave()
            await alice.receive()
        await asyncio.sleep(began + thought - asyncio.get_running_loop().time())
        await played(alice)
    found = (await charges(made[0], match.id))[::2]
    for reader in (alice, bob):
        reader.leave()
    await asyncio.sleep(1)
    return found


@virtually
async def test_the_charge_does_not_depend_on_the_servers_of_the_players() -> None:
    made, _ = await servers()
    want = await one_game(made, (0, 0))
    assert want[2] == pytest.approx(2_000, abs=150), "the wait includes the delay until the others have read the log"
    for seats in ((0, 1), (1, 2), (2, 1)):
        assert await one_game(made, seats) == pytest.approx(want, abs=SAME_MS), seats


@virtually
@pytest.mark.parametrize("leaves_first", [True, False])
@pytest.mark.parametrize(("seats", "moves_to"), [((1, 0), (2, 1)), ((2, 0), (1, 2)), ((0, 2), (1, 2, 0))])
async def test_the_charge_is_the_same_if_the_player_moves_to_other_servers_meanwhile(
    seats: tuple[int, int], moves_to: tuple[int, ...], leaves_first: bool
) -> None:
    """The credit for the time until the first server had handed the turn over goes with the player."""
    made, _ = await servers()
    stays = await one_game(made, seats)
    assert await one_game(made, seats, moves_to, leaves_first) == pytest.approx(stays, abs=SAME_MS)


@virtually
async def test_without_a_shared_time_the_charges_would_differ() -> None:
    made, _ = await servers(follow=False)
    assert await one_game(made, (2, 1)) != pytest.approx(await one_game(made, (0, 0)), abs=500)


@virtually
async def test_nobody_is_charged_when_the_clock_of_the_database_is_set_forward() -> None:
    made, clocks = await servers()
    alice = await made[1].connect("alice")
    await made[2].connect("bob")
    match = await made[0].create("pondlife", time="20s", policy=AT_ONCE)
    await asyncio.sleep(3)
    await alice.receive()
    for clock in clocks:
        clock.database_ms += 3_600_000
    await asyncio.sleep(2)
    await played(alice)
    stored = await events(made[0], match.id)
    assert any(isinstance(event, Interrupted) for event in stored)
    [moved] = [event for event in stored if isinstance(event, Moved)]
    assert moved.ledger.charged < 4_000
    times = [clock.now_ms() for clock in clocks]
    assert max(times) - min(times) <= SAME_MS
    assert min(times) > NOON_MS + 3_600_000
