"""`arbiter bench …`: the performance of this machine, with the goals beside the figures."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from json import dumps, loads
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from arbiter.bench.plans import (
    BudgetPlan,
    ClocksPlan,
    ClusterPlan,
    FanoutPlan,
    GrowthPlan,
    MetricsPlan,
    MovesPlan,
    RecoveryPlan,
    TournamentPlan,
    WebPlan,
)
from arbiter.bench.processes import BenchError
from arbiter.bench.report import Progress, Report, machine, stolen_s
from arbiter.cli.failure import Failure
from arbiter.cli.table_options import AnyTableOptions, TableOptions
from arbiter.cli.terminal import PlainConsole, remark, table, tell

app = App(
    name="bench",
    help="Measure this machine. Each benchmark runs its own server on a new database, and says which goals are met.",
)

Json = Annotated[
    Path | None,
    Parameter(help="A file to keep the figures in, with what each round found; `arbiter bench ratios` reads it."),
]


@app.command
def moves(
    *, plan: MovesPlan | None = None, svg: Path | None = None, json: Json = None, output: TableOptions | None = None
) -> None:
    """Measure durable moves on Play streams: rate, latency of the acknowledgement, processor time, memory of a match.

    Beside the server runs the bare path: stream, rules, hash chain, commit and two messages, and nothing else. Goals,
    as medians of paired rounds: with 64 matches of bots that answer at once, 0.8 of the bare path's moves a second,
    5,000 moves a second, and 18 % of the rate of a bare gRPC echo; over two streams of many matches, 0.65 of the bare
    path's processor time a move. With 2,500 moves a second offered, acknowledged 1.5 ms (p50) and 5 ms (p99) after the
    commit's time; with 1,000, in 1.5 and 6 ms; with 500, at most twice the processor time a move of saturation; a
    commit in 1 ms (p50). With bots that think for 20 ms, acknowledged 2 ms (p50) and 10 ms (p99) after the commit's
    time; with 1,000 matches at one move a second each, 50 ms (p99) and 150 KiB per match. On PostgreSQL only processor
    time and memory have goals, that of processor time a tenth higher.

    :param svg: A file for a picture of the latency by offered load.
    """
    from arbiter.bench.loads import loads_svg
    from arbiter.bench.moves import bench_moves
    from arbiter.runtime.build import is_compiled

    size = plan or MovesPlan()
    if size.profile and is_compiled():
        raise Failure(
            "stages of compiled modules can't be timed: run this on the interpreted modules, without PYTHONPATH"
        )
    if svg is not None and "offered" not in size.sections:
        raise Failure("--svg draws the latency by offered load, which is not measured: add --only offered")
    report = _measure(partial(bench_moves, size), json, output)
    if svg is not None:
        svg.write_text(loads_svg(report) + "\n", encoding="utf-8")


@app.command
def fanout(*, plan: FanoutPlan | None = None, json: Json = None, output: TableOptions | None = None) -> None:
    """Measure how many events reach observers, and how soon. Goals: 20,000 a second, 60 ms from the commit (p99).

    Beside it runs a bare server that writes messages to as many, at the same pace and one at a time. Goal: 1.25 times
    its delay (p50 and p99), as the median of paired rounds. A third server plays as many matches without observers: it
    shows how much sooner moves are acknowledged there.
    """
    from arbiter.bench.fanout import bench_fanout

    _measure(partial(bench_fanout, plan or FanoutPlan()), json, output)


@app.command
def recovery(*, plan: RecoveryPlan | None = None, json: Json = None, output: TableOptions | None = None) -> None:
    """Measure how soon a killed server serves its live matches again. Goal: 1 s after its start (6 s for 10,000)."""
    from arbiter.bench.recovery import bench_recovery

    _measure(partial(bench_recovery, plan or RecoveryPlan()), json, output)


@app.command
def growth(*, plan: GrowthPlan | None = None, json: Json = None, output: TableOptions | None = None) -> None:
    """Measure what many live matches cost: processor time a move, memory a match, time to start.

    Ten pairs of players share all matches, a stream a player; the moves offered a second are the same for every number
    of matches. Goals: at most 1.25 times the processor time a move with the fewest; all served within 1 s of the start
    with 1,000, and 6 s with 10,000.

    Then ladders with many ended games, which are written into a store: disk a game, start, memory, standings, page,
    leaderboard, the next game of two players who come.
    """
    from arbiter.bench.growth import bench_growth

    _measure(partial(bench_growth, plan or GrowthPlan()), json, output)


@app.command
def budget(*, plan: BudgetPlan | None = None, json: Json = None, output: TableOptions | None = None) -> None:
    """Measure what one player who does whatever its limits allow costs others. Goals: their moves' p99 within twice.

    Beside pairs who play, it reads all history again and again; asks for it and reads nothing; watches all that
    happens; makes calls at its full rate; reads long lists; looks at long matches; asks for the boards of a long game,
    and for moves with their steps; opens Play streams, and sends moves and acts, that are refused; sends one move again
    and again. Callers without a token ask for games; visitors of the page ask for its style sheet and its pages, and
    ask without reading. At last a player does all of its part at once; then all of this at once, from one address; then
    from ten, with ten players. Rounds with and without each of these take turns. Goal for the memory of what is not
    read: 64 MiB.
    """
    from arbiter.bench.budget import bench_budget

    _measure(partial(bench_budget, plan or BudgetPlan()), json, output)


@app.command
def metrics(*, plan: MetricsPlan | None = None, json: Json = None, output: TableOptions | None = None) -> None:
    """Measure what metrics and traces cost: processor time of a move with and without. Goal: at most 3 % more.

    Of traces, the usual part of the moves is measured, or ARBITER_TRACES_SHARE.
    """
    from arbiter.bench.metrics import bench_metrics

    _measure(partial(bench_metrics, plan or MetricsPlan()), json, output)


@app.command
def web(*, plan: WebPlan | None = None, json: Json = None, output: TableOptions | None = None) -> None:
    """Measure what viewers of the page get, how soon, and what they cost the players. Goal: less than a tenth.

    Afterwards a page of a live match in Chromium, where there is one: how long it takes to show an event. Goal: 5 ms.

    Viewers of one match and of a grid of matches, which are played at the pace of people, beside matches of bots that
    answer at once. Rounds with and without viewers take turns.
    """
    from arbiter.bench.web import bench_web

    _measure(partial(bench_web, plan or WebPlan()), json, output)


@app.command
def cluster(*, plan: ClusterPlan | None = None, json: Json = None, output: TableOptions | None = None) -> None:
    """Measure several servers on one PostgreSQL beside a single one on SQLite: moves, latencies, processor time.

    It runs a PostgreSQL and a NATS of its own, so that their processor time can be measured. The players of a pair are
    on any two replicas. Goals, as medians of paired rounds: the replicas' processor time a move at most 1.25 times the
    single process's, when players answer at once and with the same moves a second offered to both; with two replicas
    no fewer moves a second than with one; from the commit to an observer at another replica 5 ms (p50).
    """
    from arbiter.bench.cluster import bench_cluster

    _measure(partial(bench_cluster, plan or ClusterPlan()), json, output)


@app.command
def clocks(*, plan: ClocksPlan | None = None, json: Json = None, output: TableOptions | None = None) -> None:
    """Measure how much of the server's own time clocks charge. Goal: at most 5 ms (p99) at a move a second a match."""
    from arbiter.bench.clocks import bench_clocks

    _measure(partial(bench_clocks, plan or ClocksPlan()), json, output)


