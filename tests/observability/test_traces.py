"""Traces: a move is one trace with the times of the record, and the servers of a store agree on its ids."""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import structlog
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from arbiter.bootstrap import tracing
from arbiter.bootstrap.world import World, open_world
from arbiter.config import Settings, load
from arbiter.errors import OperatorError
from arbiter.games.registry import game
from arbiter.matches.events import Moved
from arbiter.matches.record import read
from arbiter.observability import traced_moves
from arbiter.observability.traces import MS, Traces, ids_of
from arbiter.runtime.loopback import free_port
from arbiter.testing.served import Served, served
from tests.documents import block
from tests.rpc.calls import Stubs
from tests.rpc.test_play import Stub, connected

MOVES = 6


class Spans(InMemorySpanExporter):
    """The spans of some servers. traces: of each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.traces: list[Traces] = []

    def made(self) -> Sequence[ReadableSpan]:
        """Return all spans, also of what was only noted."""
        for traces in self.traces:
            traces.make_spans()
        return self.get_finished_spans()


@asynccontextmanager
async def traced_world(
    settings: Settings, spans: Spans, share: float = 1.0, shared: bool = False, name: str = "one"
) -> AsyncIterator[World]:
    """Open the usual world, with traces that are collected here."""
    async with open_world(settings, shared=shared) as world:
        now_ns = world.clock.now_ns  # type: ignore[attr-defined]
        traces = Traces(SimpleSpanProcessor(spans), now_ns, share, name)
        spans.traces.append(traces)
        yield world._replace(traces=traces)


@asynccontextmanager
async def traced(tmp_path: Path, spans: Spans, share: float = 1.0) -> AsyncIterator[Stubs]:
    world = partial(traced_world, spans=spans, share=share)
    async with served(world, store=f"sqlite:///{tmp_path / 'arbiter.db'}", rules_workers=1) as server:
        yield await Stubs(server).enter()


async def play(bots: Sequence[Stub], match_id: str, moves: int) -> None:
    """Play moves on the players' streams, each once its turn has arrived."""
    rules = game("circle-of-life")
    position = rules.initial()
    for ply in range(moves):
        bot = bots[ply % 2]
        turn = await bot.next("turn")
        assert turn.ply == ply
        move = min(rules.moves(position))
        await bot.move(match_id, ply, move, f"request {ply}")
        position = rules.play(position, move)
        await bot.next("answer")
    await bots[moves % 2].next("turn")


async def moves_of(server: Served, match_id: str) -> dict[int, Moved]:
    """Return the moves of a match by their revision."""
    records = await server.running.arbiter.matches.record(match_id, 0, 1_000)
    events = {record.revision: read(record.body) for record in records}
    return {revision: event for revision, event in events.items() if isinstance(event, Moved)}


def by_trace(spans: Spans) -> dict[int, dict[str, ReadableSpan]]:
    found: dict[int, dict[str, ReadableSpan]] = {}
    for span in spans.made():
        of_move = found.setdefault(span.context.trace_id, {})
        assert span.name not in of_move, "a span comes twice"
        of_move[span.name] = span
    return found


def check(
    trace: dict[str, ReadableSpan], match_id: str, revision: int, move: Moved, *, is_elsewhere: bool = False
) -> None:
    """Check the spans of a move that came on a Play stream against its record.

    is_elsewhere: another server handed the turn over. It may read the move from the store before the answer to the
    commit has reached the server that decided it, so its span may begin before that of the commit ends.
    """
    assert set(trace) == {"move", "rules", "commit", "hand_over"}
    ids, first = ids_of(match_id, revision), trace["move"]
    assert (first.context.trace_id, first.context.span_id, first.parent) == (*ids, None)
    for span in trace.values():
        assert span is first or (span.parent is not None and span.parent.span_id == ids.span)
        assert span is first or not span.attributes
    assert dict(first.attributes or {}) == {
        "arbiter.match": match_id,
        "arbiter.revision": revision,
        "arbiter.command": move.request,
        "arbiter.ply": move.ply,
        "arbiter.seat": move.seat,
    }
    times = {name: (span.start_time or 0, span.end_time or 0) for name, span in trace.items()}
    assert times["move"][0] // MS == move.ledger.arrived
    assert times["move"][0] <= times["rules"][0] <= times["rules"][1] == times["commit"][0] < times["commit"][1]
    assert times["rules"][0] // MS <= move.at <= times["rules"][1] // MS
    assert times["commit"][1] == times["move"][1]
    assert times["commit"][0 if is_elsewhere else 1] <= times["hand_over"][0] <= times["hand_over"][1]


