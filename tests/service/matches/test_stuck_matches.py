"""No match is ever stuck: each is progressing, waiting on a clock, or has ended."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from arbiter.errors import Refusal
from arbiter.matches.commands import Abort, Arrive, Resign
from arbiter.matches.match import Match
from arbiter.matches.policy import ClockStart, NoShow, Policy
from arbiter.service.matches.live_match import LiveMatch
from arbiter.service.play.session import TurnItem
from arbiter.testing.clock import run, virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.testing.stuck_matches import NextStep, standing

AT_ONCE = Policy(start=ClockStart.AT_ONCE)
PLAYERS = tuple(f"p{n}" for n in range(8))
CONTROLS = ("none", "3s", "1m+1s", "2s+1sd", "500ms/move+5s", "2s+2x1s", "3/4s")
GAMES = ("circle-of-life", "hop-it")
STEPS = 120
MOST_S = 2.0 * 60 + 60  #: seconds without any request after which no match of these tests can still be going on


def policy(dice: random.Random) -> Policy:
    """Return a random policy with short waits."""
    return Policy(
        illegal_moves=dice.randint(1, 4),
        no_show_ms=dice.choice((1, 2_000, 20_000)),
        abandon_ms=dice.choice((0, 1, 5_000, 60_000)),
        move_cap_ms=dice.choice((1_000, 60_000)),
        resume_ms=dice.choice((0, 1, 3_000, 30_000)),
        start=dice.choice(tuple(ClockStart)),
        no_show=dice.choice(tuple(NoShow)),
    )


class RandomFaults:
    """Many matches, misbehaving players and a failing store, all drawn from one seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.server = InMemoryArbiter()
        self.bots: dict[str, StreamReader] = {}
        self.matches: list[str] = []
        self.asking: set[asyncio.Task[None]] = set()
        self.done = 0

    async def step(self) -> None:
        """Do something at random, and let some time pass."""
        moves = (self.move,) * 3
        players = (self.connect, self.connect, self.leave, self.junk, *moves)
        happens: Callable[[], Awaitable[None]] = self.dice.choice(
            (*players, self.make, self.end, self.calm, self.fault, self.crash)
        )
        self.done += 1
        with suppress(Refusal):  # errors of the failing store
            await happens()
        await asyncio.sleep(self.dice.choice((0, 0, 0.001, 0.3, 2, 10)))

    def ask(self, call: Coroutine[Any, Any, Any]) -> None:
        """Send a request without waiting for its answer: a store that holds its commits back gives none."""

        async def asked() -> None:
            with suppress(Refusal):
                await call

        task = asyncio.create_task(asked())
        self.asking.add(task)
        task.add_done_callback(self.asking.discard)

    async def make(self) -> None:
        """Create a match."""
        self.ask(self._make())

    async def _make(self) -> None:
        pair, control = self.dice.sample(PLAYERS, 2), self.dice.choice(CONTROLS)
        made = await self.server.create(self.dice.choice(GAMES), pair, control, policy=policy(self.dice))
        self.matches.append(made.id)

    async def connect(self) -> None:
        """Open a stream for a player."""
        name = self.dice.choice(PLAYERS)
        self.bots[name] = await self.server.connect(name)

    async def leave(self) -> None:
        """Lose the stream of a player."""
        if self.bots:
            self.bots.pop(self.dice.choice(sorted(self.bots))).leave()

    async def move(self) -> None:
        """Let every connected player that has a turn move, or not."""
        for name in sorted(self.bots):
            for item in await self.bots[name].receive():
                if isinstance(item, TurnItem) and self.dice.random() < 0.8:
                    self.bots[name].reply(item)

    async def junk(self) -> None:
        """Send a malformed move, or one for another player's match, or one at a wrong ply."""
        if self.bots and self.matches:
            bot, match_id = self.bots[self.dice.choice(sorted(self.bots))], self.dice.choice(self.matches)
            bot.play(match_id, self.dice.randint(0, 3), self.dice.choice(("?", "a1")))

    async def end(self) -> None:
        """End a match, by its organiser or a player."""
        if self.matches:
            command = self.dice.choice((Abort("org", f"{self.done}"), Resign(1, f"{self.done}")))
            self.ask(self.server.arbiter.matches.answer(self.dice.choice(self.matches), command))

    async def fault(self) -> None:
        """Let the store fail in some way, until `calm`."""
        setattr(self.server.journal, self.dice.choice(("refuse", "lie", "mute", "hold")), True)

    async def calm(self) -> None:
        """Let the store work again."""
        journal = self.server.journal
        journal.refuse = journal.lie = journal.mute = False
        journal.release()

    async def crash(self) -> None:
        """Forget everything that is not stored, and start again."""
        for task in self.asking:
            task.cancel()
        self.bots.clear()
        await self.server.restart()