@app.command
def tournament(*, plan: TournamentPlan | None = None, json: Json = None, output: TableOptions | None = None) -> None:
    """Measure whole games by `tournament run`: moves and games a second, and processor time by process.

    Two bots play long games, then short ones: the difference tells what a game costs beside its moves. Beside it, the
    same bots play in one process with nothing in between but the rules, and once more with each move stored before the
    next one is asked for: no arbiter that keeps its promise is faster. Goals with --uci, as medians of paired rounds:
    half of that rate with 2 games at once, three quarters with 32; processor time of everything but engines 0.35 ms a
    move and 3 ms a game.
    """
    from arbiter.bench.tournament import bench_tournament

    _measure(partial(bench_tournament, plan or TournamentPlan()), json, output)


@app.command
def ratios(*files: Path, output: AnyTableOptions | None = None) -> None:
    """Show what benchmarks have kept with --json FILE in one table: ratios, goals, and the machine's steal.

    Steal is the share of processor time that a virtual machine's host gave to others during the run: above a few
    percent, only ratios within one run say much.

    :param files: The files.
    """
    from arbiter.bench.report import rows_of

    kept = []
    for file in files:
        try:
            kept.append(rows_of(_kept(file)))
        except (ValueError, LookupError, TypeError):
            raise Failure(f"{file} {_NOT_KEPT}") from None
    rows = [row for of_file in kept for row in of_file]
    table(("benchmark", "what", "figure", "unit", "goal"), rows, "name the files that --json has kept", output)


_NOT_KEPT = "is not what `arbiter bench … --json FILE` keeps: measure again"


def _kept(file: Path) -> Any:
    """Return what a benchmark has kept in a file. Raises Failure."""
    try:
        return loads(file.read_bytes())
    except OSError as error:
        raise Failure(f"{file} can't be read: {error.strerror}") from None
    except ValueError:
        raise Failure(f"{file} {_NOT_KEPT}") from None


def _measure(bench: Callable[[Progress], Report], json: Path | None, output: TableOptions | None) -> Report:
    """Run a benchmark: report progress on standard error, then print or keep the results, and return them.

    Raises Failure before it begins if the file for them can't be written.
    """
    if json is not None:
        try:
            json.touch()
        except OSError as error:
            raise Failure(f"{json} can't be written: {error.strerror}") from None
    began, stolen = time.monotonic(), stolen_s()
    with _progress() as progress:
        try:
            report = bench(progress)
        except BenchError as error:
            raise Failure(str(error)) from None
    seconds = (time.monotonic() - began) * machine()["processors"]
    report.stolen = round(100 * (stolen_s() - stolen) / seconds, 1)
    if json is not None:
        json.write_text(dumps(report.json(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    here = machine()
    built = "compiled" if here["compiled"] else "interpreted"
    about = (
        f"{report.about}. {here['processors']} processors, Python {here['python']}, {built}, load {here['load']}, "
        f"{report.stolen:g} % of the time stolen."
    )
    remark(about, output)
    table(("what", "figure", "unit", "goal"), report.rows(), "nothing was measured", output)
    return report


@contextlib.contextmanager
def _progress() -> Iterator[Progress]:
    """Show the current step: as one changing line on a terminal, as separate lines in a log."""
    errors = PlainConsole(stderr=True)
    if errors.is_terminal:
        with errors.status("starting") as status:
            yield status.update
    else:
        yield tell
