"""Growth: processor time a move, memory a match and time to start, by the number of live matches.

For each number a log with this many live matches is written. In each round a server is started on a copy of it. Then
ten pairs of players, a stream a player, who share all matches evenly, play at an offered load
(`arbiter.bench.arrivals`) that is the same for every number: only the number of matches differs. A server on an empty
log shows what the process itself takes. Matches have as many moves in the log as those of `arbiter.bench.recovery`:
every record is read after a start, so those of longer and shorter matches can't be compared.

Matches are served before all of them are read: the last one of the log can be had at once. Memory is measured when all
have been read.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from arbiter.bench.ladders import add_ladders
from arbiter.bench.live_matches import write_matches
from arbiter.bench.plans import GrowthPlan
from arbiter.bench.playing_server import PlayingServer, connected
from arbiter.bench.processes import BenchError
from arbiter.bench.report import TIMES, Bound, Progress, Report, ratio
from arbiter.bench.scripts import GAME, SCRIPTS, scripts
from arbiter.bench.server_process import started
from arbiter.bench.stores import NewStore

PAIRS: Final = 10
WARM_UP_S: Final = 0.4
REST_S: Final = 1.0
FLAT: Final = 1.25  #: goal: at most this multiple of the processor time a move with the fewest matches
START_S: Final[Mapping[int, float]] = {1_000: 1, 10_000: 6}
"""Goals: the most seconds until all matches are served."""


class _Round(NamedTuple):
    """What one start found. read_s: until all matches are read; it, move_us and rest_ms are 0 on an empty log."""

    start_s: float
    read_s: float
    memory: int
    rest_ms: float = 0.0
    move_us: float = 0.0


def bench_growth(plan: GrowthPlan, progress: Progress) -> Report:
    """Write the logs, then start and play, number by number, in rounds. Raises BenchError if matches would not last."""
    games = scripts(GAME, SCRIPTS)
    needed = plan.offered * (plan.seconds + WARM_UP_S)
    if min(plan.live) * (min(map(len, games)) - plan.plies) < needed:
        raise BenchError(
            f"{min(plan.live)} live matches are over before {needed:g} moves: offer fewer, or play shorter"
        )
    title = f"live matches of {plan.plies} moves, {plan.offered} moves/s offered to all of them together"
    report = Report("growth", title)
    found: dict[int, list[_Round]] = {count: [] for count in (0, *plan.live)}
    with TemporaryDirectory(prefix="arbiter-bench-", dir=plan.folder) as place:
        logs = {}
        for count in found:
            progress(f"writing {count:,} live matches")
            logs[count] = _write(Path(place, str(count)), count, plan.plies)
        for number in range(1, plan.rounds + 1):
            for count, (log, matches) in logs.items():
                progress(f"{count:,} live matches: round {number} of {plan.rounds}")
                with TemporaryDirectory(prefix="copy-", dir=place) as own:
                    shutil.copytree(log, own, dirs_exist_ok=True)
                    found[count].append(_round(plan, Path(own), matches, games, number))
    _add(report, plan, found)
    add_ladders(report, plan.ladders, plan.folder, progress)
    return report


def _store(folder: Path) -> NewStore:
    return NewStore(f"sqlite:///{folder}/arbiter.db", folder)


def _write(folder: Path, count: int, plies: int) -> tuple[Path, list[str]]:
    """Write a log, unless it is to be empty; return its folder, and the ids of its matches."""
    folder.mkdir()
    if not count:
        return folder, []
    return folder, asyncio.run(write_matches(_store(folder), count, plies, PAIRS))


def _round(
    plan: GrowthPlan, folder: Path, matches: Sequence[str], games: Sequence[Sequence[str]], number: int
) -> _Round:
    began = time.perf_counter()
    with started(_store(folder)) as server_process:
        if not matches:
            return _Round(time.perf_counter() - began, 0.0, server_process.server.resident_bytes())
        server_process.await_match(matches[-1])
        start_s = time.perf_counter() - began
        if (served := server_process.live()) != len(matches):
            raise BenchError(f"the server serves {served} matches of {len(matches)}")
        read_s, memory = time.perf_counter() - began, server_process.server.resident_bytes()
        tokens = server_process.tokens([f"{side}-{n}" for n in range(PAIRS) for side in ("first", "second")])
        with connected([server_process.address], [tokens], games, matches, len(matches), 0.0) as (players,):
            players.ask(turns=len(matches))
            playing = PlayingServer(server_process.server, (players,))
            playing.round(WARM_UP_S, offered=plan.offered, seed=f"warm-up {number}")
            used, began = server_process.server.cpu_s(), time.perf_counter()
            time.sleep(REST_S)
            rested = (server_process.server.cpu_s() - used) / (time.perf_counter() - began)
            played = playing.round(plan.seconds, offered=plan.offered, seed=str(number))
        if played.unanswered:
            raise BenchError(f"{played.unanswered} moves were not acknowledged: offer fewer")
        return _Round(start_s, read_s, memory, 1_000 * rested, played.server_us)


def _add(report: Report, plan: GrowthPlan, found: Mapping[int, Sequence[_Round]]) -> None:
    """Add the figures of each number of matches."""
    report.median("start_s_0", "no live matches: from the start until it serves", _starts(found[0]), "s")
    empty, fewest = [each.memory for each in found[0]], [each.move_us for each in found[min(plan.live)]]
    report.median("memory_mib_0", "no live matches: memory", [each / 2**20 for each in empty], "MiB")
    for count in plan.live:
        rounds, whose = found[count], f"{count:,} live matches"
        moves = [each.move_us for each in rounds]
        report.median(f"us_{count}", f"{whose}: processor time", moves, "µs a move")
        if count > min(plan.live):
            ratios = [ratio(us, least) for us, least in zip(moves, fewest, strict=True)]
            title = f"{whose}: processor time a move, of that with {min(plan.live):,}"
            report.median(f"us_ratio_{count}", title, ratios, TIMES, FLAT, Bound.MOST)
        rests = [each.rest_ms for each in rounds]
        report.median(f"rest_ms_{count}", f"{whose}: processor time while nobody moves", rests, "ms a second")
        kib = [(each.memory - least) / 1024 / count for each, least in zip(rounds, empty, strict=True)]
        report.median(f"match_kib_{count}", f"{whose}: memory of each after the start", kib, "KiB")
        title = f"{whose}: from the start until each of them is served"
        report.median(f"start_s_{count}", title, _starts(rounds), "s", START_S.get(count), Bound.MOST)
        title = f"{whose}: from the start until all have been read and listed"
        report.median(f"read_s_{count}", title, [each.read_s for each in rounds], "s")


def _starts(rounds: Iterable[_Round]) -> list[float]:
    return [each.start_s for each in rounds]
