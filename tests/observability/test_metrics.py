"""Metrics: what they count, and their text format."""

from __future__ import annotations

import asyncio
import socket
import ssl
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from arbiter_client.bots.random import RandomBot
from arbiter_protos.v1 import match_pb2
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from arbiter.bootstrap.world import open_world
from arbiter.config import load
from arbiter.errors import OperatorError
from arbiter.games.registry import game
from arbiter.matches.events import Moved
from arbiter.matches.record import check_chain
from arbiter.observability.metrics import Metrics, shown
from arbiter.observability.move_counts import SECONDS, Distribution
from arbiter.runtime.build import is_compiled
from arbiter.runtime.loopback import free_port
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import served
from tests.certificates import Identity
from tests.rpc.calls import Stubs
from tests.rpc.test_tournaments import SWISS, WAIT_S, World

PATIENCE_MS = 2_000

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def read(address: str) -> Samples:
    with urllib.request.urlopen(address, timeout=240) as answer:
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"arbiter_{name}", frozenset(labels.items())]


@asynccontextmanager
async def measured(tmp_path: Path) -> AsyncIterator[Stubs]:
    """Serve on a database, with metrics."""
    given = {"store": f"sqlite:///{tmp_path / 'arbiter.db'}", "metrics": "127.0.0.1:0", "rules_workers": 1}
    async with served(open_world, **given) as server:
        yield await Stubs(server).enter()


async def play(stubs: Stubs, match: match_pb2.Match, moves: int) -> None:
    rules = game(match.game)
    position = rules.initial()
    for ply in range(moves):
        move = min(rules.moves(position))
        await stubs.move(ply % 2 + 1, match.match_id, ply, move)
        position = rules.play(position, move)


@pytest.mark.long
async def test_metrics_agree_with_the_record(tmp_path: Path) -> None:
    async with measured(tmp_path) as stubs:
        running = stubs.served.running
        match = await stubs.match(game="hop-it", time_control="1m")
        await play(stubs, match, 6)
        wrong = match_pb2.SubmitMoveRequest(request_id="w", match_id=match.match_id, ply=99, move="a1")
        with pytest.raises(grpc.aio.AioRpcError):
            await stubs.matches.SubmitMove(wrong, metadata=stubs.alice)
        during = await asyncio.to_thread(read, running.metrics)
        resign = match_pb2.ResignRequest(request_id="r", match_id=match.match_id)
        await stubs.matches.Resign(resign, metadata=stubs.bob)
        after = await asyncio.to_thread(read, running.metrics)
        records = await running.arbiter.matches.record(match.match_id, 0, 100)
    moved = [event for event in check_chain([r.body for r in records]) if isinstance(event, Moved)]
    assert value(during, "moves_total", game="hop-it") == len(moved) == 6
    assert value(during, "move_seconds_count", stage="acknowledge") == 6
    least = sum(event.at - event.ledger.arrived for event in moved) / 1_000
    assert least <= value(during, "move_seconds_sum", stage="acknowledge") < 60
    assert value(during, "move_seconds_count", stage="network") == 0  # no player has a Play stream
    assert value(during, "refusals_total", reason="PLY_MISMATCH") == 1
    assert value(during, "live_matches") == 1
    assert value(during, "unsent_items") == 0
    assert value(during, "failovers_total") == 0
    assert abs(value(during, "clock_offset_seconds")) < 1
    assert value(during, "commit_seconds_count") >= 7
    assert value(during, "commit_writes_sum") >= value(during, "commit_seconds_count")
    assert value(during, "build_info", version="0.1.0", modules="compiled" if is_compiled() else "interpreted") == 1
    assert value(after, "matches_ended_total", cause="resignation") == 1
    assert value(after, "live_matches") == 0


