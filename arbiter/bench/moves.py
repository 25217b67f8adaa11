"""Durable moves on real Play streams: rate, latency of the acknowledgement, and memory of a match.

There is one server process on SQLite, where a commit flushes to the disk (synchronous=FULL), or on PostgreSQL, and two
processes of players who know their moves in advance. In the same run, a bare echo server measures what the gRPC library
alone can do on this machine: it has messages of the same sizes on as many streams, driven in the same way, and its
rounds alternate with the arbiter's. A baseline server measures the least work that every arbiter on these libraries
must do for a move, whatever else it guarantees (`arbiter.bench.bare`): its own lines are interpreted, and on a second
baseline server compiled, where the server's modules are. Ratios are medians of paired rounds.

On PostgreSQL the database has a share of the same processors. So the goals there are for the server's own processor
time, with a tenth more than on SQLite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from arbiter.bench.loads import LoadPlan, measure_loads
from arbiter.bench.plans import LOADS, ON_POSTGRES, MovesPlan, Section
from arbiter.bench.playing_server import PlayingServer, RoundResult, bare, playing
from arbiter.bench.processes import BenchProcess
from arbiter.bench.report import TIMES, Bound, Progress, Report, percentile, ratio
from arbiter.runtime.build import is_compiled

ECHO: Final = "arbiter.bench.echo"


THINK_MS: Final = 20.0  #: of bots that think
OF_BARE_RATE: Final = 0.8  #: goal: moves a second, of the bare path's
OF_ECHO: Final = 18  #: goal: moves a second, in percent of the echo's messages
TOGETHER_OF_BARE_US: Final = 0.65  #: goal: processor time over two streams, of the bare path's with a stream a player


def bench_moves(plan: MovesPlan, progress: Progress) -> Report:
    """Measure everything; takes about seven minutes with the default plan."""
    where = "PostgreSQL" if plan.store else "SQLite with synchronous=FULL"
    report = Report("moves", f"durable moves on Play streams, {where}")
    for section in plan.sections:
        SECTIONS[section](plan, report, progress)
    return report


def _at_once(plan: MovesPlan, report: Report, progress: Progress) -> None:
    """Measure pairs of players, with one stream and match each, who answer at once. The rate's goal is for these."""
    matches, built = plan.matches, is_compiled()
    with ExitStack() as stack:
        enter, moves = stack.enter_context, plan.most_moves
        contests = [enter(playing(matches, 1, moves, 0.0, plan.folder, plan.profile, store=plan.store))]
        contests += [
            enter(bare(matches, moves, 0.0, plan.folder, plan.store, compiled=compiled))
            for compiled in (False, True)[: 1 + built]
        ]
        like, *_ = [contest.round(plan.warm_up_s) for contest in contests]
        with _echoing(2 * matches, matches, like) as echo:
            (rounds, *of_bare), echoes = _alternate(plan, contests, echo, progress, f"{matches} pairs")
    echoed = [rate for rate, _ in echoes]
    goal = plan.on_sqlite(5_000)
    report.median("moves_per_s", f"{matches} matches, a stream a player", _rates(rounds), "moves/s", goal)
    report.median("echo_per_s", f"bare echo, {matches} messages under way", echoed, "messages/s")
    shares, goal = _shares(_rates(rounds), echoed), plan.on_sqlite(OF_ECHO)
    report.median("share_of_echo", "moves as a share of the echo", shares, "%", goal)
    report.median("server_us_per_move", "the server's processor time", _spent(rounds), "µs a move")
    for (key, whose), least in zip(_BARE, of_bare, strict=False):
        report.median(f"{key}_moves_per_s", f"{whose}: rules, chain, commit, two messages", _rates(least), "moves/s")
        report.median(f"{key}_share_of_echo", f"{whose}: as a share of the echo", _shares(_rates(least), echoed), "%")
        report.median(f"{key}_us_per_move", f"{whose}: processor time", _spent(least), "µs a move")
        goal = plan.on_sqlite(OF_BARE_RATE) if key == "bare" else None
        ratios = _ratios(_rates(rounds), _rates(least))
        report.median(f"{key}_rate_ratio", f"moves a second, of {whose}'s", ratios, TIMES, goal)
        goal = ON_POSTGRES / OF_BARE_RATE if plan.store and key == "bare" else None
        ratios = _ratios(_spent(rounds), _spent(least))
        report.median(f"{key}_us_ratio", f"processor time a move, of {whose}'s", ratios, TIMES, goal, Bound.MOST)
    report.median("players_us_per_move", "the players' processor time", [i.players_us for i in rounds], "µs a move")
    report.median("echo_us", "the echo server's processor time", [us for _, us in echoes], "µs a message")
    report.median("moves_per_commit", "moves in a commit", [item.group for item in rounds], "moves")
    for stage in rounds[0].stages:
        report.median(f"stage: {stage}", f"· {stage}", [item.stages[stage] for item in rounds], "µs a move")


