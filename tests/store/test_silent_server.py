"""A server from which nothing comes any more, without a sign: its process stands still, or its machine has vanished.

No connection is closed then, as it is when a process dies. So its players wait until it has been silent for too long.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import arbiter_client as arb
import pytest

from arbiter.testing.network import Network
from tests.e2e.crashing import CrashPlan
from tests.e2e.crashing_server import LONGEST_S, CrashingServer, crashing_server
from tests.e2e.evidence import ENDS_OF_AN_OUTAGE, events_of
from tests.store.postgres import Cluster
from tests.store.test_failover import Cable
from tests.store.test_shared_servers import Observer, Slow

MATCHES = 3
MOVES = 6
GONE_MS = 4_000  #: a busy machine may keep a server silent towards the other one for more than the usual two seconds
SILENCE_S = 8  #: much more than that
CHARGED_MS = 2_500  #: more than any thought here
PLAYERS = ("anna", "ben")
SETTINGS: dict[str, Any] = {
    "limits__silence_ms": str(1_000 * SILENCE_S),
    "limits__ping_ms": "500",
    "limits__server_silence_ms": str(GONE_MS),
}


class Thinker(Slow):
    """Thinks at its turns until it `may_move`. `thinks`: set when a turn has come."""

    def __init__(self) -> None:
        super().__init__()
        self.may_move = asyncio.Event()
        self.may_move.set()
        self.thinks = asyncio.Event()

    async def choose(self, turn: arb.Turn) -> arb.Choice:
        self.thinks.set()
        await self.may_move.wait()
        return await super().choose(turn)


class Lines:
    """What leads to a server: from its clients, and from it to the database."""

    def __init__(self, server: CrashingServer, clients: Network, database: Cable) -> None:
        self._server = server
        self._clients = clients
        self._database = database

    @asynccontextmanager
    async def silent(self, stopped: bool) -> AsyncIterator[None]:
        """Have nothing come from the server: because its process is `stopped`, or because no line carries anything."""
        if stopped:
            self._server.kill(signal.SIGSTOP)
            try:
                yield
            finally:
                self._server.kill(signal.SIGCONT)
        else:
            with self._clients.vanished():
                self._database.cut()
                try:
                    yield
                finally:
                    self._database.mend()


@pytest.mark.parametrize("stopped", [True, False], ids=["its process is stopped", "its machine has vanished"])
async def test_players_of_a_silent_server_go_on_at_another_one_and_nobody_is_charged(
    cluster: Cluster, postgres: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, stopped: bool
) -> None:
    caplog.set_level(logging.INFO, "arbiter_client")
    folder = cluster.folder / "cable"
    folder.mkdir(exist_ok=True)
    store = postgres.replace(f"host={cluster.folder}", f"host={folder}")
    async with AsyncExitStack() as stack:
        cable = await stack.enter_async_context(Cable(folder, cluster.folder / ".s.PGSQL.5432"))
        one = await stack.enter_async_context(crashing_server(tmp_path, store, True, "one", **SETTINGS))
        other = await stack.enter_async_context(crashing_server(tmp_path, postgres, True, "other", **SETTINGS))
        assert await one.begin(CrashPlan())
        assert await other.begin(CrashPlan())
        network = await stack.enter_async_context(Network(one.address))
        async with asyncio.timeout(LONGEST_S):
            token = one.admin_token or other.admin_token
            await play_through(Lines(one, network, cable), stopped, network.address, other.address, token)
        for server in (one, other):
            server.kill(signal.SIGTERM)
            assert await server.ended() == 0
    assert f"connected to {network.address} as anna" in caplog.text
    silent = f"the arbiter at {network.address} has been silent for {SILENCE_S} s"
    assert f"the connection to {network.address} is lost, trying again: {silent}" in caplog.text
    assert f"connected to {other.address} as anna again" in caplog.text


async def play_through(lines: Lines, stopped: bool, first: str, second: str, token: str) -> None:
    """Have anna play at the first server until it falls silent, and ben at the second one."""
    async with arb.Client(second, token=token, patience_s=LONGEST_S) as client, asyncio.TaskGroup() as group:
        tokens = {name: (await client.create_token(name)).secret for name in PLAYERS}
        anna, ben = Thinker(), Slow()
        playing = [
            group.create_task(arb.play(anna, f"{first},{second}", token=tokens["anna"])),
            group.create_task(arb.play(ben, second, token=tokens["ben"])),
        ]
        observer = Observer(second, token)
        made = [
            (await client.create_match("pondlife", PLAYERS, time_control="2m+1s", request_id=str(number))).match_id
            for number in range(MATCHES)
        ]
        await observer.moves(MOVES)
        anna.may_move.clear()
        anna.thinks.clear()
        await anna.thinks.wait()
        async with lines.silent(stopped):
            anna.may_move.set()  # what it sends then is lost, until it is elsewhere
            await observer.moves(MOVES)
        anna.tired = ben.tired = True
        await observer.until(lambda: observer.kinds["ended"] == MATCHES)
        records = [events_of(await client.transcript(match_id)) for match_id in made]
        for task in (*playing, observer.task):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await observer.task
    reasons = {event["reason"] for events in records for event in events if event["kind"] in ("ended", "interrupted")}
    assert "restart" in reasons, "no thought was cut"
    assert not reasons & set(ENDS_OF_AN_OUTAGE), "the outage has cost a match"
    moves = [event for events in records for event in events if event["kind"] == "moved"]
    longest = max(moves, key=lambda event: event["ledger"]["charged"])
    assert longest["ledger"]["charged"] < CHARGED_MS, f"the silence is charged: {longest}"
