"""`arbiter bench …`: the performance of this machine, with the goals beside the figures."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from json import dumps, loads
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from arbiter.bench.processes import BenchError
from arbiter.bench.report import Bound, Progress, Report, machine, stolen_s
from arbiter.cli.failure import Failure
from arbiter.cli.table_options import AnyTableOptions, TableOptions
from arbiter.cli.terminal import PlainConsole, remark, table, tell

app = App(
    name="bench",
    help="Measure this machine. Each benchmark runs its own server on a new database, and says which goals are met.",
)

Section = Literal["at-once", "coalesced", "offered", "thinking", "many"]
Attack = Literal[
    "reading",
    "unread",
    "watching",
    "calling",
    "listing",
    "looking",
    "playing",
    "steps",
    "opening",
    "refused",
    "moving",
    "repeating",
    "acting",
    "asking",
    "styling",
    "visiting",
    "flooding",
    "player",
    "address",
    "addresses",
]
Json = Annotated[
    Path | None,
    Parameter(help="A file to keep the figures in, with what each round found; `arbiter bench ratios` reads it."),
]
Folder = Annotated[
    Path | None,
    Parameter(help="The folder for the database; the speed of its disk counts. [default: the temporary folder]"),
]
Store = Annotated[
    str,
    Parameter(
        help="A database on the PostgreSQL server to measure on, `postgresql://USER@HOST/DATABASE`; its user must be "
        "allowed to create databases, which are removed afterwards. [default: SQLite]"
    ),
]
Count = Annotated[int, Parameter(validator=Number(gte=1))]
Seconds = Annotated[float, Parameter(validator=Number(gt=0))]


def _numbers_only(_type: object, text: str) -> None:
    """Refuse what is not a list of numbers."""
    if text and not all(each.isascii() and each.isdecimal() and int(each) > 0 for each in text.split(",")):
        raise ValueError("write whole numbers from 1, separated by commas, such as 500,1000")


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a list, each once, in their order."""
    return tuple(sorted({int(each) for each in text.split(",")}))