_BARE: Final = (("bare", "the bare path"), ("compiled_bare", "the compiled bare path"))


def _coalesced(plan: MovesPlan, report: Report, progress: Progress) -> None:
    """Measure two bots who play all matches against each other over one stream each, so that messages are batched.

    The bare path beside them has a stream for each player: the ratio shows what a bot saves that shares its stream.
    """
    matches = plan.matches
    with (
        playing(1, matches, plan.most_moves, 0.0, plan.folder, plan.profile, store=plan.store) as two,
        bare(matches, plan.most_moves, 0.0, plan.folder, plan.store) as least,
    ):
        like = two.round(plan.warm_up_s)
        least.round(plan.warm_up_s)
        with _echoing(2, 2, like) as echo:
            what = f"{matches} matches of two bots"
            (rounds, of_bare), echoes = _alternate(plan, (two, least), echo, progress, what)
    together = [item.moves_a_message for item in rounds]
    report.median("coalesced_moves_per_s", f"{matches} matches of two bots, one stream each", _rates(rounds), "moves/s")
    report.median("coalesced_moves_per_message", "moves in a message", together, "moves")
    report.median(
        "coalesced_echo_per_s", "bare echo of such messages, two under way", [r for r, _ in echoes], "messages/s"
    )
    report.median("coalesced_server_us", "the server's processor time", _spent(rounds), "µs a move")
    report.median("coalesced_bare_us", "that of the bare path with a stream a player", _spent(of_bare), "µs a move")
    title, goal = "processor time a move over two streams, of the bare path's", plan.of_processor(TOGETHER_OF_BARE_US)
    ratios = _ratios(_spent(rounds), _spent(of_bare))
    report.median("coalesced_us_ratio", title, ratios, TIMES, goal, Bound.MOST)


def _offered(plan: MovesPlan, report: Report, progress: Progress) -> None:
    """Measure loads that do not wait for answers (`arbiter.bench.loads`)."""
    size = LoadPlan(plan.matches, plan.rounds, plan.seconds, plan.offered or LOADS, plan.folder, plan.store)
    measure_loads(size, report, progress, ON_POSTGRES if plan.store else 1.0)


def _rates(rounds: Sequence[RoundResult]) -> list[float]:
    return [item.rate for item in rounds]


def _spent(rounds: Sequence[RoundResult]) -> list[float]:
    return [item.server_us for item in rounds]


def _ratios(these: Sequence[float], those: Sequence[float]) -> list[float]:
    return [ratio(this, that) for this, that in zip(these, those, strict=True)]


def _shares(these: Sequence[float], those: Sequence[float]) -> list[float]:
    return [100 * each for each in _ratios(these, those)]


