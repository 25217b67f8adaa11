"""Durable moves on real Play streams: how many a second, how soon acknowledged, and what a match costs in memory.

One server process on SQLite, where a commit is a flush of the disk (synchronous=FULL); players in two other processes,
who know their games by heart. What the gRPC library itself can do on this machine is measured in the same run, turn by
turn: a bare echo server with messages of the same sizes on as many streams, driven in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

from arbiter.bench.parts import Part
from arbiter.bench.report import Bound, Progress, Report, percentile
from arbiter.bench.scripts import scripts
from arbiter.bench.venue import Venue, opened

GAME: Final = "circle-of-life(target=60)"  #: an end by rules after 60 moves at the earliest
SCRIPTS: Final = 12
FASTEST: Final = 12_000  #: moves a second for which there are matches enough
PLAYERS: Final = "arbiter.bench.players"
ECHO: Final = "arbiter.bench.echo"
WARM_UP_S: Final = 1.0


Section = Literal["at-once", "coalesced", "thinking", "many"]
EVERYTHING: Final[tuple[Section, ...]] = ("at-once", "coalesced", "thinking", "many")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: matches at once, rounds of so many seconds, matches held for how long, in what folder.

    `profile`: the server's stages are timed too, which takes time itself.
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


@dataclass(frozen=True, slots=True)
class Round:
    """What one round found: moves a second, processor time a move of both sides, latencies, commits, message sizes."""

    rate: float
    server_us: float
    players_us: float
    latencies: list[float]
    commits: list[float]
    group: float
    request_bytes: float
    response_bytes: float
    moves_a_message: float
    stages: dict[str, float]


def bench_moves(plan: Plan, progress: Progress) -> Report:
    """Measure all of it; takes about three minutes with the plan as it is."""
    report = Report("moves", "durable moves on Play streams, SQLite with synchronous=FULL")
    for section in plan.only:
        SECTIONS[section](plan, report, progress)
    return report


def _at_once(plan: Plan, report: Report, progress: Progress) -> None:
    """Pairs of players, a stream and a match each, who answer at once: the goal for the rate is for these."""
    matches = plan.matches
    with _playing(plan, pairs=matches, at_once=1) as (venue, players):
        first = _round(venue, players, WARM_UP_S)
        with _echoing(2 * matches, matches, first) as (echo, clients):
            rounds, echoes = _alternate(plan, venue, players, (echo, clients), progress, f"{matches} pairs")
    rate, bare = median(item.rate for item in rounds), median(rate for rate, _ in echoes)
    report.add("moves_per_s", f"{matches} matches, a stream a player", rate, "moves/s", 5_000)
    report.add("echo_per_s", f"bare echo, {matches} messages under way", bare, "messages/s")
    report.add("share_of_echo", "moves as a share of the echo", 100 * rate / bare if bare else 0.0, "%", 25)
    report.add("server_us_per_move", "the server's processor time", median(i.server_us for i in rounds), "µs a move")
    report.add("players_us_per_move", "the players' processor time", median(i.players_us for i in rounds), "µs a move")
    report.add("echo_us", "the echo server's processor time", median(us for _, us in echoes), "µs a message")
    report.add("moves_per_commit", "moves in a commit", median(item.group for item in rounds), "moves")
    for stage in rounds[0].stages:
        spent = median(item.stages[stage] for item in rounds)
        report.add(f"stage: {stage}", f"· {stage}", spent, "µs a move")


def _coalesced(plan: Plan, report: Report, progress: Progress) -> None:
    """Two bots who play all matches against each other, over one stream each: what is ready travels together."""
    matches = plan.matches
    with _playing(plan, pairs=1, at_once=matches) as (venue, players):
        first = _round(venue, players, WARM_UP_S)
        with _echoing(2, 2, first) as (echo, clients):
            rounds, echoes = _alternate(
                plan, venue, players, (echo, clients), progress, f"{matches} matches of two bots"
            )
    rate, bare = median(item.rate for item in rounds), median(rate for rate, _ in echoes)
    together = median(item.moves_a_message for item in rounds)
    report.add("coalesced_moves_per_s", f"{matches} matches of two bots, one stream each", rate, "moves/s")
    report.add("coalesced_moves_per_message", "moves in a message", together, "moves")
    report.add("coalesced_echo_per_s", "bare echo of such messages, two under way", bare, "messages/s")
    report.add("coalesced_server_us", "the server's processor time", median(i.server_us for i in rounds), "µs a move")


def _thinking(plan: Plan, report: Report, progress: Progress) -> None:
    """Pairs of players who think: how much later than its commit a move is acknowledged."""
    matches, think = plan.matches, plan.think_ms
    with _playing(plan, pairs=matches, at_once=1, think_ms=think) as (venue, players):
        _round(venue, players, WARM_UP_S)
        progress(f"{matches} pairs who think {think:g} ms")
        found = _round(venue, players, plan.rounds * plan.seconds)
    report.add("thinking_moves_per_s", f"{matches} matches, {think:g} ms of thought", found.rate, "moves/s")
    for percent, goal in ((50, 2), (99, 10)):
        ack, commit = percentile(found.latencies, percent), percentile(found.commits, percent)
        report.add(f"thinking_ack_p{percent}_ms", f"acknowledged, p{percent}", ack, "ms")
        report.add(f"thinking_commit_p{percent}_ms", f"commit, p{percent}", commit, "ms")
        title = f"acknowledged after its commit time, p{percent}"
        report.add(f"thinking_beyond_p{percent}_ms", title, ack - commit, "ms", goal, Bound.MOST)


def _many(plan: Plan, report: Report, progress: Progress) -> None:
    """Many matches at one move a second each; before they begin, what they cost in memory."""
    many = plan.many
    progress(f"{many} matches: connecting {2 * many} players")
    with _playing(plan, pairs=many, at_once=1, think_ms=1_000, reserve=1) as (venue, players):
        resident = venue.server.resident_bytes() - venue.resident_before
        progress(f"{many} matches at one move a second, for {plan.hold_s:g} s")
        found = _round(venue, players, plan.hold_s)
    report.add("many_moves_per_s", f"{many} matches at a move a second", found.rate, "moves/s", 0.9 * many)
    report.add("many_ack_p50_ms", "acknowledged, p50", percentile(found.latencies, 50), "ms")
    report.add("many_ack_p99_ms", "acknowledged, p99", percentile(found.latencies, 99), "ms", 50, Bound.MOST)
    report.add("many_commit_p99_ms", "commit, p99", percentile(found.commits, 99), "ms")
    memory = resident / 1024 / many
    report.add("match_kib", "memory of a live match and its two streams", memory, "KiB", 150, Bound.MOST)


SECTIONS: Final[Mapping[Section, Callable[[Plan, Report, Progress], None]]] = {
    "at-once": _at_once,
    "coalesced": _coalesced,
    "thinking": _thinking,
    "many": _many,
}


@contextmanager
def _playing(
    plan: Plan, pairs: int, at_once: int, think_ms: float = 0.0, reserve: int = 0
) -> Iterator[tuple[Venue, tuple[Part, Part]]]:
    """Open a venue with pairs of players, connected, in a process for each side.

    `at_once` matches a pair are played at a time; there are `reserve` for each, or as many as the plan may need.
    """
    games = scripts(GAME, SCRIPTS)
    shortest = min(len(moves) for moves in games)
    moves = FASTEST * (plan.rounds * plan.seconds + WARM_UP_S) / (1 + think_ms)
    reserve = reserve or 2 + int(moves / shortest / (pairs * at_once))
    with opened(plan.folder, plan.profile) as venue, ExitStack() as stack:
        names = [(f"first-{n}", f"second-{n}") for n in range(pairs)]
        tokens = [venue.tokens([pair[side] for pair in names]) for side in (0, 1)]
        venue.resident_before = venue.server.resident_bytes()
        made = venue.matches(GAME, [pair for _ in range(reserve * at_once) for pair in names])
        known = {match: number % len(games) for number, match in enumerate(made)}
        sides = [
            stack.enter_context(
                Part(
                    PLAYERS,
                    address=venue.address,
                    tokens=tokens[side],
                    scripts=games,
                    matches=known,
                    at_once=at_once,
                    think_ms=think_ms,
                )
            )
            for side in (0, 1)
        ]
        for side in sides:
            side.hear()
        yield venue, (sides[0], sides[1])


def _round(venue: Venue, players: Sequence[Part], seconds: float) -> Round:
    """Let everybody play for a while."""
    parts = (venue.server, *players)
    venue.server.ask()
    before = [part.cpu_s() for part in parts]
    for side in reversed(players):  # whoever answers first moves is told first
        side.tell(seconds=seconds)
    heard = [side.hear() for side in players]
    spent = [part.cpu_s() - used for part, used in zip(parts, before, strict=True)]
    served = venue.server.ask()
    moves = sum(side["moves"] for side in heard) or 1
    sent, received = ([sum(pair) for pair in zip(*(side[way] for side in heard), strict=True)] for way in _WAYS)
    return Round(
        rate=moves / heard[0]["seconds"],
        server_us=spent[0] / moves * 1e6,
        players_us=sum(spent[1:]) / moves * 1e6,
        latencies=[ms for side in heard for ms in side["latencies"]],
        commits=[seconds * 1_000 for _, seconds in served["commits"]],
        group=sum(writes for writes, _ in served["commits"]) / max(1, len(served["commits"])),
        request_bytes=sent[1] / max(1, sent[0]),
        response_bytes=received[1] / max(1, received[0]),
        moves_a_message=moves / max(1, sent[0]),
        stages={stage: seconds / moves * 1e6 for stage, seconds in served["stages"].items()},
    )


_WAYS: Final = ("sent", "received")


@contextmanager
def _echoing(streams: int, busy: int, like: Round) -> Iterator[tuple[Part, Part]]:
    """Open an echo server whose messages are of the sizes that a round had, with clients on so many streams."""
    with Part(ECHO, answer_bytes=round(like.response_bytes)) as server:
        address = f"127.0.0.1:{server.hear()['port']}"
        request = round(like.request_bytes)
        with Part(ECHO, address=address, streams=streams, busy=busy, request_bytes=request) as clients:
            clients.hear()
            yield server, clients


def _alternate(
    plan: Plan, venue: Venue, players: Sequence[Part], echo: tuple[Part, Part], progress: Progress, what: str
) -> tuple[list[Round], list[tuple[float, float]]]:
    """Play rounds with the echo's in between, so that what disturbs the machine disturbs both.

    Returns the rounds, and of the echo's each messages a second and its server's microseconds a message.
    """
    rounds: list[Round] = []
    echoes: list[tuple[float, float]] = []
    server, clients = echo
    for number in range(1, plan.rounds + 1):
        progress(f"{what}: round {number} of {plan.rounds}")
        rounds.append(_round(venue, players, plan.seconds))
        before = server.cpu_s()
        heard: dict[str, Any] = clients.ask(seconds=plan.seconds)
        exchanges = heard["exchanges"] or 1
        echoes.append((exchanges / heard["seconds"], (server.cpu_s() - before) / exchanges * 1e6))
    return rounds, echoes
