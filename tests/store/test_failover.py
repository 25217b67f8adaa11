"""Three server processes on one PostgreSQL, with wrong clocks: whatever happens to one, play goes on at the others.

Servers are killed, stopped and continued, cut off from the database, and told to stop; the database is restarted, and
its table of the log is locked for seconds. With a bus, it is killed, cut and started again meanwhile. No move that was
acknowledged is lost or there twice, nobody is charged for an outage, and observers miss nothing.
"""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterable, Awaitable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import arbiter_client as arb
import grpc
import psycopg
import pytest
from arbiter_protos.v1 import match_pb2, match_pb2_grpc, play_pb2, play_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from sqlalchemy.engine import make_url

from arbiter.errors import Reason
from arbiter.runtime.loopback import free_port
from tests.arbiter_process import ran
from tests.bus.changing import ChangingBus, changing_bus
from tests.e2e.crashing import CrashPlan
from tests.e2e.crashing_server import LONGEST_S, CrashingServer, crashing_server
from tests.e2e.evidence import events_of
from tests.e2e.processes import Server
from tests.processes import until
from tests.rpc.calls import refused
from tests.store.postgres import Cluster
from tests.store.test_bus import Servers
from tests.store.workload import (
    MOST_KILLS,
    OWN,
    Hold,
    Kill,
    Workload,
    check,
    check_speed,
    now_ms,
)

NAMES = ("server-0", "server-1", "server-2")
WRONG_MS = (1_000, -1_000, 0)  #: how far the clocks of the three servers are ahead
BETWEEN_DEATHS = 3  #: answers from one kill to the next, before anybody knows of the first
HOLDS_S = 4  #: more than a server may be silent
APPENDING = """
SELECT pid FROM pg_locks
WHERE relation = 'event'::regclass AND mode = 'RowExclusiveLock' OR locktype = 'advisory' AND objid = 2
"""
"""Returns the database's processes that want to append to the log; see also `postgres_locks.NUMBERING`."""
VISITORS = ("visitor", "host")  #: the players of matches without a stream
VISIT = "visit"  #: the label of these matches, and the name of requests that a server refuses while it is cut off


