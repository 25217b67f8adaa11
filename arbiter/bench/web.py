"""Viewers: how many events a second reach browsers, how soon, and what that costs the moves of players.

Pairs of bots that answer at once play on all the time. Beside them one match and a grid of matches are played at the
pace of people. In every second round viewers watch these: each is a connection of its own, with the stream that the
page's script opens. Rounds with and without viewers take turns, and now the one, now the other comes first, so that
what else the machine does in these minutes weighs on both. A delivery is one event at one viewer.

What viewers cost the players is the ratio of what a player waits for its moves in the two rounds of a pair, at p50 and
at p99; the median of the pairs counts. Rounds are short and many: a burst of other work, or of time that the host of a
virtual machine takes, then spoils a few pairs and not the median. No pair is left out. How far the pairs lie apart is
in the report too. The processors are busy throughout, so whatever viewers use is missed by the players, what their
processes use to read included. The server's part of that is its processor time for a delivery: how much more it used
beside viewers than it uses for as many moves without them.

What a browser does with an event is measured afterwards, in Chromium (`arbiter.bench.browser`), with one match that is
played at a browser's pace; where there is no Chromium, these figures are left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from statistics import median
from typing import Any, Final, NamedTuple

from arbiter.bench.browser import lacking
from arbiter.bench.plans import WebPlan
from arbiter.bench.playing_server import connected
from arbiter.bench.processes import BenchError, BenchProcess
from arbiter.bench.report import TIMES, Bound, Progress, Report, percentile
from arbiter.bench.scripts import GAME, SCRIPTS, scripts
from arbiter.bench.server_process import ServerProcess, opened

VIEWERS: Final = "arbiter.bench.viewers"
BROWSER: Final = "arbiter.bench.browser"
BROWSER_THINK_S: Final = 0.1  #: how long a player of the match in Chromium thinks
BROWSER_TIMES: Final = 6  #: as long as another round is that in Chromium, for p99 to be more than the slowest update
MOST_UPDATE_MS: Final = 5.0  #: may a browser take to show an event
MOST_RATE: Final = 8_000  #: moves a second, at most, by which the number of matches is reckoned
MOST_TIMES: Final = 1.1  #: as long as without viewers may the players' moves take
LIMITS: Final = {
    "streams_of_player": 10_000,
    "calls_a_second": 100_000,
    "observer_messages_a_second": 1_000_000,
    "page_requests_a_second": 100_000,
    "page_connections": 10_000,
    "page_connections_of_address": 10_000,
}
"""All viewers come from one address, which else would count as one visitor."""


class _Round(NamedTuple):
    """A round: the players' moves a second and latencies; deliveries, their delays, and the server's processor time."""

    rate: float
    latencies: Sequence[float]
    seconds: float
    server_s: float
    delays: Sequence[float] = ()


Sides = tuple[BenchProcess, ...]


def bench_web(plan: WebPlan, progress: Progress) -> Report:
    """Measure deliveries and their delay, and the players' latency with and without viewers, in turn."""
    report = Report(
        "web",
        f"{plan.viewers} viewers of one match and {plan.grid_viewers} of a grid of {plan.grid}, "
        f"beside {plan.matches} matches of bots that answer at once",
    )
    games = scripts(GAME, SCRIPTS)
    with opened(plan.folder, limits=LIMITS, web=True) as server_process:
        pairs = [(f"first-{n}", f"second-{n}") for n in range(plan.matches)]
        moves = MOST_RATE * plan.seconds * (2 * plan.rounds + 1)
        tokens = [server_process.tokens([pair[side] for pair in pairs]) for side in (0, 1)]
        progress("making matches")
        made = server_process.matches(GAME, pairs * (1 + int(moves / len(pairs) / min(map(len, games)))))
        alone, beside = list[_Round](), list[_Round]()
        with connected([server_process.address], tokens, games, made, 1, 0.0) as players:
            _round(plan.seconds, players, (), server_process)  # whatever is slow once
            for number in range(plan.rounds):
                progress(f"round {number + 1} of {plan.rounds}")
                with _watched(plan, server_process, games, number) as (matches, people):
                    if number % 2:
                        beside.append(_beside(plan, server_process, players, people, matches))
                    alone.append(_round(plan.seconds, players, people, server_process))
                    if not number % 2:
                        beside.append(_beside(plan, server_process, players, people, matches))
        updates = _updates(plan, server_process, games, progress)
    _report(report, alone, beside)
    if updates:
        _report_updates(report, updates["updates"], updates["pictures"])
    return report


def _updates(
    plan: WebPlan, server_process: ServerProcess, games: list[list[str]], progress: Progress
) -> dict[str, Any]:
    """Return the times of a match in Chromium (see `arbiter.bench.browser`); empty without Chromium."""
    if why := lacking():
        progress(f"left out: a page's update in Chromium, because {why}")
        return {}
    progress("a match in Chromium")
    alone = replace(plan, grid=0, think_s=BROWSER_THINK_S)
    with (
        _watched(alone, server_process, games, plan.rounds) as ((match,), people),
        BenchProcess(BROWSER, page=server_process.page, match=match) as browser,
    ):
        browser.next_answer()
        for side in reversed(people):
            side.send(seconds=plan.seconds * BROWSER_TIMES)
        for side in people:
            side.next_answer()
        answer: dict[str, Any] = browser.ask()
    if not answer["updates"]:
        raise BenchError("no event reached the page in Chromium")
    return answer


