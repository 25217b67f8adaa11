"""What settings do that no other test shows by itself: each one has the effect that its description says."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import structlog
import uvicorn
from arbiter_protos.v1 import match_pb2 as pb
from pydantic import BaseModel

from arbiter.bootstrap.wiring import _policy
from arbiter.bootstrap.world import open_world
from arbiter.cli import serve_here, serve_processes, store
from arbiter.config import Credit, Matches, Settings
from arbiter.config import Limits as Bounds
from arbiter.matches.events import Interrupted
from arbiter.rpc import grpc_server as rpc_server
from arbiter.rpc.move_stream import MoveStream
from arbiter.rpc.unread import Unread
from arbiter.runtime.loopback import free_port
from arbiter.runtime.supervision import EndedEarly
from arbiter.service.gate.paging import PageRequest, size_of
from arbiter.service.observing.fanout import Subscription
from arbiter.service.play.stalls import LOOK_MS, watch_for_stalls
from arbiter.service.ports.meter import NO_METER
from arbiter.testing.clock import VirtualLoop, settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.served import served
from tests.options.reaching import Reached, call_of, reaching
from tests.rpc.calls import Stubs
from tests.service.play.test_stalls import watched
from tests.service.sharing.servers import events

SECTIONS: dict[str, type[BaseModel]] = {"matches": Matches, "credit": Credit}
OF_MATCHES = [
    (section, name) for section, kind in SECTIONS.items() for name in kind.model_fields if name != "time_control"
]


@pytest.mark.parametrize(("section", "name"), OF_MATCHES)
def test_a_match_has_the_policy_of_the_settings(section: str, name: str) -> None:
    usual = getattr(SECTIONS[section](), name)
    changed = Settings(**{section: {name: usual + 1}})  # type: ignore[arg-type]
    assert _policy(changed) != _policy(Settings())


async def test_a_match_has_the_time_control_of_the_settings() -> None:
    async with served(matches={"time_control": "7m+1s"}) as server:
        stubs = await Stubs(server).enter()
        new = pb.CreateMatchRequest(request_id="1", game="pods", players=["alice", "bob"])
        made = await stubs.matches.CreateMatch(new, metadata=stubs.org)
        assert made.match.time_control == "7m+1s"


def test_a_page_has_at_most_as_many_items_as_the_settings_say() -> None:
    bounds = Bounds(page_size=3, largest_page_size=5)
    assert [size_of(PageRequest(asked, ""), bounds) for asked in (0, 2, 4, 9)] == [3, 2, 4, 5]


@pytest.mark.long
async def test_a_request_may_take_as_long_as_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    class Seen(uvicorn.Config):
        def __init__(self, app: Any, **named: Any) -> None:
            connections.append(named["http"])
            super().__init__(app, **named)

    connections: list[Any] = []
    monkeypatch.setattr(uvicorn, "Config", Seen)
    async with served(web=f"127.0.0.1:{free_port()}", limits={"request_ms": 7_000}):
        pass
    assert [each.patience_s for each in connections] == [7.0]


def test_the_connection_with_the_most_unread_bytes_is_closed_beyond_the_limit() -> None:
    closed: list[str] = []
    unread = Unread(Bounds(unread_bytes=2_000_000), closed.append, structlog.get_logger())
    unread.began("one", 1_200_000, None)
    unread.began("other", 700_000, None)
    assert closed == []
    unread.began("other", 200_000, None)
    assert closed == ["one"]


class Moves:
    """A player's moves that are never answered."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.played = 0

    def now_ms(self) -> int:
        return 0

    def is_new(self, *move: Any) -> bool:
        return True

    def play(self, *move: Any) -> asyncio.Future[Any]:
        self.played += 1
        return asyncio.get_running_loop().create_future()


@virtually
async def test_no_more_moves_are_read_than_answers_may_be_unread() -> None:
    move = pb.SubmitMoveRequest(request_id="1", match_id="m", move="a1")
    sent = [pb.SubmitMovesRequest(moves=[move] * 5)]

    async def read() -> Any:
        return sent.pop() if sent else await asyncio.Event().wait()

    moves, context = Moves(most=3), SimpleNamespace(read=read)
    stream = MoveStream(cast("Any", moves), cast("Any", context), cast("Any", None), NO_METER)
    serving = asyncio.create_task(stream.serve())
    await settle()
    assert moves.played == 3
    serving.cancel()
    await settle()


async def test_a_stream_of_moves_has_the_limit_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    class Seen(MoveStream):
        def __init__(self, moves: Any, *more: Any) -> None:
            limits.append(moves.most)
            super().__init__(moves, *more)

    limits: list[int] = []
    monkeypatch.setattr("arbiter.rpc.match_service.MoveStream", Seen)
    async with served(limits=Bounds(move_answers=7)) as server:
        stubs = await Stubs(server).enter()
        call = stubs.matches.SubmitMoves(iter(()), metadata=stubs.alice)
        assert [response async for response in call] == []
    assert limits == [7]


@pytest.mark.parametrize(("rate", "least_s"), [(10, 1.5), (1_000, 0.0)])
@virtually
async def test_a_players_streams_get_as_many_messages_a_second_as_the_settings_say(rate: int, least_s: float) -> None:
    server = InMemoryArbiter(limits=Bounds(observer_messages_a_second=rate))
    turns = server.arbiter.feed._turns
    readers = [Subscription[str](turns, "ann", 10, 60.0) for _ in range(20)]
    waits = [reader.wait() for reader in readers]
    began = asyncio.get_running_loop().time()
    for reader in readers:
        reader.put("news")
    assert all(await asyncio.gather(*waits))
    took_s = asyncio.get_running_loop().time() - began
    assert least_s <= took_s < least_s + 1