async def kill_in_turn(workload: Workload, kills: int, bus: ChangingBus | None) -> None:
    """Kill two servers, the second one before anybody knows of the first death, while the third goes on; then again.

    Each time something has happened to the bus.
    """
    for _ in range(kills // 2):
        if bus is not None:
            bus.change()
        starting, affected, dead = [], [], None
        for _ in range(2):
            dead = max({0, 1, 2} - {dead}, key=lambda number: (len(workload.on(number)), -number))
            affected.append(workload.on(dead))
            starting.append(asyncio.create_task(kill(workload, dead)))
            await workload.answers(BETWEEN_DEATHS)
        for players in affected:
            await workload.go_on(players)
        await asyncio.gather(*starting)
        await workload.answers()


async def kill(workload: Workload, number: int) -> None:
    """Kill a server, and start it again."""
    server = workload.servers[number]
    steady = frozenset(roamer.name for roamer, _ in workload.on(number) if roamer.is_steady)
    server.kill()
    workload.kills.append(Kill(now_ms(), steady))  # what has arrived before counts
    assert await server.ended() == -signal.SIGKILL
    assert await server.begin(CrashPlan())


async def stop_and_continue(workload: Workload, cluster: Cluster, store: str) -> None:
    """Stop a process for longer than the others wait, then let it go on: its players have gone, and it has to know."""
    server, players = workload.servers[0], workload.on(0)
    server.kill(signal.SIGSTOP)
    for roamer, _ in players:  # nobody tells them that the server stands still
        roamer.leave()
    await workload.answers()
    async with asyncio.timeout(LONGEST_S):  # until the others have cleaned up after it
        while len(cluster.ask("SELECT replica FROM replica", str(make_url(store).database))) > 2:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    server.kill(signal.SIGCONT)
    await workload.answers()


async def counts(reached: Servers, name: str, among: Sequence[CrashingServer] = ()) -> bool:
    """Return whether one of these servers, of all of them by default, has counted something in a metric."""
    numbers = zip(reached.servers, await reached.metric(name), strict=True)
    return any(number for server, number in numbers if not among or server in among)


async def restart_database(workload: Workload, cluster: Cluster) -> None:
    """Restart the database under all servers, after they have all sent their players away in vain."""
    streams = {roamer: roamer.streams for roamer in workload.roamers}
    steady = frozenset(roamer.name for roamer in workload.roamers if roamer.is_steady)
    cluster.stop(signal.SIGQUIT)
    workload.kills.append(Kill(now_ms(), steady))
    await workload.until(lambda: all(roamer.streams > number for roamer, number in streams.items()))
    cluster.start()
    await workload.answers()


async def hold_the_log(workload: Workload, cluster: Cluster, store: str) -> None:
    """Lock the table of the log beside live matches, as a migration does that is slow, or an operator."""
    async with await psycopg.AsyncConnection.connect(cluster.url(str(make_url(store).database))) as connection:
        await connection.execute("LOCK TABLE event IN ACCESS EXCLUSIVE MODE")
        began = now_ms()
        async with asyncio.timeout(LONGEST_S):
            # The database tells nobody that a lock is waited for.
            while not await (await connection.execute(APPENDING)).fetchall():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        await asyncio.sleep(HOLDS_S)  # nothing to wait for: this is the fault
        workload.holds.append(Hold(began, now_ms()))
    await workload.answers()


async def drain(workload: Workload) -> None:
    """Stop a server as an operator does: its players go on elsewhere."""
    server, players = workload.servers[1], workload.on(1)
    server.kill(signal.SIGTERM)
    assert await server.ended() == 0
    await workload.go_on(players)
    assert await server.begin(CrashPlan())
    await workload.answers()


class Cable:
    """What leads from one server to the database: a socket in a folder of its own. While it is cut, nothing passes."""

    def __init__(self, folder: Path, target: Path) -> None:
        self.folder = folder
        self._target = target
        self._whole = asyncio.Event()
        self._whole.set()
        self._server: asyncio.Server | None = None
        self._carried: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Cable:
        self._server = await asyncio.start_unix_server(self._carry, self.folder / self._target.name)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._whole.set()
        self._server.close()
        for task in self._carried:
            task.cancel()
        await asyncio.gather(*self._carried, return_exceptions=True)

    def cut(self) -> None:
        """Let nothing pass, without telling either side."""
        self._whole.clear()

    def mend(self) -> None:
        """Let pass what waits, and all that follows."""
        self._whole.set()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carried.add(task)
        try:
            await self._whole.wait()
            there, back = await asyncio.open_unix_connection(self._target)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pump(reader, back))
                    group.create_task(self._pump(there, writer))
            except* OSError:
                pass
            finally:
                back.close()
        except (OSError, asyncio.CancelledError):  # the database is away, or the test is over
            pass
        finally:
            writer.close()
            self._carried.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            await self._whole.wait()
            writer.write(piece)
            await writer.drain()
        await self._whole.wait()
        writer.close()  # the other side is told, and ends too


async def cut_off(workload: Workload, cable: Cable) -> None:
    """Cut one server off from the database: its clients are told to go, and it takes nothing until it is back.

    What it has refused is done once, if the client repeats it elsewhere.
    """
    visit, players = await begin_visit(workload, workload.servers[2].address), workload.on(2)
    async with grpc.aio.insecure_channel(workload.servers[2].address, OWN) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        watch = health.Watch(health_pb2.HealthCheckRequest())
        await becomes(health_pb2.HealthCheckResponse.SERVING, watch)
        cable.cut()
        calls = asyncio.gather(*(refused(call, Reason.STORE_UNAVAILABLE) for call in visit.calls(channel)))
        await workload.until(lambda: all(roamer.streams > number for roamer, number in players))
        await workload.until(calls.done)
        for refusal in await calls:
            assert int(refusal.facts["retry_after_ms"]) > 0
        await becomes(health_pb2.HealthCheckResponse.NOT_SERVING, watch)
        await workload.answers()
        cable.mend()
        await end_visit(workload, visit)
        await becomes(health_pb2.HealthCheckResponse.SERVING, watch)
        watch.cancel()
    await workload.answers()