async def random_faults(seed: int, connected: bool) -> None:
    """Assert that no match is ever stuck, and that all end by themselves once no more requests are sent."""
    here = RandomFaults(seed)
    for _ in range(10):
        await here._make()
    for _ in range(STEPS):
        await here.step()
        assert await here.server.stuck_matches() == [], f"seed {seed}, step {here.done}"
    await here.calm()
    for name in PLAYERS:
        if connected:
            here.bots[name] = await here.server.connect(name)
        elif name in here.bots:
            here.bots.pop(name).leave()
    for _ in range(int(MOST_S)):
        await asyncio.sleep(1)
        assert await here.server.stuck_matches() == [], f"seed {seed}, after the faults"
    assert len(here.server.arbiter.matches.live) == 0, f"seed {seed}"
    assert await here.server.journal.unfinished() == [], f"seed {seed}"


@pytest.mark.long
@pytest.mark.parametrize("connected", [True, False])
def test_no_match_is_stuck_under_random_faults_and_all_end_once_they_stop(seeds: int, connected: bool) -> None:
    for seed in range((seeds + 1) // 2):
        run(random_faults(seed, connected))


@virtually
async def test_a_match_whose_creation_was_stored_but_reported_as_failed_is_served() -> None:
    server = InMemoryArbiter()
    server.journal.lie = True
    with pytest.raises(Refusal):
        await server.create(policy=Policy(no_show_ms=60_000))
    server.journal.lie, server.journal.mute = False, True
    await asyncio.sleep(3)
    server.journal.mute = False
    await asyncio.sleep(3)  # its creator never repeats the request
    assert await server.stuck_matches() == []
    assert len(server.arbiter.matches.live) == 1
    await asyncio.sleep(90)
    assert await server.journal.unfinished() == []


class TestSweepOfMatches:
    """Its reasons are named after what it finds."""

    @virtually
    async def test_waiting_matches_and_matches_being_stored_are_not_stuck(self) -> None:
        server = InMemoryArbiter()
        match = await server.create()
        assert [standing(live, server.clock.now_ms()) for live in server.arbiter.matches.live] == [NextStep.WAITING]
        server.journal.hold = True
        live = found(server, match)
        server.arbiter.matches.decisions.decide(live, Arrive(1))
        assert standing(live, server.clock.now_ms()) is NextStep.PROGRESSING
        assert await server.stuck_matches() == []

    @virtually
    async def test_a_timer_that_is_not_set(self) -> None:
        server = InMemoryArbiter()
        live = found(server, await server.create())
        assert live.timer is not None
        live.timer.cancel()
        assert await named(server) == "no timer is set"
        live.timer = None
        assert await named(server) == "no timer is set"

    @virtually
    async def test_a_timer_that_expires_too_late(self) -> None:
        server = InMemoryArbiter()
        live = found(server, await server.create(policy=AT_ONCE))
        assert live.timer is not None
        late_s = live.timer.when() + 5
        live.timer.cancel()
        live.timer = asyncio.get_running_loop().call_at(late_s, int)
        assert await named(server) == "its timer rings 5000 ms too late"

    @virtually
    async def test_one_that_is_overdue(self) -> None:
        server = InMemoryArbiter()
        live = found(server, await server.create(policy=Policy(no_show_ms=1_000)))
        assert live.timer is not None
        live.timer.cancel()
        await asyncio.sleep(3)
        assert (await named(server)).endswith(" 2000 ms ago")

    @virtually
    async def test_one_that_no_server_serves(self) -> None:
        server = InMemoryArbiter()
        matches = server.arbiter.matches
        matches.live.leave(found(server, await server.create()))
        assert await named(server) == "it has not ended, and nobody looks after it"

    @virtually
    async def test_one_that_has_failed_and_is_not_read_again(self) -> None:
        server = InMemoryArbiter()
        found(server, await server.create()).failed = True
        assert await named(server) == "its write failed, and it is not read again"

    @virtually
    async def test_one_that_has_ended_and_is_kept(self) -> None:
        server = InMemoryArbiter()
        match = await server.create()
        await server.arbiter.matches.act(match.id, Abort("org", "a"))
        server.arbiter.matches.live.enter(await server.arbiter.matches.match(match.id))
        assert await named(server) == "it has ended, and is looked after all the same"


def found(server: InMemoryArbiter, match: Match) -> LiveMatch:
    """Return a match as the arbiter holds it in memory."""
    live = server.arbiter.matches.live.find(match.id)
    assert live is not None
    return live


async def named(server: InMemoryArbiter) -> str:
    """Return the reason why the only stuck match is stuck."""
    (stuck,) = await server.stuck_matches()
    return stuck.why