@pytest.mark.long
async def test_a_move_is_one_trace_from_its_arrival_to_the_opponents_turn(tmp_path: Path) -> None:
    spans = Spans()
    async with traced(tmp_path, spans) as stubs:
        bots = [await connected(stubs.served, name) for name in ("alice", "bob")]
        match = await stubs.match()
        await play(bots, match.match_id, MOVES)
        moves = await moves_of(stubs.served, match.match_id)
        found = by_trace(spans)
        assert len(found) == len(moves) == MOVES
        for revision, move in moves.items():
            check(found[ids_of(match.match_id, revision).trace], match.match_id, revision, move)
        handed_over = {revision: event.ledger.handed_over for revision, event in moves.items()}
        for (before, _), (revision, _) in zip(list(moves.items()), list(moves.items())[1:], strict=False):
            ended = found[ids_of(match.match_id, before).trace]["hand_over"].end_time or 0
            assert 0 <= ended // MS - (handed_over[revision] or 0) <= 1_000  # from the ledger of the next move
        assert stubs.served.running.arbiter.matches.live.find(match.match_id) is not None


@pytest.mark.long
async def test_a_unary_call_is_traced_until_it_is_durable_and_leaves_no_state(tmp_path: Path) -> None:
    spans = Spans()
    world: list[World] = []

    @asynccontextmanager
    async def kept(settings: Settings) -> AsyncIterator[World]:
        async with traced_world(settings, spans) as opened:
            world.append(opened)
            yield opened

    async with served(kept, store=f"sqlite:///{tmp_path / 'arbiter.db'}", rules_workers=1) as server:
        stubs = await Stubs(server).enter()
        match = await stubs.match()
        move = min(game("circle-of-life").moves(game("circle-of-life").initial()))
        await stubs.move(1, match.match_id, 0, move)
        ((revision, moved),) = (await moves_of(server, match.match_id)).items()
        traces = world[0].traces
        assert traces is not None
        assert set(traces.moves.awaited) == {match.match_id}  # bob has no stream
        bob = await connected(server, "bob")
        await bob.next("turn")
        trace = by_trace(spans)[ids_of(match.match_id, revision).trace]
        assert set(trace) == {"move", "rules", "commit", "hand_over"}
        assert (trace["rules"].start_time or 0) // MS == moved.at
        assert not traces.moves.awaited
        await stubs.move(2, match.match_id, 1, min(game("circle-of-life").moves(_after(move))))
        assert set(traces.moves.awaited) == {match.match_id}
        act = {"resign": {}, "match_id": match.match_id, "request_id": "enough"}
        await bob.say(_act(act))
        await bob.next("ended")
        assert not traces.moves.awaited


def _after(move: str) -> Any:
    rules = game("circle-of-life")
    return rules.play(rules.initial(), move)


def _act(fields: dict[str, Any]) -> Any:
    from arbiter_protos.v1 import play_pb2

    return play_pb2.PlayAct(**fields)


