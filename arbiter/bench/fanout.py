"""Fan-out: how many events a second reach observers, how soon after their commit, and what that costs the players.

The pace of play asks for a tenth more deliveries a second than the goal. So the benchmark measures the delay of a
server that keeps up, not a queue that grows without end. When a round of play begins, its moves are not yet evenly
spread. So the measurement window opens after all matches are under way. Every event that is committed in the window
must reach every observer, however late.

Beside it there are two other servers. A baseline server writes messages to as many observers: at the same pace, and in
another window one at a time, each long after the one before. And the same matches are played at the same pace on a
server without observers: what its players wait for the acknowledgement of a move is compared with what the players
beside observers wait. All processes stay connected, and the windows of the three servers take turns. A ratio is that of
two windows of one round, and the median of the rounds counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NamedTuple

from arbiter_protos.v1 import player_pb2

from arbiter.bench.plans import FanoutPlan
from arbiter.bench.playing_server import PlayingServer, connected, matches_for
from arbiter.bench.processes import BenchError, BenchProcess
from arbiter.bench.report import TIMES, Bound, Progress, Report, percentile, ratio
from arbiter.bench.scripts import GAME, SCRIPTS, scripts
from arbiter.bench.server_process import ServerProcess, opened

OBSERVERS: Final = "arbiter.bench.observers"
BARE: Final = "arbiter.bench.bare_fanout"
OF_BARE: Final = 1.25  #: goal: the most times the bare server's delay
ALONE_S: Final = 0.25  #: seconds between two events of the baseline server: each is delivered long before the next
PERCENTS: Final = (50, 99)


class _Observed(NamedTuple):
    """A window with observers: deliveries a second, their delays, latencies of acknowledgements (both in ms).

    server_us, observers_us: processor time in µs a delivery.
    """

    rate: float
    delays: Sequence[float]
    acks: Sequence[float]
    server_us: float
    observers_us: float


class _Round(NamedTuple):
    """The windows of one round.

    paced, single: the baseline server's delays in ms, with messages at the same pace and one at a time. alone:
    latencies of acknowledgements without observers in ms.
    """

    observed: _Observed
    paced: Sequence[float]
    single: Sequence[float]
    alone: Sequence[float]


class _Contest(NamedTuple):
    """All processes: three servers, the players of two of them, the observers of two of them."""

    observed: PlayingServer
    observers: BenchProcess
    alone: PlayingServer
    bare: BenchProcess
    bare_observers: BenchProcess


def bench_fanout(plan: FanoutPlan, progress: Progress) -> Report:
    """Play matches at a steady pace while observers follow every move; measure rate, delay, and the players' latency.

    Raises BenchError if an event did not reach all observers.
    """
    report = Report("fanout", f"{plan.observers} observers of all {plan.matches} matches, a stream each")
    rounds = []
    with _connected(plan, progress) as contest:
        for number in range(1, plan.rounds + 1):
            progress(f"{plan.offered / plan.observers:g} moves a second: round {number} of {plan.rounds}")
            rounds.append(_round(plan, contest, number))
    _add_deliveries(report, rounds)
    _add_acknowledgements(report, rounds)
    return report


@contextmanager
def _connected(plan: FanoutPlan, progress: Progress) -> Iterator[_Contest]:
    """Start all processes, and connect them."""
    with ExitStack() as stack:
        progress("making matches on two servers")
        server_process, observed = stack.enter_context(_played(plan))
        _, alone = stack.enter_context(_played(plan))
        (eye,) = server_process.tokens(["observer"], player_pb2.SCOPE_OBSERVE)
        bare = stack.enter_context(BenchProcess(BARE))
        bare_address = f"127.0.0.1:{bare.next_answer()['port']}"
        groups = []
        for whose, address, token in (("", server_process.address, eye), ("bare server: ", bare_address, "")):
            progress(f"{whose}connecting {plan.observers} observers")
            group = BenchProcess(OBSERVERS, address=address, token=token, observers=plan.observers)
            groups.append(stack.enter_context(group))
            group.next_answer()
        yield _Contest(observed, groups[0], alone, bare, groups[1])


@contextmanager
def _played(plan: FanoutPlan) -> Iterator[tuple[ServerProcess, PlayingServer]]:
    """Start a server with the players of all matches."""
    games = scripts(GAME, SCRIPTS)
    pairs = [(f"first-{n}", f"second-{n}") for n in range(plan.matches)]
    unlimited = {"streams_of_player": plan.observers, "observer_messages_a_second": 1_000_000}
    with opened(plan.folder, limits=unlimited) as server_process:
        tokens = [server_process.tokens([pair[side] for pair in pairs]) for side in (0, 1)]
        made = server_process.matches(GAME, pairs * matches_for(games, plan.moves))
        address = [server_process.address]
        with connected(address, tokens, games, made, 1, 1_000 * plan.think_s) as players:
            yield server_process, PlayingServer(server_process.server, players)


def _round(plan: FanoutPlan, contest: _Contest, number: int) -> _Round:
    """Measure the four windows; every second round takes them in the opposite order."""
    pace_s = plan.observers / plan.offered
    if number % 2:
        single, paced = _bare(plan, contest, ALONE_S), _bare(plan, contest, pace_s)
        observed = _observed(plan, contest)
        return _Round(observed, paced, single, _alone(plan, contest))
    alone = _alone(plan, contest)
    observed = _observed(plan, contest)
    paced, single = _bare(plan, contest, pace_s), _bare(plan, contest, ALONE_S)
    return _Round(observed, paced, single, alone)


def _observed(plan: FanoutPlan, contest: _Contest) -> _Observed:
    """Play while observers follow."""
    parts = (contest.observed.server, contest.observers)
    before = [part.cpu_s() for part in parts]
    begin = time.monotonic() + plan.lead_s
    played = contest.observed.round(plan.lead_s + plan.seconds)
    spent = [part.cpu_s() - used for part, used in zip(parts, before, strict=True)]
    durable = [event for event in played.durable if begin <= event[-1] < begin + plan.seconds]
    delays = _delays(plan, contest.observers, durable)
    server_us, observers_us = (1e6 * each / (len(played.durable) * plan.observers) for each in spent)
    return _Observed(len(delays) / plan.seconds, delays, played.latencies, server_us, observers_us)


def _alone(plan: FanoutPlan, contest: _Contest) -> Sequence[float]:
    """Play without observers; return the latency of each acknowledgement, in milliseconds."""
    return contest.alone.round(plan.lead_s + plan.seconds).latencies


def _bare(plan: FanoutPlan, contest: _Contest, every_s: float) -> Sequence[float]:
    """Have the baseline server write messages; return the delay of each at each observer, in milliseconds."""
    events = max(1, round(plan.seconds / every_s))
    return _delays(plan, contest.bare_observers, contest.bare.ask(events=events, every_s=every_s)["durable"])


def _delays(plan: FanoutPlan, observers: BenchProcess, durable: list[Any]) -> list[float]:
    """Return the delay of each event at each observer, in milliseconds.

    Raises BenchError if an event did not reach all of them.
    """
    delays: list[float] = observers.ask(durable=durable)["latencies"]
    if not len(delays) == len(durable) * plan.observers > 0:
        raise BenchError(f"{len(delays)} deliveries of {len(durable)} events to {plan.observers} observers")
    return delays


def _add_deliveries(report: Report, rounds: Sequence[_Round]) -> None:
    """Add the figures of the observers, beside those of the bare server."""
    found = [each.observed for each in rounds]
    report.median("deliveries_per_s", "events delivered", [each.rate for each in found], "deliveries/s", 20_000)
    ours = {percent: [percentile(each.delays, percent) for each in found] for percent in PERCENTS}
    paced = {percent: [percentile(each.paced, percent) for each in rounds] for percent in PERCENTS}
    single = {percent: [percentile(each.single, percent) for each in rounds] for percent in PERCENTS}
    report.median("delivery_p50_ms", "from commit to observer, p50", ours[50], "ms")
    report.median("delivery_p99_ms", "from commit to observer, p99", ours[99], "ms", 60, Bound.MOST)
    spent = [each.server_us for each in found]
    report.median("server_us_per_delivery", "the server's processor time", spent, "µs a delivery")
    spent = [each.observers_us for each in found]
    report.median("observers_us", "the observers' processor time", spent, "µs a delivery")
    for key, how, bare in (("paced", "at the same pace", paced), ("single", "with one message at a time", single)):
        for percent in PERCENTS:
            title = f"to an observer of a bare server {how}, p{percent}"
            report.median(f"bare_{key}_p{percent}_ms", title, bare[percent], "ms")
            title = f"from commit to observer, p{percent}, of the bare server's {how}"
            times = [ratio(this, that) for this, that in zip(ours[percent], bare[percent], strict=True)]
            report.median(f"delivery_{key}_p{percent}_ratio", title, times, TIMES, OF_BARE, Bound.MOST)


def _add_acknowledgements(report: Report, rounds: Sequence[_Round]) -> None:
    """Add the figures of the players, with observers and without."""
    for percent in PERCENTS:
        beside = [percentile(each.observed.acks, percent) for each in rounds]
        alone = [percentile(each.alone, percent) for each in rounds]
        pairs = list(zip(beside, alone, strict=True))
        report.median(f"ack_p{percent}_ms", f"a move acknowledged beside observers, p{percent}", beside, "ms")
        report.median(f"alone_ack_p{percent}_ms", f"the same without observers, p{percent}", alone, "ms")
        title = f"a move acknowledged later than without observers, p{percent}"
        report.median(f"ack_p{percent}_more_ms", title, [this - that for this, that in pairs], "ms")
        title = f"a move acknowledged beside observers, p{percent}, of that without"
        report.median(f"ack_p{percent}_ratio", title, [ratio(this, that) for this, that in pairs], TIMES)