@pytest.mark.parametrize(("stall_ms", "interrupted"), [(2_000, False), (1_000, True)])
@virtually
async def test_the_loop_may_be_blocked_as_long_as_the_settings_say(stall_ms: int, interrupted: bool) -> None:
    server = InMemoryArbiter(limits=Bounds(stall_ms=stall_ms))
    alice, _ = await server.connect("alice"), await server.connect("bob")
    match = await server.create()
    await alice.receive()
    async with watched(server):
        cast("VirtualLoop", asyncio.get_running_loop()).hold_up(1.5)
        await asyncio.sleep(1)
    assert any(isinstance(event, Interrupted) for event in await events(server, match.id)) is interrupted


async def test_a_stop_has_as_long_as_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[float] = []
    serves = asyncio.Event()

    @asynccontextmanager
    async def serving(settings: Settings, new: bool) -> AsyncIterator[SimpleNamespace]:
        yield SimpleNamespace(
            reading=asyncio.get_running_loop().create_future(),
            metrics="",
            admin_token="",
            port=1,
            matches=0,
            arbiter=SimpleNamespace(matches=SimpleNamespace(without_rules=0)),
            page="",
        )

    class Timer:
        def __init__(self, seconds: float, end: Any) -> None:
            self.daemon = False
            timers.append(seconds)
            self.end = end

        def start(self) -> None:
            monkeypatch.setattr(os, "_exit", codes.append)
            self.end()

    codes: list[int] = []
    monkeypatch.setattr(serve_here, "serving", serving)
    monkeypatch.setattr(threading, "Timer", Timer)
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    settings = Settings(limits=Bounds(stop_ms=7_000))
    task = asyncio.create_task(
        serve_here.serve_until_signal(settings, False, (), lambda described: serves.set(), lambda: None)
    )
    await serves.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await task
    for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
        signal.signal(number, handler)
    assert (timers, codes) == ([7.0], [1]), "a process that has not ended by then ends with code 1"


async def test_the_own_postgresql_has_the_programs_and_the_user_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "arbiter.toml"
    file.write_text('postgres = "pg"\npostgres_programs = "/opt/pg"\npostgres_user = "pg"\nprocesses = 3\n')
    monkeypatch.setattr(store, "OwnPostgres", reaching("postgres"))
    _, (_, programs, user), _ = call_of(["store", "postgres", "--config", str(file)])
    assert (programs, user) == (Path("/opt/pg"), "pg")
    monkeypatch.setattr(serve_processes, "OwnPostgres", reaching("postgres"))
    settings = Settings(postgres=Path("pg"), postgres_programs=Path("/opt/pg"), postgres_user="pg", processes=3)
    with pytest.raises(Reached) as reached:
        async with serve_processes._database(settings, structlog.get_logger()):
            pass
    _, (_, programs, user), named = reached.value.call
    assert (programs, user, named) == (Path("/opt/pg"), "pg", {"servers": 3})


@pytest.mark.parametrize("ping_ms", [2_000, 8_000])
@virtually
async def test_each_stream_gets_a_ping_as_often_as_the_settings_say(ping_ms: int) -> None:
    server, swept = InMemoryArbiter(limits=Bounds(ping_ms=ping_ms, silence_ms=60_000)), list[float]()
    arbiter = server.arbiter
    sessions: Any = SimpleNamespace(pings=SimpleNamespace(sweep=swept.append))
    watching = asyncio.create_task(
        watch_for_stalls(arbiter.stalls, sessions, arbiter.matches, server.settings.limits, structlog.get_logger())
    )
    await asyncio.sleep(24.0)
    watching.cancel()
    await settle()
    assert sum(swept) == pytest.approx(24_000 / ping_ms, abs=2 * LOOK_MS / ping_ms), "sweeps over all streams"


@pytest.mark.parametrize(
    ("processes", "named"), [(2, ["server 1", "server 2"]), (3, ["server 1", "server 2", "server 3"])]
)
async def test_as_many_servers_are_started_as_the_settings_say(
    monkeypatch: pytest.MonkeyPatch, processes: int, named: list[str]
) -> None:
    class Kept:
        """A process that ends before it serves."""

        def __init__(self, name: str, *more: Any) -> None:
            kept.append(name)

        async def start(self) -> None:
            raise EndedEarly(7)

        def kill(self) -> None:
            pass

    kept: list[str] = []
    monkeypatch.setattr(serve_processes, "KeptProcess", Kept)
    settings = Settings(processes=processes)
    assert settings.supervised, "a parent starts them"
    assert await serve_processes._serve(settings, False, {}) == 7
    assert kept == named


def test_a_connection_may_be_idle_as_long_as_the_settings_say() -> None:
    settings = Settings(limits=Bounds(idle_connection_ms=7_000))
    assert ("grpc.max_connection_idle_ms", 7_000) in rpc_server._options(settings)


async def test_requests_about_rules_have_as_many_processes_as_the_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arbiter.bootstrap.world.EncodingPool", reaching("pool"))
    settings = Settings(store=f"sqlite:///{tmp_path}/arbiter.db", rules_workers=7)
    with pytest.raises(Reached) as reached:
        async with open_world(settings):
            pass
    assert reached.value.call == ("pool", (settings.limits, 7), {})
