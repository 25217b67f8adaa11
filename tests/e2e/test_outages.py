"""The server's disk becomes read-only, its database is killed, or a client is suspended, during play.

Requests are refused with their reason, clocks stop meanwhile, and play goes on without a restart.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest

from arbiter.runtime.loopback import free_port
from tests.e2e.evidence import Event
from tests.e2e.processes import Server
from tests.e2e.test_stop import Waiting, connected, new_match, record
from tests.processes import children, wait_for_end
from tests.store.postgres import Cluster

pytestmark = pytest.mark.long

OUTAGE_S = 2.0
STOPPED_S = 4.0

BOT = """
import arbiter_client as arb

class First(arb.Bot):
    name, version = "first", "1"
    extras = arb.Extras(legal_moves_up_to=500)

    def choose(self, turn):
        return self.legal_moves(turn)[0].text

arb.run(First())
"""


async def refused_until(player: Waiting, end: float) -> None:
    """Send the player's move again and again until a time of the monotonic clock; assert that it is always refused."""
    while not player.refused or time.monotonic() < end:
        known = len(player.answers)
        await player.move()
        await player.until(lambda known=known: len(player.answers) > known)  # type: ignore[misc]
    assert set(player.refused) == {"STORE_UNAVAILABLE"}
    for answer in player.answers:
        if answer.HasField("refusal"):
            assert answer.refusal.facts["retry_after_ms"] == "1000"


async def until_accepted(player: Waiting) -> None:
    """Send the player's move until it is acknowledged."""
    receipts = player.receipts
    while player.receipts == receipts:
        known = len(player.answers)
        await player.move()
        await player.until(lambda known=known: len(player.answers) > known)  # type: ignore[misc]


async def moves_next(player: Waiting, match_id: str) -> bool:
    """Wait for a player's next turn, and move; return False if the match has ended instead."""
    played = player.receipts
    await player.until(
        lambda: sum(item.HasField("turn") for item in player.items) > played or match_id in player.results
    )
    if match_id in player.results:
        return False
    await player.move()
    await player.until(lambda: player.receipts > played)
    return True


def check_outage(events: list[Event], moves: int) -> None:
    """Assert that every acknowledged move is on record once, and that no player was charged for the outage."""
    moved = [event for event in events if event["kind"] == "moved"]
    assert len(moved) == moves
    assert [event["reason"] for event in events if event["kind"] == "interrupted"]
    assert sum(event["ledger"]["charged"] for event in moved) < OUTAGE_S * 1_000


async def play_through(server: Server, outage: Callable[[], None], recover: Callable[[], None]) -> None:
    """Play a match through an outage, and stop the server."""
    async with connected(server) as (anna, ben):
        match_id = await new_match(server)
        await anna.first_item("turn")
        await anna.move()
        await ben.first_item("turn")
        outage()
        try:
            await refused_until(ben, time.monotonic() + OUTAGE_S)
        finally:
            recover()
        await until_accepted(ben)
        await anna.until(lambda: sum(item.HasField("turn") for item in anna.items) >= 2)
        await until_accepted(anna)
        check_outage(await record(server, match_id), anna.receipts + ben.receipts)
    assert server.stop() == 0


# -- a disk that can't be written -------------------------------------------------------------------------------------


async def test_a_disk_becomes_read_only_during_play(server: Server) -> None:
    """The kernel forbids the server to write to any file, and later allows it again.

    A file system can't be remounted for this: while files are open for writing, the kernel refuses that (EBUSY).
    """
    assert server.process is not None
    process = server.process.pid
    _, most = resource.prlimit(process, resource.RLIMIT_FSIZE)

    def restrict(size: int) -> None:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (size, most))

    await play_through(server, lambda: restrict(0), lambda: restrict(most))


# -- a database that is killed ----------------------------------------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server for this test."""
    made = Cluster()
    yield made
    if not made.runs:
        made.start()
    made.remove()