@app.command
def moves(
    *,
    matches: Count = 64,
    rounds: Count = 5,
    seconds: Seconds = 3.0,
    many: Count = 1_000,
    hold: Seconds = 60.0,
    offered: Annotated[str, Parameter(validator=_numbers_only)] = "",
    only: Annotated[Sequence[Section], Parameter(negative=())] = (),
    svg: Path | None = None,
    profile: Annotated[bool, Parameter(negative=())] = False,
    folder: Folder = None,
    store: Store = "",
    json: Json = None,
    output: TableOptions | None = None,
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

    :param matches: Number of matches at the same time.
    :param rounds: Number of rounds. The result is their median; the rounds of the echo alternate with them.
    :param seconds: Length of a round.
    :param many: Number of matches that are held at one move a second each.
    :param hold: How many seconds they are held.
    :param offered: Moves a second that fall due whether or not the ones before are answered, such as 500,1000,2500,
        which is the default; latency counts from then. If it is given, only this is measured, unless --only says more.
    :param only: What to measure; may be given several times: bots that answer at once, two bots who play all matches
        over one stream each, offered loads, bots that think, many matches. [default: all of it]
    :param svg: A file for a picture of the latency by offered load.
    :param profile: Show the time of a move by stage, for bots that answer at once; only if the server is not compiled.
    """
    from arbiter.bench.load_pictures import loads_svg
    from arbiter.bench.loads import LOADS
    from arbiter.bench.moves import EVERYTHING, MovesPlan, bench_moves
    from arbiter.runtime.build import is_compiled

    if profile and is_compiled():
        raise Failure(
            "stages of compiled modules can't be timed: run this on the interpreted modules, without PYTHONPATH"
        )
    asked: Sequence[Section] = only or (("offered",) if offered else EVERYTHING)
    wanted: Sequence[Section] = ("at-once",) if profile else asked
    if svg is not None and "offered" not in wanted:
        raise Failure("--svg draws the latency by offered load, which is not measured: add --only offered")
    loads = _numbers(offered) if offered else LOADS
    plan = MovesPlan(
        matches, rounds, seconds, many, hold, folder=folder, profile=profile, only=wanted, loads=loads, store=store
    )
    report = _measure(lambda progress: bench_moves(plan, progress), json, output)
    if svg is not None:
        svg.write_text(loads_svg(report) + "\n", encoding="utf-8")


@app.command
def fanout(
    *,
    observers: Count = 1_000,
    matches: Count = 10,
    offered: Count = 22_000,
    rounds: Count = 5,
    seconds: Seconds = 2.5,
    folder: Folder = None,
    json: Json = None,
    output: TableOptions | None = None,
) -> None:
    """Measure how many events reach observers, and how soon. Goals: 20,000 a second, 60 ms from the commit (p99).

    Beside it runs a bare server that writes messages to as many, at the same pace and one at a time. Goal: 1.25 times
    its delay (p50 and p99), as the median of paired rounds. A third server plays as many matches without observers: it
    shows how much sooner moves are acknowledged there.

    :param observers: Number of streams, each of which gets every event of all matches.
    :param matches: Number of matches that are played.
    :param offered: Deliveries a second that the pace of play requires.
    :param rounds: Number of rounds; in each, the three servers take turns.
    :param seconds: Length of the measurement of each server in a round.
    """
    from arbiter.bench.fanout import FanoutPlan, bench_fanout

    plan = FanoutPlan(observers, matches, offered, rounds, seconds, folder)
    _measure(lambda progress: bench_fanout(plan, progress), json, output)


@app.command
def recovery(
    *,
    matches: Count = 1_000,
    plies: Count = 30,
    rounds: Count = 3,
    folder: Folder = None,
    json: Json = None,
    output: TableOptions | None = None,
) -> None:
    """Measure how soon a killed server serves its live matches again. Goal: within 1 s of its start (6 s for 10,000).

    :param matches: Number of live matches in the log.
    :param plies: Number of moves in each.
    :param rounds: Number of starts. The result is their median.
    """
    from arbiter.bench.recovery import RecoveryPlan, bench_recovery

    plan = RecoveryPlan(matches, plies, rounds, folder)
    _measure(lambda progress: bench_recovery(plan, progress), json, output)


@app.command
def growth(
    *,
    live: Annotated[str, Parameter(validator=_numbers_only)] = "10,100,1000,10000",
    ladders: Annotated[str, Parameter(validator=_numbers_only)] = "1000,10000",
    plies: Count = 30,
    offered: Count = 150,
    rounds: Count = 3,
    seconds: Seconds = 2.0,
    folder: Folder = None,
    json: Json = None,
    output: TableOptions | None = None,
) -> None:
    """Measure what many live matches cost: processor time a move, memory a match, time to start.

    Ten pairs of players share all matches, a stream a player; the moves offered a second are the same for every number
    of matches. Goals: at most 1.25 times the processor time a move with the fewest; all served within 1 s of the start
    with 1,000, and 6 s with 10,000.

    Then ladders with many ended games, which are written into a store: disk a game, start, memory, standings, page,
    leaderboard, the next game of two players who come.

    :param live: Numbers of live matches, separated by commas.
    :param ladders: Numbers of ended games of a ladder, separated by commas; '' for none.
    :param plies: Moves of each match in the log.
    :param offered: Moves that fall due a second, in all matches together.
    :param rounds: Starts of each server. The result is their median.
    :param seconds: How long is played after each start.
    """
    from arbiter.bench.growth import GrowthPlan, bench_growth

    plan = GrowthPlan(_numbers(live), _numbers(ladders) if ladders else (), plies, offered, rounds, seconds, folder)
    _measure(lambda progress: bench_growth(plan, progress), json, output)


@app.command
def budget(
    *,
    pairs: Count = 8,
    history: Seconds = 8.0,
    seconds: Seconds = 4.0,
    rounds: Count = 5,
    reading: Count = 60,
    unread: Count = 100,
    watching: Count = 100,
    calling: Count = 250,
    listing: Count = 16,
    opening: Count = 100,
    playing: Count = 8,
    visiting: Count = 100,
    flooding: Count = 1_096,
    two: Annotated[bool, Parameter(negative=())] = False,
    only: Annotated[Sequence[Attack], Parameter(negative=())] = (),
    folder: Folder = None,
    store: Store = "",
    web_process: Annotated[bool, Parameter(negative=())] = False,
    steps: Annotated[bool, Parameter(negative=())] = False,
    json: Json = None,
    output: TableOptions | None = None,
) -> None:
    """Measure what one player who does whatever its limits allow costs others. Goals: their moves' p99 within twice.

    Beside pairs who play, it reads all history again and again; asks for it and reads nothing; watches all that
    happens; makes calls at its full rate; reads long lists; looks at long matches; asks for the boards of a long game,
    and for moves with their steps; opens Play streams, and sends moves and acts, that are refused; sends one move again
    and again. Callers without a token ask for games; visitors of the page ask for its style sheet and its pages, and
    ask without reading. At last a player does all of its part at once; then all of this at once, from one address; then
    from ten, with ten players. Rounds with and without each of these take turns. Goal for the memory of what is not
    read: 64 MiB.

    :param pairs: Pairs who play on meanwhile, thinking 50 ms.
    :param history: Seconds of play that make the history.
    :param seconds: Length of each round.
    :param rounds: Rounds beside each attack, and as many without.
    :param reading: Streams that read all history.
    :param unread: Streams that do not read.
    :param watching: Streams of what happens now.
    :param calling: Calls that it makes at once.
    :param listing: Lists, and matches, that it asks for at once.
    :param opening: Play streams that it opens far too often, and moves that are refused, at once.
    :param playing: Long games whose boards it asks for, and lists of moves with their steps, at once.
    :param visiting: Connections on which visitors ask for pages.
    :param flooding: Connections on which they ask and read nothing.
    :param two: Measure also each two of these at once; with --only, each two of those.
    :param only: Which of these it does; may be given several times. [default: all]
    :param web_process: Another process has the page, as with `arbiter serve --web-process`; needs --store.
    :param steps: Find the longest step of the event loop beside each attack too. Goal: 10 ms of a processor's time.
    """
    from arbiter.bench.budget import BudgetPlan, bench_budget

    streams, calls, visitors = (reading, unread, watching), (calling, listing, opening, playing), (visiting, flooding)
    plan = BudgetPlan(
        *(pairs, 50.0, history, seconds, rounds, *streams, *calls, *visitors),
        *(two, only, folder, store, web_process, steps),
    )
    _measure(lambda progress: bench_budget(plan, progress), json, output)


@app.command
def metrics(
    *,
    matches: Count = 64,
    starts: Count = 6,
    rounds: Count = 12,
    seconds: Seconds = 1.0,
    folder: Folder = None,
    json: Json = None,
    output: TableOptions | None = None,
) -> None:
    """Measure what metrics and traces cost: processor time of a move with and without. Goal: at most 3 % more.

    Of traces, the usual part of the moves is measured, or ARBITER_TRACES_SHARE.

    :param matches: Number of matches at the same time.
    :param starts: How often all servers are started: without both, with metrics, with metrics and traces, and without.
    :param rounds: Rounds of each server after each start.
    :param seconds: Length of a round.
    """
    from arbiter.bench.metrics import MetricsPlan, bench_metrics

    plan = MetricsPlan(matches, starts, rounds, seconds, folder)
    _measure(lambda progress: bench_metrics(plan, progress), json, output)


@app.command
def web(
    *,
    viewers: Count = 1_000,
    grid_viewers: Count = 200,
    grid: Count = 20,
    matches: Count = 64,
    think: Seconds = 1.0,
    rounds: Count = 10,
    seconds: Seconds = 2.0,
    folder: Folder = None,
    json: Json = None,
    output: TableOptions | None = None,
) -> None:
    """Measure what viewers of the page get, how soon, and what they cost the players. Goal: less than a tenth.

    Afterwards a page of a live match in Chromium, where there is one: how long it takes to show an event. Goal: 5 ms.

    Viewers of one match and of a grid of matches, which are played at the pace of people, beside matches of bots that
    answer at once. Rounds with and without viewers take turns.

    :param viewers: Viewers of one match.
    :param grid_viewers: Viewers of the grid.
    :param grid: Matches of the grid.
    :param matches: Matches of bots that answer at once.
    :param think: Seconds that a player of a watched match thinks.
    :param rounds: Rounds with viewers, and as many without.
    :param seconds: Length of each round.
    """
    from arbiter.bench.web import WebPlan, bench_web

    plan = WebPlan(viewers, grid_viewers, grid, matches, 1_000 * think, rounds, seconds, folder)
    _measure(lambda progress: bench_web(plan, progress), json, output)


@app.command
def cluster(
    *,
    replicas: Annotated[str, Parameter(validator=_numbers_only)] = "1,2,4",
    pairs: Count = 64,
    rounds: Count = 5,
    seconds: Seconds = 3.0,
    offered: Count = 200,
    loaded: Count = 1_500,
    folder: Folder = None,
    store: Annotated[
        str,
        Parameter(
            help="A database on the PostgreSQL server to measure on, `postgresql://USER@HOST/DATABASE`; its user must "
            "be allowed to create databases, which are removed afterwards. [default: one of its own is run]"
        ),
    ] = "",
    bus: bool = True,
    json: Json = None,
    output: TableOptions | None = None,
) -> None:
    """Measure several servers on one PostgreSQL beside a single one on SQLite: moves, latencies, processor time.

    It runs a PostgreSQL and a NATS of its own, so that their processor time can be measured. The players of a pair are
    on any two replicas. Goals, as medians of paired rounds: the replicas' processor time a move at most 1.25 times the
    single process's, when players answer at once and with the same moves a second offered to both; with two replicas
    no fewer moves a second than with one; from the commit to an observer at another replica 5 ms (p50).

    :param replicas: Numbers of replicas, separated by commas.
    :param pairs: Pairs of players.
    :param rounds: Rounds; each starts and plays every number of replicas.
    :param seconds: Length of each part of a round: players who answer at once, then moves offered.
    :param offered: Moves that fall due a second, for the latencies.
    :param loaded: The same, for the processor time of the same load on one and two replicas and on the single process.
    :param bus: Also measure each number of replicas above 1 with NATS.
    """
    from arbiter.bench.cluster import ClusterPlan, bench_cluster

    plan = ClusterPlan(_numbers(replicas), pairs, rounds, seconds, offered, loaded, store, folder, bus)
    _measure(lambda progress: bench_cluster(plan, progress), json, output)


@app.command
def clocks(
    *, matches: Count = 500, seconds: Seconds = 60.0, json: Json = None, output: TableOptions | None = None
) -> None:
    """Measure how much of the server's own time clocks charge. Goal: at most 5 ms (p99) at a move a second a match.

    :param matches: Number of matches that are played at the same time.
    :param seconds: Length of the measurement.
    """
    from arbiter.bench.clocks import GOAL_MS, ClocksPlan, measured

    def measure(progress: Progress) -> Report:
        progress(f"{matches} matches at one move a second, for {seconds:g} s")
        found = measured(ClocksPlan(matches, seconds))
        report = Report("clocks", f"{matches} matches at one move a second: what clocks charge of the server's time")
        report.add("charged_p50_ms", "charged beyond the thinking time, p50", found.p50_ms, "ms")
        report.add("charged_p99_ms", "charged beyond the thinking time, p99", found.p99_ms, "ms", GOAL_MS, Bound.MOST)
        report.add("charged_most_ms", "charged beyond the thinking time, most", found.most_ms, "ms")
        report.add("hand_over_p99_ms", "from the start of a turn to its hand-over, p99", found.hand_over_p99_ms, "ms")
        report.add(
            "driver_lag_p99_ms",
            "the lag of the benchmark's own clients, p99: above a few ms the other figures say little",
            found.lag_ms,
            "ms",
        )
        report.add("moves", "moves", found.moves, "moves")
        return report

    _measure(measure, json, output)


@app.command
def tournament(
    *,
    at_once: Annotated[str, Parameter(validator=_numbers_only)] = "1,2,8,32",
    rounds: Count = 3,
    seconds: Seconds = 4.0,
    game: str = "",
    uci: str = "",
    folder: Folder = None,
    json: Json = None,
    output: TableOptions | None = None,
) -> None:
    """Measure whole games by `tournament run`: moves and games a second, and processor time by process.

    Two bots play long games, then short ones: the difference tells what a game costs beside its moves. Beside it, the
    same bots play in one process with nothing in between but the rules. Goals with --uci, as medians of paired rounds:
    half of that rate with 2 games at once, three quarters with 32; processor time of everything but engines 0.35 ms a
    move and 3 ms a game.

    :param at_once: Numbers of games at once, separated by commas.
    :param rounds: Number of rounds. The result is their median.
    :param seconds: How long is measured of each run.
    :param game: The variant. [default: circle-of-life(target=60), with --uci chess]
    :param uci: The command of a chess engine, which plays at one node a move. [default: two bots that play at random]
    """
    from arbiter.bench.tournament import TournamentPlan, bench_tournament

    plan = TournamentPlan(_numbers(at_once), rounds, seconds, game, uci, folder)
    _measure(lambda progress: bench_tournament(plan, progress), json, output)


@app.command
def ratios(*files: Path, output: AnyTableOptions | None = None) -> None:
    """Show what benchmarks have kept with --json FILE in one table: ratios, goals, and the machine's steal.

    Steal is the share of processor time that a virtual machine's host gave to others during the run: above a few
    percent, only ratios within one run say much.

    :param files: The files.
    """
    from arbiter.bench.ratios import rows_of

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