@pytest.mark.long
async def test_only_a_share_is_traced_and_every_server_chooses_the_same(tmp_path: Path) -> None:
    spans = Spans()
    async with traced(tmp_path, spans, share=0.5) as stubs:
        bots = [await connected(stubs.served, name) for name in ("alice", "bob")]
        match = await stubs.match()
        await play(bots, match.match_id, MOVES)
        moves = await moves_of(stubs.served, match.match_id)
    drawn = {
        ids_of(match.match_id, revision).trace
        for revision in moves
        if traced_moves.is_drawn(match.match_id, revision, traced_moves.DRAWS // 2)
    }
    assert set(by_trace(spans)) == drawn


def test_a_hundredth_of_the_moves_is_chosen() -> None:
    bound = round(0.01 * traced_moves.DRAWS)
    matches = [f"01JD3K5Q8Z7Y6X5W4V3T2{number:05X}" for number in range(1_000)]
    drawn = sum(traced_moves.is_drawn(match, revision, bound) for match in matches for revision in range(1, 101))
    assert 800 < drawn < 1_200  # of 100,000; the standard deviation of independent draws is 32


class Collector:
    """A collector of traces (OTLP over HTTP) in a thread of this process."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.paths: set[str] = set()
        self.services: set[str] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.took(self.path, ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)

    def took(self, path: str, request: ExportTraceServiceRequest) -> None:
        self.paths.add(path)
        for of_server in request.resource_spans:
            about = {each.key: each.value.string_value for each in of_server.resource.attributes}
            self.services.add(about["service.name"])
            self.names += [span.name for scope in of_server.scope_spans for span in scope.spans]


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        collector.server.shutdown()
        collector.server.server_close()
        thread.join()


@pytest.mark.long
async def test_a_server_sends_its_traces_to_a_collector(tmp_path: Path) -> None:
    with collecting() as collector:
        port = collector.server.server_port
        given = {"traces": f"http://127.0.0.1:{port}", "traces_share": 1.0, "rules_workers": 1}
        async with served(open_world, store=f"sqlite:///{tmp_path / 'arbiter.db'}", **given) as server:
            stubs = await Stubs(server).enter()
            bots = [await connected(server, name) for name in ("alice", "bob")]
            await play(bots, (await stubs.match()).match_id, 1)
    assert collector.paths == {"/v1/traces"}
    assert collector.services == {"arbiter"}
    assert sorted(collector.names) == ["commit", "hand_over", "move", "rules"]


@pytest.mark.long
async def test_a_collector_that_does_not_answer_delays_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "SEND_S", 0.2)
    given = {"traces": f"http://127.0.0.1:{free_port()}", "traces_share": 1.0, "rules_workers": 1}
    with structlog.testing.capture_logs() as logged:
        async with served(open_world, store=f"sqlite:///{tmp_path / 'arbiter.db'}", **given) as server:
            stubs = await Stubs(server).enter()
            bots = [await connected(server, name) for name in ("alice", "bob")]
            await play(bots, (await stubs.match()).match_id, 2)
    (line,) = [each for each in logged if each["event"] == "traces_not_sent"]
    assert (line["to"], line["spans"]) == (given["traces"], 8)


def test_a_trace_that_can_not_be_made_is_logged_and_later_ones_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, calls = threading.Event(), []

    def make_spans(self: Traces) -> None:
        calls.append(self)
        if len(calls) == 1:
            raise ZeroDivisionError
        goes_on.set()

    monkeypatch.setattr(tracing, "MAKE_S", 0.001)
    monkeypatch.setattr(Traces, "make_spans", make_spans)
    settings = load(None, traces=f"http://127.0.0.1:{free_port()}")
    with structlog.testing.capture_logs() as logged, tracing.tracing(settings, lambda: 0):
        assert goes_on.wait(60)
    assert [each["event"] for each in logged] == ["traces_not_made"]


def test_the_settings_of_the_page(tmp_path: Path) -> None:
    config = tmp_path / "arbiter.toml"
    config.write_text(block("deploy/METRICS.md", "traces_share"))
    settings = load(config)
    assert settings.traces.startswith("http://")
    assert settings.traces_share == load(None).traces_share  # the page calls this the default


def _open(settings: Settings) -> None:
    with tracing.tracing(settings, lambda: 0):
        pass


def test_a_malformed_address_is_refused() -> None:
    with pytest.raises(OperatorError, match=r"'collector:4318' is no address for traces: write the URL"):
        _open(load(None, traces="collector:4318"))


@pytest.mark.interpreted
def test_without_its_library_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(OperatorError, match=r"install the package with its extra, game-arbiter\[traces\]"):
        _open(load(None, traces="http://127.0.0.1:4318"))
