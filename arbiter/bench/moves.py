"""Durable moves on real Play streams: rate, latency of the acknowledgement, and memory of a match.

There is one server process on SQLite, where a commit flushes to the disk (synchronous=FULL), and two processes of
players who know their moves in advance. In the same run, a bare echo server measures what the gRPC library alone can do
on this machine: it has messages of the same sizes on as many streams, driven in the same way, and its rounds alternate
with the arbiter's. A baseline server measures the least work that every arbiter on these libraries must do for a move,
whatever else it guarantees (`arbiter.bench.bare`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

from arbiter.bench.playing_server import PlayingServer, RoundResult, bare, playing
from arbiter.bench.processes import BenchProcess
from arbiter.bench.report import Bound, Progress, Report, percentile

FASTEST: Final = 12_000  #: moves a second for which enough matches are created
ECHO: Final = "arbiter.bench.echo"
WARM_UP_S: Final = 1.0


Section = Literal["at-once", "coalesced", "thinking", "many"]
EVERYTHING: Final[tuple[Section, ...]] = ("at-once", "coalesced", "thinking", "many")


@dataclass(frozen=True, slots=True)
class MovesPlan:
    """The size of the measurement: matches at once, rounds, their seconds, how long matches are held, the folder.

    `profile`: the server's stages are timed too, which itself takes time.
    """

    matches: int = 64
    rounds: int = 5
    seconds: float = 3.0
    many: int = 1_000
    hold_s: float = 60.0
    think_ms: float = 20.0
    folder: Path | None = None
    profile: bool = False
    only: Sequence[Section] = EVERYTHING

    @property
    def warm_up_s(self) -> float:
        """The time of play before the measurement begins: as long as a round, but at most WARM_UP_S."""
        return min(WARM_UP_S, self.seconds)

    @property
    def most_moves(self) -> float:
        """The maximum number of moves if nobody thinks."""
        return FASTEST * (self.rounds * self.seconds + self.warm_up_s)


def bench_moves(plan: MovesPlan, progress: Progress) -> Report:
    """Measure everything; takes about five minutes with the default plan."""
    report = Report("moves", "durable moves on Play streams, SQLite with synchronous=FULL")
    for section in plan.only:
        SECTIONS[section](plan, report, progress)
    return report


def _at_once(plan: MovesPlan, report: Report, progress: Progress) -> None:
    """Measure pairs of players, with one stream and match each, who answer at once. The rate's goal is for these."""
    matches = plan.matches
    with (
        playing(matches, 1, plan.most_moves, 0.0, plan.folder, plan.profile) as ours,
        bare(matches, plan.most_moves, 0.0, plan.folder) as least,
    ):
        like = ours.round(plan.warm_up_s)
        least.round(plan.warm_up_s)
        with _echoing(2 * matches, matches, like) as echo:
            (rounds, bare_rounds), echoes = _alternate(plan, (ours, least), echo, progress, f"{matches} pairs")
    rate, echoed = median(item.rate for item in rounds), median(rate for rate, _ in echoes)
    bare_rate = median(item.rate for item in bare_rounds)
    report.add("moves_per_s", f"{matches} matches, a stream a player", rate, "moves/s", 5_000)
    report.add("bare_moves_per_s", "the bare path: rules, chain, commit, two messages", bare_rate, "moves/s")
    report.add("echo_per_s", f"bare echo, {matches} messages under way", echoed, "messages/s")
    report.add("share_of_echo", "moves as a share of the echo", _share(rate, echoed), "%", 25)
    report.add("bare_share_of_echo", "the bare path's moves as a share of the echo", _share(bare_rate, echoed), "%")
    for key, whose, of_contest in (("server", "the server's", rounds), ("bare", "the bare path's", bare_rounds)):
        spent = median(item.server_us for item in of_contest)
        report.add(f"{key}_us_per_move", f"{whose} processor time", spent, "µs a move")
    report.add("players_us_per_move", "the players' processor time", median(i.players_us for i in rounds), "µs a move")
    report.add("echo_us", "the echo server's processor time", median(us for _, us in echoes), "µs a message")
    report.add("moves_per_commit", "moves in a commit", median(item.group for item in rounds), "moves")
    for stage in rounds[0].stages:
        spent = median(item.stages[stage] for item in rounds)
        report.add(f"stage: {stage}", f"· {stage}", spent, "µs a move")