@contextmanager
def _watched(
    plan: WebPlan, server_process: ServerProcess, games: list[list[str]], number: int
) -> Iterator[tuple[list[str], Sides]]:
    """Begin the matches that are watched in a round: the one, and those of the grid."""
    pairs = [(f"one-{number}-{n}", f"other-{number}-{n}") for n in range(1 + plan.grid)]
    tokens = [server_process.tokens([pair[side] for pair in pairs]) for side in (0, 1)]
    matches = server_process.matches(GAME, pairs)
    with connected([server_process.address], tokens, games, matches, 1, 1_000 * plan.think_s) as people:
        yield matches, people


def _round(seconds: float, players: Sides, people: Sides, server_process: ServerProcess) -> _Round:
    """Let all play for a while; return the moves and latencies of the bots that answer at once."""
    server_process.server.ask()
    begin, before = time.monotonic(), server_process.server.cpu_s()
    for side in (*reversed(people), *reversed(players)):
        side.send(seconds=seconds)
    answers = [side.next_answer() for side in players]
    for side in people:
        side.next_answer()
    rate = sum(side["moves"] for side in answers) / answers[0]["seconds"]
    spent, passed = server_process.server.cpu_s() - before, time.monotonic() - begin
    return _Round(rate, [ms for side in answers for ms in side["latencies"]], passed, spent)


def _beside(plan: WebPlan, server_process: ServerProcess, players: Sides, people: Sides, matches: list[str]) -> _Round:
    """Play a round while viewers watch. Raises BenchError if an event did not reach all of its viewers."""
    one, *grid = matches
    with BenchProcess(
        VIEWERS, page=server_process.page, match=one, viewers=plan.viewers, grid=grid, grid_viewers=plan.grid_viewers
    ) as viewers:
        viewers.next_answer()
        played = _round(plan.seconds, players, people, server_process)
        watched = set(matches)
        durable: list[Any] = [each for each in server_process.server.ask()["durable"] if each[0] in watched]
        delays = viewers.ask(durable=durable)["latencies"]
    expected = sum(plan.viewers if each[0] == one else plan.grid_viewers for each in durable)
    if not len(delays) == expected > 0:
        raise BenchError(f"{len(delays)} deliveries of {len(durable)} events, of which {expected} were due")
    return played._replace(delays=delays)


def _report(report: Report, alone: Sequence[_Round], beside: Sequence[_Round]) -> None:
    delays = [ms for each in beside for ms in each.delays]
    seconds = sum(each.seconds for each in beside)
    report.add("deliveries_per_s", "events delivered to viewers", len(delays) / seconds, "deliveries/s")
    report.add("delivery_p50_ms", "from commit to viewer, p50", percentile(delays, 50), "ms")
    report.add("delivery_p99_ms", "from commit to viewer, p99", percentile(delays, 99), "ms")
    pairs = list(zip(alone, beside, strict=True))
    more_us = [(b.server_s - a.server_s * len(b.latencies) / len(a.latencies)) / len(b.delays) * 1e6 for a, b in pairs]
    report.median("delivery_us", "the server's processor time for a delivery", more_us, "µs")
    for key, title, rounds in (("alone", "without viewers", alone), ("beside", "beside viewers", beside)):
        report.median(f"{key}_moves_per_s", f"moves, {title}", [each.rate for each in rounds], "moves/s")
        for percent in (50, 99):
            found = [percentile(each.latencies, percent) for each in rounds]
            report.median(f"{key}_p{percent}_ms", f"acknowledged, p{percent}, median of the rounds", found, "ms")
    for percent in (50, 99):
        ratios = [
            percentile(after.latencies, percent) / percentile(before.latencies, percent) for before, after in pairs
        ]
        title = f"p{percent} of that without viewers, median of the pairs of rounds"
        report.median(f"p{percent}_ratio", title, ratios, TIMES, MOST_TIMES, Bound.MOST)
        spread = median(abs(each - median(ratios)) for each in ratios)
        report.add(
            f"p{percent}_ratio_spread", f"half of the pairs are at most so far from it, p{percent}", spread, TIMES
        )


def _report_updates(report: Report, updates: Sequence[tuple[float, float]], pictures: Sequence[float]) -> None:
    passed, busy = zip(*updates, strict=True)
    title = "a page's update in Chromium, p50"
    report.add("update_p50_ms", title, percentile(passed, 50), "ms", MOST_UPDATE_MS, Bound.MOST)
    title = "a page's update in Chromium, p99"
    report.add("update_p99_ms", title, percentile(passed, 99), "ms", MOST_UPDATE_MS, Bound.MOST)
    for percent in (50, 99):
        title = f"of that, processor time of the page's thread, p{percent}"
        report.add(f"update_cpu_p{percent}_ms", title, percentile(busy, percent), "ms")
    for percent in (50, 99):
        title = f"the page's thread paints a frame after it, processor time, p{percent}"
        report.add(f"picture_cpu_p{percent}_ms", title, percentile(pictures, percent), "ms")
