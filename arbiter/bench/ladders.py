"""A ladder that has run for long: what its old games cost, by their number.

For each number a store with this many ended games is written (`arbiter.bench.old_ladder`). A server starts on it and
is asked for what people and bots ask for: the tournament, its standings, its page, the leaderboard, the next pairing
for two bots that come. All of these should stay as they are, or grow as the logarithm. A second start finds no snapshot
and reads the whole log, as the first one after an upgrade does: its time grows with the log, its memory should not.

While the page is made, somebody else makes small calls. How long they wait says whether the page is made on the event
loop, where players would wait too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple
from urllib.parse import urljoin
from urllib.request import urlopen

import grpc
from arbiter_protos.v1 import rating_pb2, rating_pb2_grpc, tournament_pb2, tournament_pb2_grpc

from arbiter.bench.old_ladder import PLAYERS, write_ladder
from arbiter.bench.playing_server import connected
from arbiter.bench.report import Progress, Report
from arbiter.bench.server_process import CALL_S, ServerProcess, started
from arbiter.bench.stores import NewStore
from arbiter.store.database import opened
from arbiter.store.tables import tournament_snapshot

LONG_S: Final = 5 * CALL_S  #: a start that reads a log of a million games takes minutes


class _Start(NamedTuple):
    """A start, until the ladder is shown: seconds, of the processor too; memory then, and the most until then."""

    seconds: float
    cpu_s: float
    memory: int
    most_memory: int


class _Costs(NamedTuple):
    """What one ladder costs. others_ms: the longest wait of a small call while the page is made."""

    bytes_: int
    start: _Start
    standings_ms: float
    page_ms: float
    others_ms: float
    leaderboard_ms: float
    pairing_ms: float
    whole: _Start


def add_ladders(report: Report, games: Sequence[int], folder: Path | None, progress: Progress) -> None:
    """Measure ladders with these numbers of ended games, and add the figures to a report."""
    for count in games:
        with TemporaryDirectory(prefix="arbiter-bench-", dir=folder) as place:
            _add(report, count, _measured(Path(place), count, progress))


def _add(report: Report, count: int, costs: _Costs) -> None:
    whose = f"ladder of {count:,} games"
    report.add(f"ladder_disk_{count}", f"{whose}: disk", costs.bytes_ / 1024 / count, "KiB a game")
    for key, which, start in (("", "", costs.start), ("whole_", " without its snapshot", costs.whole)):
        begun = f"{whose}{which}: from the start until it is shown"
        report.add(f"ladder_{key}start_s_{count}", begun, start.seconds, "s")
        report.add(f"ladder_{key}start_cpu_s_{count}", f"{begun}: processor time", start.cpu_s, "s")
        report.add(f"ladder_{key}mib_{count}", f"{whose}{which}: memory then", start.memory / 2**20, "MiB")
        report.add(f"ladder_{key}most_mib_{count}", f"{whose}{which}: the most", start.most_memory / 2**20, "MiB")
    for name, what, value in (
        ("standings", "standings", costs.standings_ms),
        ("page", "its page", costs.page_ms),
        ("others", "the longest wait of others beside the page", costs.others_ms),
        ("leaderboard", "leaderboard", costs.leaderboard_ms),
        ("pairing", "until two players who have come have their next game", costs.pairing_ms),
    ):
        report.add(f"ladder_{name}_ms_{count}", f"{whose}: {what}", value, "ms")


def _measured(folder: Path, games: int, progress: Progress) -> _Costs:
    store = NewStore(f"sqlite:///{folder}/arbiter.db", folder)
    progress(f"a ladder of {games:,} games: writing")
    ladder = asyncio.run(write_ladder(store, games))
    size = sum(file.stat().st_size for file in folder.iterdir())
    progress(f"a ladder of {games:,} games: starting")
    with _shown(store, ladder) as (server, channel, start):
        progress(f"a ladder of {games:,} games: asking")
        stub = tournament_pb2_grpc.TournamentServiceStub(channel)
        standings = tournament_pb2.GetStandingsRequest(tournament_id=ladder)
        standings_ms = _took_ms(lambda: stub.GetStandings(standings, metadata=server.metadata, timeout=LONG_S))
        page_ms, others_ms = _page(server, urljoin(server.page, f"/tournaments/{ladder}"))
        ratings = rating_pb2_grpc.RatingServiceStub(channel)
        leaderboard = rating_pb2.GetLeaderboardRequest()
        leaderboard_ms = _took_ms(lambda: ratings.GetLeaderboard(leaderboard, metadata=server.metadata, timeout=LONG_S))
        pairing_ms = _await_game(server)
    progress(f"a ladder of {games:,} games: starting without its snapshot")
    with opened(store.url) as engine, engine.begin() as connection:
        connection.execute(tournament_snapshot.delete())
    with _shown(store, ladder) as (_, _, whole):
        return _Costs(size, start, standings_ms, page_ms, others_ms, leaderboard_ms, pairing_ms, whole)


@contextmanager
def _shown(store: NewStore, ladder: str) -> Iterator[tuple[ServerProcess, grpc.Channel, _Start]]:
    """Start a server, and wait until it shows a ladder."""
    began = time.perf_counter()
    with started(store, web=True) as server, _channel(server) as channel:
        get = tournament_pb2.GetTournamentRequest(tournament_id=ladder)
        stub = tournament_pb2_grpc.TournamentServiceStub(channel)
        stub.GetTournament(get, metadata=server.metadata, timeout=LONG_S, wait_for_ready=True)
        process, seconds = server.server, time.perf_counter() - began
        yield server, channel, _Start(seconds, process.cpu_s(), process.resident_bytes(), process.most_resident_bytes())


@contextmanager
def _channel(server: ServerProcess) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(server.address) as channel:
        yield channel


def _took_ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1_000 * (time.perf_counter() - began)


def _page(server: ServerProcess, url: str) -> tuple[float, float]:
    """Return how long the page takes, and the longest of the small calls beside it, in milliseconds."""
    with ThreadPoolExecutor(1) as asking:
        page = asking.submit(_took_ms, lambda: urlopen(url, timeout=LONG_S).read())
        longest = 0.0
        while not page.done():
            longest = max(longest, _took_ms(server.live))
        return page.result(), longest


def _await_game(server: ServerProcess) -> float:
    """Let two players come; return how long they wait for their game then, in milliseconds."""
    tokens = server.tokens([f"player-{number}" for number in (0, PLAYERS - 1)])
    with connected([server.address], [tokens], [], [], 1, 0.0) as (players,):
        return _took_ms(lambda: players.ask(turns=1))
