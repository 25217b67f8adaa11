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

from arbiter.bootstrap import Store, World
from arbiter.config import Settings
from arbiter.service.ports.journal import Subject
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas
from arbiter.testing.server import Served, memory_world, served

WAIT_S: Final = 240.0
ONE_OR_TWO: Final = (pytest.param(1, id="alone"), pytest.param(2, id="sharing"))
"""How many servers, as parameters of a fixture.

Tests have only one if their subject is a server and not the arbiter: limits, which each server counts for itself; calls
that wait; the network, the certificates and the clock of a server; its memory; faults of its disk. A revoked token
works at other servers until their next heartbeat, so its refusal at once is tested on one.
"""
OpenWorld = Callable[[Settings], AbstractAsyncContextManager[World]]


class Servers(Served):
    """Servers that share a store. Each call on the channel goes to the next one."""

    def __init__(self, servers: Sequence[Served], journal: MemoryJournal) -> None:
        self.servers = servers
        self._journal = journal
        channel = cast(grpc.aio.Channel, InTurn([server.channel for server in servers], self.level))
        super().__init__(servers[0].running, ",".join(server.address for server in servers), channel)

    async def level(self) -> None:
        """Have each server read what is stored. On its own it shows what was done at others up to 50 ms later.

        A tournament reads its own events once the log has shown that there are some.
        """
        for server in self.servers:
            await server.running.arbiter.follower.look()
        tournaments = {each.match_id: each for each in self._journal.records if each.subject is Subject.TOURNAMENT}
        async with asyncio.timeout(WAIT_S):
            for server, last in itertools.product(self.servers, tournaments.values()):
                registry = server.running.arbiter.tournaments
                while (await registry.get(last.match_id)).revision < last.revision:  # noqa: ASYNC110 - there is no event
                    await asyncio.sleep(0.001)


class InTurn:
    """A channel to several servers. Unary calls find them level, and leave them so.

    What a server does that has not read the newest records is tested in `tests/service/matches/test_several_servers.py`
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
    store = Store(journal, MemoryDirectory(), replicas=MemoryReplicas())

    @asynccontextmanager
    async def sharing(settings: Settings) -> AsyncIterator[World]:
        async with world(settings) as opened:
            yield opened._replace(store=store)

    async with AsyncExitStack() as stack:
        made = [await stack.enter_async_context(served(sharing, **given)) for _ in range(servers)]
        yield Servers(made, journal)


async def level(served: Served) -> None:
    """Have each of several servers read what is stored."""
    if isinstance(served, Servers):
        await served.level()
