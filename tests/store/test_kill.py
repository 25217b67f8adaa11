"""A server on PostgreSQL is killed, and PostgreSQL is killed under a server."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.bootstrap.running_server import serving
from arbiter.config import load
from arbiter.matches import check_chain, replay
from arbiter.matches.events import Interrupted, Moved
from arbiter.matches.transcript import split
from arbiter.runtime.loopback import free_port
from tests.e2e.crashing_server import crashing_server
from tests.e2e.test_kill import kill_repeatedly, kills_of
from tests.processes import WAIT_S, until
from tests.store.postgres import Cluster

pytestmark = pytest.mark.long

SHARE = 5  #: of the kills of a server on SQLite, one in this many


@pytest.mark.timeout(0)  # many kills take long; each step has a limit of its own
async def test_nothing_is_lost_on_postgresql_whenever_the_server_is_killed(
    postgres: str, tmp_path: Path, kills: int
) -> None:
    dice = random.Random(kills)
    plans = kills_of(kills, dice)
    dice.shuffle(plans)
    async with crashing_server(tmp_path, postgres) as server:
        await kill_repeatedly(server, plans[: kills // SHARE], dice)


async def test_matches_go_on_when_their_database_is_back(cluster: Cluster, postgres: str, tmp_path: Path) -> None:
    settings = load(
        None, store=postgres, keys=tmp_path / "arbiter.keys", listen=f"127.0.0.1:{free_port()}", rules_workers=1
    )
    environment = {**os.environ, "ARBITER_CREDENTIALS": str(tmp_path / "credentials.json")}
    async with serving(settings) as running, AsyncExitStack() as bots:
        address = f"127.0.0.1:{running.port}"
        for name in ("anna", "ben"):
            command = [sys.executable, "-m", "arbiter_client.bots.random", "--server", address, "--name", name]
            bots.enter_context(_running(command, environment))
        client = await bots.enter_async_context(arb.Client(address, token=running.admin_token))
        with arb.BlockingClient(address, token=running.admin_token, patience_s=WAIT_S) as looking:
            await asyncio.to_thread(until, lambda: len(looking.list_players()) == 3)
        made = [
            await client.create_match("pondlife", ("anna", "ben"), time_control="1m+1s", request_id=str(number))
            for number in range(2)
        ]
        seen: Counter[str] = Counter()
        async for event in client.observe_all("0"):
            seen[event.match_id] += event.kind == "moved"
            if seen.total() > 20:
                break
        await asyncio.to_thread(cluster.stop, signal.SIGQUIT)
        cluster.start()
        records = []
        for match in made:
            async for _ in client.observe(match.match_id):
                pass
            records.append((match.match_id, await client.transcript(match.match_id)))
    for match_id, text in records:
        events = check_chain(split(text)[0])
        moves = [event for event in events if isinstance(event, Moved)]
        assert [move.ply for move in moves] == list(range(len(moves)))
        assert len(moves) >= seen[match_id]
        result = replay(events).result
        assert result is not None
        assert result.reason not in ("time", "abandonment", "no_show", "arbiter_fault")
    assert any(isinstance(event, Interrupted) for _, text in records for event in check_chain(split(text)[0]))


@contextmanager
def _running(command: list[str], environment: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env=environment)
    try:
        yield
    finally:
        process.terminate()
        process.wait()
