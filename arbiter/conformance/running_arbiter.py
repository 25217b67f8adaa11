"""The arbiter for the bots under test: a real one, in this process, with an event log in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from arbiter.bootstrap.running_server import serving
from arbiter.bootstrap.store import Store
from arbiter.bootstrap.wiring import Arbiter
from arbiter.bootstrap.world import World
from arbiter.config import Settings, load
from arbiter.runtime.ids import SystemIds
from arbiter.runtime.loopback import free_port
from arbiter.runtime.system_clock import SystemClock
from arbiter.service.players.accounts import Caller, Scope
from arbiter.service.ports.environment import Clock
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.service.tournaments.tournament_ports import InProcessPairing
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, NoKeys
from arbiter.wire.encoding_pool import EncodingPool
from arbiter.workers.rules_pool import RulesPool

LIMITS: Final = {
    "chunk_moves": 200,  # so that lists come in many chunks
    "ping_ms": 1_000,  # so that heartbeats are seen in a short while
    "silence_ms": 60_000,  # the arbiter tolerates a silent bot, since the referee judges silence
    "stall_ms": 60_000,  # a busy machine interrupts no match
}


class RunningArbiter:
    """A running arbiter. address: where it listens. clock: its clock."""

    def __init__(self, arbiter: Arbiter, address: str, clock: Clock) -> None:
        self.arbiter = arbiter
        self.address = address
        self.clock = clock
        self._players = 0

    def new_player(self) -> str:
        """Return an unused player name."""
        self._players += 1
        return f"bot-{self._players}"

    async def token(self, player: str, *scopes: Scope) -> str:
        """Return a new token of a player, which is created if needed; the default scopes are play and observe."""
        operator = Caller("", "", frozenset({Scope.ADMIN.value}))
        _, secret = await self.arbiter.accounts.create_token(operator, player, scopes, "")
        return secret


@asynccontextmanager
async def running_arbiter() -> AsyncIterator[RunningArbiter]:
    """Run an arbiter during the context."""
    clock = SystemClock()

    @asynccontextmanager
    async def world(settings: Settings) -> AsyncIterator[World]:
        async with AsyncExitStack() as stack:
            pools = (EncodingPool(settings.limits, 1, nice=0), RulesPool(settings.limits, 1, nice=0))
            for pool in pools:
                stack.push_async_callback(pool.close)
                pool.begin()
            store = Store(MemoryJournal(), MemoryDirectory())
            yield World(store, clock, SystemIds(clock), *pools, NoKeys(), InProcessPairing(), InProcessRating())

    address = f"127.0.0.1:{free_port()}"
    async with serving(load(None, listen=address, limits=LIMITS), world) as running:
        yield RunningArbiter(running.arbiter, address, clock)