def kill(cluster: Cluster) -> None:
    """Kill PostgreSQL and all of its processes, as an out-of-memory killer does."""
    assert cluster._process is not None
    workers = children(cluster._process.pid)
    cluster.stop(signal.SIGKILL)
    for worker in workers:
        wait_for_end(worker)  # its processes notice that the main one is gone, and end


async def test_postgresql_is_killed_and_comes_back_during_play(tmp_path: Path, cluster: Cluster) -> None:
    server = Server(tmp_path, free_port(), store=cluster.fresh())
    server.surroundings = {"ARBITER_KEYS": str(tmp_path / "arbiter.keys")}
    server.start()
    try:
        await play_through(server, lambda: kill(cluster), cluster.start)
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()


@contextmanager
def frozen(cluster: Cluster) -> Iterator[None]:
    """Have PostgreSQL answer nothing, while its connections stay open."""
    assert cluster._process is not None
    main = cluster._process.pid
    os.kill(main, signal.SIGSTOP)  # from now on it starts no process
    processes = [main, *children(main)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


async def test_a_server_whose_database_does_not_answer_stops_in_time_and_loses_nothing(
    tmp_path: Path, cluster: Cluster
) -> None:
    server = Server(tmp_path, free_port(), store=cluster.fresh())
    server.surroundings = {"ARBITER_KEYS": str(tmp_path / "arbiter.keys"), "ARBITER_LIMITS__STOP_MS": "1000"}
    server.start()
    async with connected(server) as (anna, _):
        match_id = await new_match(server)
        await anna.first_item("turn")
        await until_accepted(anna)
    with frozen(cluster):
        assert server.stop() == 1
    assert "not_stopped" in server.log.read_text()
    server.surroundings = {"ARBITER_KEYS": str(tmp_path / "arbiter.keys")}
    server.start()
    assert sum(event["kind"] == "moved" for event in await record(server, match_id)) == 1
    assert server.stop() == 0


# -- a client that is stopped -----------------------------------------------------------------------------------------


async def test_a_suspended_client_loses_only_its_own_time(server: Server) -> None:
    bot = server.folder / "bot.py"
    bot.write_text(BOT)
    surroundings = {"ARBITER_NAME": "sleeper"}
    async with connected(server) as (anna, ben), connected(server, "carl", "dora") as (carl, _):
        with server.running([sys.executable, str(bot)], server.folder, surroundings) as sleeper:
            await asyncio.to_thread(server.wait_for_players, "sleeper")
            slow = await new_match(server, "sleeper", "carl")
            await carl.first_item("turn")
            others: list[str] = []
            sleeper.send_signal(signal.SIGSTOP)
            stopped = time.monotonic()
            await carl.move()
            while time.monotonic() < stopped + STOPPED_S:
                others.append(await new_match(server))
                for player in cycle((anna, ben)):
                    if not await moves_next(player, others[-1]) or time.monotonic() > stopped + STOPPED_S:
                        break
            assert sum(item.HasField("turn") for item in carl.items) == 1, "the suspended client has not moved"
            sleeper.send_signal(signal.SIGCONT)
            await carl.until(lambda: sum(item.HasField("turn") for item in carl.items) == 2)
            late = await record(server, slow)
            fast = [event for match_id in others for event in await record(server, match_id)]
            assert anna.receipts + ben.receipts > 4
    assert not [event for event in (*late, *fast) if event["kind"] == "interrupted"], "the server itself was suspended"
    first, answer, slept = [event for event in late if event["kind"] == "moved"][:3]
    assert (first["seat"], answer["seat"], slept["seat"]) == (1, 2, 1)
    credited = slept["ledger"].get("credited", 0)
    assert slept["ledger"]["charged"] + credited >= STOPPED_S * 1_000 - 500
    charged = [event["ledger"]["charged"] for event in fast if event["kind"] == "moved"]
    assert sorted(charged)[len(charged) // 2] < STOPPED_S * 1_000 / 4
    assert server.stop() == 0