async def becomes(health: int, watch: Any) -> None:
    """Wait until a server's health is this one: on a busy machine a server may be cut off for a moment, too."""
    async with asyncio.timeout(LONGEST_S):
        while (await watch.read()).status != health:
            pass


class Visit(NamedTuple):
    """A match in which a visitor is to move, and the tokens of the visitor and of the organiser."""

    visitor: str
    organiser: str
    match_id: str
    move: str

    def calls(self, channel: grpc.aio.Channel) -> Iterator[Awaitable[Any] | AsyncIterable[Any]]:
        """Make a call of each kind that has to wait for the database; the last two change something."""
        visitor, organiser = ([("authorization", f"Bearer {token}")] for token in (self.visitor, self.organiser))
        matches = match_pb2_grpc.MatchServiceStub(channel)
        yield matches.ListMatches(match_pb2.ListMatchesRequest(), metadata=visitor)
        everything = match_pb2.ObserveAll(after_token="0")
        yield matches.Observe(match_pb2.ObserveRequest(all=everything), metadata=visitor)
        hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))
        play = play_pb2_grpc.PlayServiceStub(channel)
        yield play.Play(iter([play_pb2.PlayRequest(acts=[hello])]), metadata=visitor)
        move = match_pb2.SubmitMoveRequest(request_id=VISIT, match_id=self.match_id, ply=0, move=self.move)
        yield matches.SubmitMove(move, metadata=visitor)
        another = match_pb2.CreateMatchRequest(
            request_id=VISIT,
            game="hop-it",
            players=VISITORS,
            time_control="1h",
            label=VISIT,
            start=match_pb2.START_RULE_AT_ONCE,
        )
        yield matches.CreateMatch(another, metadata=organiser)


async def create_visit(client: arb.Client, request_id: str) -> str:
    """Create a match that starts although its players have no stream; return its id."""
    at_once = arb.StartRule.AT_ONCE
    made = await client.create_match(
        "hop-it", VISITORS, time_control="1h", label=VISIT, start=at_once, request_id=request_id
    )
    return made.match_id


async def create_token(workload: Workload, client: arb.Client, name: str, scopes: Sequence[arb.Scope]) -> str:
    """Return a new token: the client does not repeat this, and the server may just have lost its store."""
    while True:
        try:
            return (await client.create_token(name, scopes=scopes)).secret
        except arb.ArbiterError as error:
            if not error.temporary:
                raise
            await workload.answers(1)


async def begin_visit(workload: Workload, address: str) -> Visit:
    """Create a match at a server, in which a visitor is to move there."""
    scopes = (arb.Scope.PLAY, arb.Scope.OBSERVE)
    async with arb.Client(address, token=workload.token, patience_s=LONGEST_S) as client:
        visitor, _ = [await create_token(workload, client, name, scopes) for name in VISITORS]
        match_id = await create_visit(client, f"{VISIT} 1")
    async with arb.Client(address, token=visitor, patience_s=LONGEST_S) as client:  # so the server knows the token
        first, *_ = await client.legal_moves(arb.MatchPly(match_id, 0))
    return Visit(visitor, workload.token, match_id, first.text)


async def end_visit(workload: Workload, visit: Visit) -> None:
    """Repeat elsewhere what a server has refused, and check that it is done once; end the matches."""
    elsewhere = ",".join(server.address for server in workload.servers[:2])
    async with arb.Client(elsewhere, token=visit.visitor, patience_s=LONGEST_S) as client:
        receipt = await client.submit_move(visit.match_id, 0, visit.move, VISIT)
    async with arb.Client(elsewhere, token=visit.organiser, patience_s=LONGEST_S) as client:
        workload.visited = {visit.match_id, await create_visit(client, VISIT)}
        assert {match.match_id for match in await client.list_matches(label=VISIT)} == workload.visited
        for match_id in workload.visited:
            await client.abort_match(match_id, request_id=f"{VISIT} end")
        events = events_of(await client.transcript(visit.match_id))
    (moved,) = (event for event in events if event["kind"] == "moved")
    assert (moved["request"], moved["move"], moved["revision"]) == (VISIT, visit.move, receipt.revision)