def _thinking(plan: MovesPlan, report: Report, progress: Progress) -> None:
    """Measure pairs of players who think: how much later than its commit a move is acknowledged."""
    matches, think, seconds = plan.matches, THINK_MS, plan.rounds * plan.seconds
    with playing(matches, 1, plan.most_moves, think, plan.folder, plan.profile, store=plan.store) as thinkers:
        thinkers.round(plan.warm_up_s)
        progress(f"{matches} pairs who think {think:g} ms")
        found = thinkers.round(seconds)
    with bare(matches, plan.most_moves, think, plan.folder, plan.store) as thinkers:
        thinkers.round(plan.warm_up_s)
        progress(f"{matches} pairs who think {think:g} ms, on the bare path")
        least = thinkers.round(seconds)
    report.add("thinking_moves_per_s", f"{matches} matches, {think:g} ms of thought", found.rate, "moves/s")
    for percent, goal in ((50, 2), (99, 10)):
        ack, commit = percentile(found.latencies, percent), percentile(found.commits, percent)
        report.add(f"thinking_ack_p{percent}_ms", f"acknowledged, p{percent}", ack, "ms")
        report.add(f"thinking_commit_p{percent}_ms", f"commit, p{percent}", commit, "ms")
        title = f"acknowledged after its commit time, p{percent}"
        report.add(f"thinking_beyond_p{percent}_ms", title, ack - commit, "ms", plan.on_sqlite(goal), Bound.MOST)
        beyond = percentile(least.latencies, percent) - percentile(least.commits, percent)
        report.add(f"thinking_bare_p{percent}_ms", f"the same on the bare path, p{percent}", beyond, "ms")


def _many(plan: MovesPlan, report: Report, progress: Progress) -> None:
    """Measure many matches at one move a second each, and their memory before they begin."""
    many = plan.many
    progress(f"{many} matches: connecting {2 * many} players")
    with playing(many, 1, 0, 1_000, plan.folder, plan.profile, store=plan.store) as thinkers:
        progress(f"{many} matches at one move a second, for {plan.hold_s:g} s")
        found = thinkers.round(plan.hold_s)
    report.add(
        "many_moves_per_s", f"{many} matches at a move a second", found.rate, "moves/s", plan.on_sqlite(0.9 * many)
    )
    report.add("many_ack_p50_ms", "acknowledged, p50", percentile(found.latencies, 50), "ms")
    slowest, goal = percentile(found.latencies, 99), plan.on_sqlite(50)
    report.add("many_ack_p99_ms", "acknowledged, p99", slowest, "ms", goal, Bound.MOST)
    report.add("many_commit_p99_ms", "commit, p99", percentile(found.commits, 99), "ms")
    memory = thinkers.matches_bytes / 1024 / many
    report.add("match_kib", "memory of a live match and its two streams", memory, "KiB", 150, Bound.MOST)


SECTIONS: Final[Mapping[Section, Callable[[MovesPlan, Report, Progress], None]]] = {
    "at-once": _at_once,
    "coalesced": _coalesced,
    "offered": _offered,
    "thinking": _thinking,
    "many": _many,
}


@contextmanager
def _echoing(streams: int, busy: int, like: RoundResult) -> Iterator[tuple[BenchProcess, BenchProcess]]:
    """Start an echo server and its clients, with the message sizes of a round, on this many streams."""
    with BenchProcess(ECHO, answer_bytes=round(like.response_bytes)) as server:
        address = f"127.0.0.1:{server.next_answer()['port']}"
        request = round(like.request_bytes)
        with BenchProcess(ECHO, address=address, streams=streams, busy=busy, request_bytes=request) as clients:
            clients.next_answer()
            yield server, clients


def _alternate(
    plan: MovesPlan,
    playing_servers: Sequence[PlayingServer],
    echo: tuple[BenchProcess, BenchProcess],
    progress: Progress,
    what: str,
) -> tuple[list[list[RoundResult]], list[tuple[float, float]]]:
    """Play rounds of each contest alternately with the echo's, so that a disturbance of the machine affects all.

    Returns each contest's rounds, and for each round of the echo its messages a second and its server's microseconds
    per message.
    """
    rounds: list[list[RoundResult]] = [[] for _ in playing_servers]
    echoes: list[tuple[float, float]] = []
    server, clients = echo
    for number in range(1, plan.rounds + 1):
        progress(f"{what}: round {number} of {plan.rounds}")
        for playing_server, of_contest in zip(playing_servers, rounds, strict=True):
            of_contest.append(playing_server.round(plan.seconds))
        before = server.cpu_s()
        answers: dict[str, Any] = clients.ask(seconds=plan.seconds)
        exchanges = answers["exchanges"] or 1
        echoes.append((exchanges / answers["seconds"], (server.cpu_s() - before) / exchanges * 1e6))
    return rounds, echoes