@pytest.mark.long
async def test_a_tournament_of_bots_moves_the_metrics_of_streams_turns_pairing_and_ratings(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        given = {"store": f"sqlite:///{tmp_path / 'arbiter.db'}", "metrics": "127.0.0.1:0", "rules_workers": 1}
        server = await stack.enter_async_context(served(open_world, **given, limits={"ping_ms": 100}))
        world = World(server, stack)
        before = await asyncio.to_thread(read, server.running.metrics)
        organiser = await world.client("org", Scope.ORGANISE, Scope.OBSERVE)
        players = [await world.bot(name, RandomBot()) for name in ("anna", "ben", "cleo", "dan")]
        cup = (await organiser.create_tournament(SWISS)).tournament_id
        for player in players:
            await player.enter_tournament(cup)
        await organiser.start_tournament(cup)
        await world.over(cup)
        await organiser.get_leaderboard(SWISS.games[0])
        after = await asyncio.to_thread(read, server.running.metrics)
        async with asyncio.timeout(WAIT_S):  # until a turn has begun after the first pong
            while not value(
                await asyncio.to_thread(read, server.running.metrics), "move_seconds_count", stage="network"
            ):
                match = await organiser.create_match(SWISS.games[0], ("anna", "ben"), time_control="10s")
                async for _ in organiser.observe(match.match_id):
                    pass
    moves = value(after, "moves_total", game="circle-of-life")
    assert value(before, "connected_players") == 0
    assert value(after, "connected_players") == value(after, "streams", kind="play") == 4
    assert 0 < value(after, "move_seconds_count", stage="hand_over") <= moves
    assert sum(number for (name, _), number in after.items() if name == "arbiter_matches_ended_total") == 12
    for job in ("propose", "rating_list"):
        assert value(after, "job_seconds_count", job=job) >= 1
        assert value(after, "job_seconds_sum", job=job) > 0
    assert value(after, "event_loop_late_seconds_count") > value(before, "event_loop_late_seconds_count")


@given(st.lists(st.floats(0, 20, allow_nan=False)))
def test_a_distribution_counts_what_is_at_most_each_bound(values: list[float]) -> None:
    distribution = Distribution()
    for each in values:
        distribution.observe(each)
    buckets, total = distribution.buckets()
    assert buckets == [
        *((f"{bound:g}", sum(each <= bound for each in values)) for bound in SECONDS),
        ("+Inf", len(values)),
    ]
    assert total == pytest.approx(sum(values))


@pytest.mark.parametrize("address", ["9464", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:70000"])
def test_malformed_addresses_are_refused(address: str) -> None:
    with pytest.raises(OperatorError, match=f"'{address}' is no address for metrics: write HOST:PORT"):
        _show(metrics=address)


def test_a_port_in_use_is_refused() -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = load(None, metrics=address)
    with shown(Metrics(), settings), pytest.raises(OperatorError, match=f"can't show metrics on {address}: the port"):
        _show(metrics=address)


def _show(**given: Any) -> None:
    with shown(Metrics(), load(None, **given)):
        pass


@pytest.mark.parametrize("sent", [b"", b"GET /met"], ids=["silent", "unfinished"])
def test_with_tls_an_idle_connection_keeps_nobody_from_the_metrics_and_is_closed(tmp_path: Path, sent: bytes) -> None:
    identity = Identity(tmp_path, "server")
    files = {"tls_certificate": identity.certificate_file, "tls_key": identity.key_file}
    settings = load(None, metrics="127.0.0.1:0", limits={"request_ms": PATIENCE_MS}, **files)
    trusted = ssl.create_default_context(cafile=str(identity.certificate_file))
    with ExitStack() as stack:
        port = stack.enter_context(shown(Metrics(), settings))
        idle = stack.enter_context(socket.create_connection(("127.0.0.1", port), 240))
        if sent:
            idle = stack.enter_context(trusted.wrap_socket(idle, server_hostname="127.0.0.1"))
            idle.sendall(sent)
        address = f"https://127.0.0.1:{port}/metrics"
        with urllib.request.urlopen(address, timeout=240, context=trusted) as answer:
            assert b"arbiter_moves_total" in answer.read()
        assert idle.recv(1) == b""


def test_whoever_reaches_the_metrics_has_no_more_than_some_threads_of_the_server() -> None:
    settings = load(None, metrics="127.0.0.1:0", limits={"request_ms": 240_000, "metrics_connections": 2})
    with ExitStack() as stack:
        port = stack.enter_context(shown(Metrics(), settings))
        first, second, third = (
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 240)) for _ in range(3)
        )
        assert third.recv(1) == b"", "the others have all of them"
        first.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert b"arbiter_moves_total" in b"".join(iter(partial(first.recv, 1 << 16), b""))
        second.close()
        while True:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=240) as answer:
                assert b"arbiter_moves_total" in answer.read()
                return
