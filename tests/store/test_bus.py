"""Server processes on a PostgreSQL with a real NATS, which is killed, started again, and cut off from one server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.bootstrap.running_server import serving
from arbiter.config import load
from arbiter.errors import OperatorError
from arbiter.runtime.loopback import free_port
from arbiter.testing.network import Network
from tests.bus.nats import Nats
from tests.e2e.crashing import CrashPlan
from tests.e2e.crashing_server import LONGEST_S, CrashingServer, crashing_server
from tests.observability.test_metrics import read, value
from tests.store.test_shared_servers import Observer, addresses, begin_to_play, check, make_matches

MORE = 20  #: moves after each change of the bus


class Servers:
    """Servers with their metrics and logs."""

    def __init__(self, servers: list[CrashingServer], metrics: list[str], logs: list[Path]) -> None:
        self.servers = servers
        self._metrics = metrics
        self._logs = logs

    async def metric(self, name: str) -> list[float]:
        return [value(await asyncio.to_thread(read, address), name) for address in self._metrics]

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(LONGEST_S):
            while not await condition():  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def hear_each_other(self) -> None:
        """Wait until each server receives messages again, and trusts the bus."""
        before = await self.metric("bus_received_total")

        async def do() -> bool:
            received, lost = await self.metric("bus_received_total"), await self.metric("bus_lost")
            return all(now > then for now, then in zip(received, before, strict=True)) and not any(lost)

        await self.until(do)

    async def have_lost_it(self) -> None:
        """Wait until each server says that the bus is lost."""

        async def have() -> bool:
            return await self.metric("bus_lost") == [1.0] * len(self.servers)

        await self.until(have)

    def said(self, event: str) -> list[int]:
        """Return how often each server has logged an event."""
        return [log.read_text().count(event) for log in self._logs]


async def test_play_goes_on_whatever_happens_to_the_bus(postgres: str, tmp_path: Path) -> None:
    nats = Nats()  # it comes later than the servers
    async with Network(nats.address) as network:
        ports = [f"127.0.0.1:{free_port()}" for _ in range(2)]
        async with (
            crashing_server(tmp_path, postgres, True, "one", bus=nats.url, metrics=ports[0]) as one,
            crashing_server(
                tmp_path, postgres, True, "other", bus=f"nats://{network.address}", metrics=ports[1]
            ) as two,
        ):
            assert await one.begin(CrashPlan())
            assert await two.begin(CrashPlan())
            logs = [tmp_path / f"{name}.log" for name in ("one", "other")]
            made = Servers([one, two], [f"http://{port}/metrics" for port in ports], logs)
            await asyncio.wait_for(play_through(made, nats, network), LONGEST_S)
            for server in made.servers:
                server.kill(signal.SIGTERM)
                assert await server.ended() == 0
        assert made.said("log_listener_failed") == [0, 0]
        assert min(made.said("bus_lost")) >= 2, "at the start, and when it was cut off"
        assert min(made.said("bus_back")) >= 2


async def play_through(made: Servers, nats: Nats, network: Network) -> None:
    servers = made.servers
    token = next(server.admin_token for server in servers if server.admin_token)
    async with arb.Client(addresses(servers, 0), token=token, patience_s=LONGEST_S) as client:
        bots, playing = await begin_to_play(client, servers)
        observers = [Observer(addresses(servers, number), token) for number in range(2)]
        matches: dict[str, tuple[str, str]] = {}
        over = asyncio.Event()
        making = asyncio.create_task(make_matches(client, matches, observers[0], over))
        await change_the_bus(made, nats, network, observers)
        over.set()
        observers[0].changed.set()
        await making
        for bot in bots.values():
            bot.tired = True
        for observer in observers:
            await observer.until(lambda observer=observer: observer.kinds["ended"] == len(matches))  # type: ignore[misc]
        while any(bots[name].results[match_id] == 0 for match_id, pair in matches.items() for name in pair):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # there is nothing to wait on
        for observer in observers:
            await check(client, matches, observer)
        assert all(count == 1 for bot in bots.values() for count in bot.results.values())
        for task in (*playing, *(observer.task for observer in observers)):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def change_the_bus(made: Servers, nats: Nats, network: Network, observers: list[Observer]) -> None:
    """Have it away, there, killed, there again, and cut off from one server without a sign; play goes on."""

    async def go_on() -> None:
        for observer in observers:
            await observer.moves(MORE)

    await made.have_lost_it()
    await go_on()
    with nats:
        await made.hear_each_other()
        reads = await made.metric("log_reads_total")
        records = len(observers[0].seen)
        await go_on()
        spared = [now - then for now, then in zip(await made.metric("log_reads_total"), reads, strict=True)]
        assert max(spared) < len(observers[0].seen) - records, "records come by the bus"
        nats.kill()
        await go_on()
        nats.start()
        await made.hear_each_other()
        with network.vanished():
            await made.have_lost_it()
            await go_on()
        await made.hear_each_other()
        await go_on()
        assert await made.metric("bus_refused_total") == [0, 0]


@pytest.mark.long
async def test_a_bus_for_a_store_that_is_not_shared_is_refused(tmp_path: Path) -> None:
    settings = load(None, store=f"sqlite:///{tmp_path}/arbiter.db", bus="nats://127.0.0.1:1")
    with pytest.raises(OperatorError, match=r"a bus is for servers that share a PostgreSQL.*leave out --bus"):
        async with serving(settings):
            pass