def _coalesced(plan: MovesPlan, report: Report, progress: Progress) -> None:
    """Measure two bots who play all matches against each other over one stream each, so that messages are batched."""
    matches = plan.matches
    with playing(1, matches, plan.most_moves, 0.0, plan.folder, plan.profile) as two:
        like = two.round(plan.warm_up_s)
        with _echoing(2, 2, like) as echo:
            (rounds,), echoes = _alternate(plan, (two,), echo, progress, f"{matches} matches of two bots")
    rate, echoed = median(item.rate for item in rounds), median(rate for rate, _ in echoes)
    together = median(item.moves_a_message for item in rounds)
    report.add("coalesced_moves_per_s", f"{matches} matches of two bots, one stream each", rate, "moves/s")
    report.add("coalesced_moves_per_message", "moves in a message", together, "moves")
    report.add("coalesced_echo_per_s", "bare echo of such messages, two under way", echoed, "messages/s")
    report.add("coalesced_server_us", "the server's processor time", median(i.server_us for i in rounds), "µs a move")


def _share(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def _thinking(plan: MovesPlan, report: Report, progress: Progress) -> None:
    """Measure pairs of players who think: how much later than its commit a move is acknowledged."""
    matches, think, seconds = plan.matches, plan.think_ms, plan.rounds * plan.seconds
    with playing(matches, 1, plan.most_moves, think, plan.folder, plan.profile) as thinkers:
        thinkers.round(plan.warm_up_s)
        progress(f"{matches} pairs who think {think:g} ms")
        found = thinkers.round(seconds)
    with bare(matches, plan.most_moves, think, plan.folder) as thinkers:
        thinkers.round(plan.warm_up_s)
        progress(f"{matches} pairs who think {think:g} ms, on the bare path")
        least = thinkers.round(seconds)
    report.add("thinking_moves_per_s", f"{matches} matches, {think:g} ms of thought", found.rate, "moves/s")
    for percent, goal in ((50, 2), (99, 10)):
        ack, commit = percentile(found.latencies, percent), percentile(found.commits, percent)
        report.add(f"thinking_ack_p{percent}_ms", f"acknowledged, p{percent}", ack, "ms")
        report.add(f"thinking_commit_p{percent}_ms", f"commit, p{percent}", commit, "ms")
        title = f"acknowledged after its commit time, p{percent}"
        report.add(f"thinking_beyond_p{percent}_ms", title, ack - commit, "ms", goal, Bound.MOST)
        beyond = percentile(least.latencies, percent) - percentile(least.commits, percent)
        report.add(f"thinking_bare_p{percent}_ms", f"the same on the bare path, p{percent}", beyond, "ms")


def _many(plan: MovesPlan, report: Report, progress: Progress) -> None:
    """Measure many matches at one move a second each, and their memory before they begin."""
    many = plan.many
    progress(f"{many} matches: connecting {2 * many} players")
    with playing(many, 1, 0, 1_000, plan.folder, plan.profile) as thinkers:
        progress(f"{many} matches at one move a second, for {plan.hold_s:g} s")
        found = thinkers.round(plan.hold_s)
    report.add("many_moves_per_s", f"{many} matches at a move a second", found.rate, "moves/s", 0.9 * many)
    report.add("many_ack_p50_ms", "acknowledged, p50", percentile(found.latencies, 50), "ms")
    report.add("many_ack_p99_ms", "acknowledged, p99", percentile(found.latencies, 99), "ms", 50, Bound.MOST)
    report.add("many_commit_p99_ms", "commit, p99", percentile(found.commits, 99), "ms")
    memory = thinkers.matches_bytes / 1024 / many
    report.add("match_kib", "memory of a live match and its two streams", memory, "KiB", 150, Bound.MOST)


SECTIONS: Final[Mapping[Section, Callable[[MovesPlan, Report, Progress], None]]] = {
    "at-once": _at_once,
    "coalesced": _coalesced,
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
