"""One server, or several that share a store: what works on one is tested on several by the same tests."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final, cast

import grpc
import pytest

from arbiter.bootstrap.store import Store
from arbiter.bootstrap.wiring import Arbiter
from arbiter.bootstrap.world import World
from arbiter.config import Settings
from arbiter.service.ports.journal import Subject
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas
from arbiter.testing.served import Served, memory_world, served

WAIT_S: Final = 240.0
ONE: Final = pytest.param(1, id="alone")
ONE_OR_TWO: Final = (ONE, pytest.param(2, id="sharing", marks=pytest.mark.long))
"""How many servers, as parameters of a fixture.

Tests have only one if their subject is a server and not the arbiter: limits, which each server counts for itself; calls
that wait; the network, the certificates and the clock of a server; its memory; faults of its disk. So have these:

- Connect (`test_connect.py`): it puts the calls that other modules test into other messages, on a port of one server.
- How a player's own bot is connected (`tests/web/test_own_bot.py`): only its server says all of it.
- Pages of tournaments that no server has (`tests/web/test_tournament_tables.py`): their subject is what a page shows.
"""
ONE_OR_TWO_COMPILED: Final = (ONE, pytest.param(2, id="sharing"))
"""The same in the modules of `SHORT_COMPILED` (`Makefile`), which runs no long test."""
OpenWorld = Callable[[Settings], AbstractAsyncContextManager[World]]


class Servers(Served):
    """Servers that share a store. Each call on the channel goes to the next one."""

    def __init__(self, servers: Sequence[Served], journal: MemoryJournal) -> None:
        self.servers = servers
        self._journal = journal
        channel = cast(grpc.aio.Channel, InTurn([server.channel for server in servers], self.level))
        super().__init__(servers[0].running, ",".join(server.address for server in servers), channel)

    async def level(self) -> None:
        """Have each server read what is stored."""
        await read_all([server.running.arbiter for server in self.servers], self._journal)


class InTurn:
    """A channel to several servers. Unary calls find them level, and leave them so.

    What a server does that has not read the newest records is tested in `tests/service/sharing/test_several_servers.py`
    and by the simulation.
    """

    def __init__(self, channels: Sequence[grpc.aio.Channel], level: Callable[[], Awaitable[None]]) -> None:
        self._channels = channels
        self._level = level
        self._turns = itertools.count()

    def unary_unary(self, *path: Any, **codecs: Any) -> Callable[..., Any]:
        """Return a unary call, as `grpc.aio.Channel` does."""
        call = self._in_turn("unary_unary", *path, **codecs)

        async def level_call(*request: Any, **options: Any) -> Any:
            await self._level()
            try:
                return await call(*request, **options)
            finally:
                await self._level()

        return level_call

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        """Return what a stub asks for its methods that stream, such as `unary_stream`."""
        return partial(self._in_turn, kind)

    def _in_turn(self, kind: str, *path: Any, **codecs: Any) -> Callable[..., Any]:
        calls = [getattr(channel, kind)(*path, **codecs) for channel in self._channels]
        return lambda *request, **options: calls[next(self._turns) % len(calls)](*request, **options)


@asynccontextmanager
async def served_by(servers: int, world: OpenWorld = memory_world, **given: Any) -> AsyncIterator[Served]:
    """Run one server, or several that share a store in memory."""
    if servers == 1:
        async with served(world, **given) as alone:
            yield alone
        return
    journal = MemoryJournal()
    async with AsyncExitStack() as stack:
        shared = sharing(journal, world)
        made = [await stack.enter_async_context(served(shared, **given)) for _ in range(servers)]
        yield Servers(made, journal)


def sharing(journal: MemoryJournal, world: OpenWorld = memory_world) -> OpenWorld:
    """Return how to open a world for each of several servers on one store in memory."""
    store = Store(journal, MemoryDirectory(), replicas=MemoryReplicas())

    @asynccontextmanager
    async def shared(settings: Settings) -> AsyncIterator[World]:
        async with world(settings) as opened:
            yield opened._replace(store=store)

    return shared


async def read_all(arbiters: Sequence[Arbiter], journal: MemoryJournal) -> None:
    """Have servers read what is stored.

    On its own a server shows what was done at others up to 50 ms later. Up to a quarter of a second later it refuses a
    token that was revoked there: `tests/service/sharing/test_notices.py` tests that it does. A tournament reads its own
    events once the log has shown that there are some.
    """
    for arbiter in arbiters:
        await arbiter.follower.look()
        assert arbiter.replica is not None
        await arbiter.replica.hear()
    tournaments = {each.match_id: each for each in journal.records if each.subject is Subject.TOURNAMENT}
    async with asyncio.timeout(WAIT_S):
        for arbiter, last in itertools.product(arbiters, tournaments.values()):
            while (await arbiter.tournaments.get(last.match_id)).revision < last.revision:  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.001)


async def level(served: Served) -> None:
    """Have each of several servers read what is stored."""
    if isinstance(served, Servers):
        await served.level()