@pytest.mark.timeout(0)  # each step has its own limit
@pytest.mark.parametrize("with_bus", [True, pytest.param(False, marks=pytest.mark.soak)])
async def test_play_goes_on_whatever_happens_to_one_of_three_servers(
    cluster: Cluster, postgres: str, tmp_path: Path, kills: int, with_bus: bool
) -> None:
    folder = cluster.folder / "cable"
    folder.mkdir(exist_ok=True)
    async with AsyncExitStack() as stack:
        cable = await stack.enter_async_context(Cable(folder, cluster.folder / ".s.PGSQL.5432"))
        stores = (postgres, postgres, postgres.replace(f"host={cluster.folder}", f"host={folder}"))
        bus = await stack.enter_async_context(changing_bus()) if with_bus else None
        buses = (bus.url, bus.cut_url, bus.url) if bus is not None else ("", "", "")
        metrics = [f"127.0.0.1:{free_port()}" for _ in stores]
        servers = [
            await stack.enter_async_context(crashing_server(tmp_path, store, True, name, wrong, bus=url, metrics=shown))
            for name, store, wrong, url, shown in zip(NAMES, stores, WRONG_MS, buses, metrics, strict=True)
        ]
        assert all(await asyncio.gather(*(server.begin(CrashPlan()) for server in servers)))
        workload = Workload(servers, random.Random(kills))
        async with workload.playing():
            await workload.answers()
            await workload.hold_cup()
            await kill_in_turn(workload, min(kills // 2, MOST_KILLS), bus)
            logs = [tmp_path / f"{name}.log" for name in NAMES]
            reached = Servers(servers, [f"http://{shown}/metrics" for shown in metrics], logs)
            await reached.until(lambda: counts(reached, "failovers_total"))
            await stop_and_continue(workload, cluster, postgres)
            await reached.until(lambda: counts(reached, "taken_for_gone_total", servers[:1]))
            await cut_off(workload, cable)
            await restart_database(workload, cluster)
            await hold_the_log(workload, cluster, postgres)
            await drain(workload)
            if bus is not None:
                bus.mend()
                await reached.hear_each_other()
                assert reached.said("log_listener_failed") == [0, 0, 0]
                await workload.answers()
            workload.last = True
            workload.exchanges.changed.set()
            await workload.until(lambda: not workload.untold)
            await check(workload)
        for server in servers:
            server.kill(signal.SIGTERM)
            assert await server.ended() == 0


@pytest.mark.parametrize(
    ("took", "fast"),
    [
        ([900] * 8 + [60_000], True),  # one may be slow
        ([900] * 8 + [16_000] * 2, False),
        ([900] * 3 + [3_100] * 6, False),
    ],
)
def test_players_who_go_on_too_late_are_found(took: list[int], fast: bool) -> None:
    with nullcontext() if fast else pytest.raises(AssertionError):
        check_speed(took)


def test_arbiter_serve_starts_any_number_of_times_on_one_store(postgres: str, tmp_path: Path) -> None:
    servers = [Server(tmp_path, free_port(), store=postgres, options=("--keys", str(tmp_path / "k"))) for _ in range(2)]
    with ExitStack() as stack:
        for server in servers:
            server.start()
            stack.callback(server.stop)
        token = next(server.admin_token for server in servers if server.admin_token)
        first, second = (
            stack.enter_context(arb.BlockingClient(server.address, token=token, patience_s=LONGEST_S))
            for server in servers
        )
        for name in ("alice", "bob"):
            first.create_token(name)
        match = second.create_match("hop-it", ("alice", "bob"), time_control="1m")
        until(lambda: [each.match_id for each in first.list_matches()] == [match.match_id])
        environment = servers[0].environment | {"ARBITER_TOKEN": token}
        environment["ARBITER_SERVER"] = f"127.0.0.1:{free_port()},{servers[1].address}"
        assert "alice" in ran("match", "list", env=environment).stdout, (
            "a command takes the next address if nobody is at the first one"
        )
        said = servers[0].arbiter("migrate", "--store", postgres)
        assert "which is the newest" in said
        refused = servers[0].arbiter("store", "rebuild", "--store", postgres, check=False)
        assert not refused
