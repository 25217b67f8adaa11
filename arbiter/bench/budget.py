"""The budget: how much one player, within its limits, delays the moves of others and adds to the server's memory.

Pairs of players play matches. Beside them one player attacks the server, each time in another way: it reads all events
from the beginning, again and again, on as many streams as its limits allow; it opens these streams and reads nothing;
it watches all new events; it makes cheap calls at its full rate; it makes calls with long answers at its full rate;
it asks for the boards of long games, and for long lists of moves; it makes calls that are refused, as fast as it can.
Visitors of the page attack too: they ask for everything that it has, on few connections and on many, or read no answer.
At last one player does all of that at once; then it does so with visitors and callers from its address; then ten such
players from ten addresses do. Rounds with and without the attack alternate, so that other work on the machine affects
both.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import combinations
from typing import Any, Final, NamedTuple

from arbiter_protos.v1 import player_pb2

from arbiter.bench.plans import BudgetPlan
from arbiter.bench.playing_server import connected
from arbiter.bench.processes import BenchProcess
from arbiter.bench.report import TIMES, Bound, Progress, Report, percentile
from arbiter.bench.scripts import GAME, SCRIPTS, scripts
from arbiter.bench.server_process import ServerProcess, opened
from arbiter.config import Limits

PLAYER: Final = "player"  #: all attacks of one player at once
ADDRESS: Final = "address"  #: all attacks at once, from one address
ADDRESSES: Final = "addresses"  #: all of them from as many addresses as `MANY` says, with a player at each
MANY: Final = 10
READERS: Final = "arbiter.bench.readers"
CALLERS: Final = "arbiter.bench.callers"
VISITORS: Final = "arbiter.bench.visitors"
HISTORY_RATE: Final = 3_000.0  #: moves a second for which enough matches are created
THINK_MS: Final = 50.0
SETTLE_S: Final = 1.0
AFTER_S: Final = 3.0  #: after this time the server has returned free memory to the system
MOST_TIMES: Final = 2.0  #: goal: p99 of a move under attack, as a multiple of that without
LONGEST_MS: Final = 10.0  #: goal: processor time of a step of the event loop
UNREAD_MIB: Final = 64.0  #: goal: memory that a player who does not read adds to the server
MIB: Final = 1 << 20


class Attacker(BenchProcess):
    """A process that attacks. As if it had a machine of its own, server and players get a processor before it does."""

    COMMAND = ("nice", "-n", "19", *BenchProcess.COMMAND)


class AttackPlan(NamedTuple):
    """An attack: a process and its plan, or several attacks at once.

    memory: goal for the memory that it adds to the server, in MiB; or None. of_player: it needs no more than a player.
    """

    name: str
    what: str
    module: str = ""
    plan: Mapping[str, Any] = {}
    memory: float | None = None
    parts: Sequence[AttackPlan] = ()
    of_player: bool = True

    @contextmanager
    def running(self) -> Iterator[list[Attacker]]:
        """Run the attack; yield its processes, all of which have begun."""
        with ExitStack() as stack:
            attackers = [stack.enter_context(Attacker(each.module, **each.plan)) for each in self.parts or (self,)]
            for attacker in attackers:
                attacker.next_answer()
            yield attackers


def bench_budget(plan: BudgetPlan, progress: Progress) -> Report:
    """Measure the latency of moves with and without each attack, and the server's memory."""
    report = Report("budget", f"{plan.pairs} pairs who think {THINK_MS:g} ms, beside one player who attacks")
    games = scripts(GAME, SCRIPTS)
    limits = {"calls_a_second": Limits().calls_a_second}  # which other benchmarks raise
    with opened(
        plan.folder, limits=limits, web=True, store=plan.store, web_process=plan.web_process, steps=plan.steps
    ) as server_process:
        pairs = [(f"first-{n}", f"second-{n}") for n in range(plan.pairs)]
        history = _make_history(plan, server_process, games, report, progress)
        attacks = list(_chosen(plan, *(_attacks(plan, server_process, history, many) for many in (1, MANY))))
        moves = 3 * len(attacks) * plan.rounds * (plan.seconds + 2 * SETTLE_S) * 1_000 / THINK_MS
        tokens = [server_process.tokens([pair[side] for pair in pairs]) for side in (0, 1)]
        made = server_process.matches(GAME, pairs * (2 + int(moves / min(map(len, games)))))
        with connected([server_process.address], tokens, games, made, 1, THINK_MS) as players:
            _round(plan.seconds, server_process.server, players)  # whatever is slow once
            before = server_process.server.resident_bytes()
            for attack in attacks:
                _measure(plan, attack, server_process, players, before, report, progress)
            progress("until the memory is given back")
            time.sleep(AFTER_S)
            grown = (server_process.server.resident_bytes() - before) / MIB
            report.add("left_mib", "memory more, after all", grown, "MiB")
    return report


def _make_history(
    plan: BudgetPlan, server_process: ServerProcess, games: list[list[str]], report: Report, progress: Progress
) -> str:
    """Play moves that can be read afterwards; return a match of them."""
    progress("making history")
    tokens = [server_process.tokens([player]) for player in ("first", "second")]
    matches = 1 + int(HISTORY_RATE * plan.history_s / min(map(len, games)))
    made = server_process.matches(GAME, [("first", "second")] * matches)
    with connected([server_process.address], tokens, games, made, 16, 0.0) as makers:
        for side in reversed(makers):
            side.send(seconds=plan.history_s)
        moves = sum(side.next_answer()["moves"] for side in makers)
    report.add("history", "moves on record", moves, "moves")
    return made[0]


def _attacks(plan: BudgetPlan, server_process: ServerProcess, match_id: str, many: int) -> list[AttackPlan]:
    """Return each attack, by this many players from as many addresses. match_id: of a long match that is over."""
    readers = server_process.tokens([f"reader-{many}-{n}" for n in range(many)], player_pb2.SCOPE_OBSERVE)
    streams = {"address": server_process.address, "tokens": readers}
    return [
        AttackPlan(
            "reading",
            f"reads history on {plan.reading} streams",
            READERS,
            streams | {"streams": plan.reading, "after": "0", "reads": True},
        ),
        AttackPlan(
            "unread",
            f"asks for it on {plan.unread} and reads nothing",
            READERS,
            streams | {"streams": plan.unread, "after": "0", "reads": False},
            UNREAD_MIB if many == 1 else None,
        ),
        AttackPlan(
            "watching",
            f"watches all on {plan.watching}",
            READERS,
            streams | {"streams": plan.watching, "after": "", "reads": True},
        ),
        *_calls(plan, server_process, readers, match_id),
        *_moves(plan, server_process, many),
        *_visits(plan, server_process, match_id, many),
    ]


def _calls(
    plan: BudgetPlan, server_process: ServerProcess, tokens: Sequence[str], match_id: str
) -> Iterator[AttackPlan]:
    """Yield the attacks by calls that are answered."""
    methods = (
        ("calling", "GetPlayer", plan.calling, f"makes {plan.calling} calls at once, again and again"),
        ("listing", "ListMatches", plan.listing, f"reads the longest lists, {plan.listing} at once"),
        ("looking", "GetMatch", plan.listing, f"looks at a match that is over, {plan.listing} times at once"),
        ("playing", "PlayMoves", plan.playing, f"asks for the boards of a long game, {plan.playing} times at once"),
        ("steps", "LegalMoves", plan.playing, f"asks for moves with their steps, {plan.playing} times at once"),
    )
    of = {"address": server_process.address, "tokens": tokens, "match_ids": [match_id] * len(tokens)}
    for name, method, at_once, what in methods:
        yield AttackPlan(name, what, CALLERS, of | {"method": method, "at_once": at_once})


def _moves(plan: BudgetPlan, server_process: ServerProcess, many: int) -> Iterator[AttackPlan]:
    """Yield the attacks by what has no rate as long as it is play: moves, acts and Play streams."""
    names = [f"refused-{many}-{n}" for n in range(many)]
    tokens = server_process.tokens(names)
    matches = server_process.matches(GAME, [(name, name) for name in names])
    methods = (
        ("opening", "Play", plan.opening, f"opens Play streams that are refused, {plan.opening} at once"),
        ("refused", "SubmitMove", plan.opening, f"sends moves that are refused, {plan.opening} at once"),
        ("moving", "SubmitMoves", 1, "sends such moves on a stream"),
        ("repeating", "Repeat", plan.playing, f"sends one move again and again, {plan.playing} at once"),
        ("acting", "Acts", 1, "sends acts on its Play stream that are refused"),
    )
    for name, method, at_once, what in methods:
        of = {"address": server_process.address, "tokens": tokens, "match_ids": matches}
        yield AttackPlan(name, what, CALLERS, of | {"method": method, "at_once": at_once})


def _chosen(plan: BudgetPlan, attacks: Sequence[AttackPlan], by_many: Sequence[AttackPlan]) -> Iterator[AttackPlan]:
    """Yield the attacks to measure: those of the plan, each two of these if it says so, and all there are at once."""
    chosen = [each for each in attacks if not plan.only or each.name in plan.only]
    yield from chosen
    if plan.two:
        for one, other in combinations(chosen, 2):
            yield AttackPlan(f"{one.name}_{other.name}", f"{one.what}, and {other.what}", parts=(one, other))
    together = (
        AttackPlan(PLAYER, "does all of these at once", parts=[each for each in attacks if each.of_player]),
        AttackPlan(ADDRESS, "does all of these at once, with visitors and callers from one address", parts=attacks),
        AttackPlan(ADDRESSES, f"is one of {MANY} who do so from {MANY} addresses", parts=by_many),
    )
    yield from (each for each in together if not plan.only or each.name in plan.only)


def _visits(plan: BudgetPlan, server_process: ServerProcess, match_id: str, many: int) -> Iterator[AttackPlan]:
    """Yield the attacks without a token: on the page, and by calls."""
    addresses = [f"127.0.0.{1 + n}" for n in range(many)]
    of_match = ("", "/animation.svg", "/picture.svg", "/moves.txt", "/plies")
    paths = ["/static/page.css", "/nothing", "/sign-in", "/keys.json", "/"]
    paths += [f"/matches/{match_id}{file}" for file in of_match]
    everything = {"page": server_process.page, "paths": paths, "addresses": addresses}
    of = {"address": server_process.address, "tokens": [""] * many, "match_ids": [match_id] * many}
    for name, method, what in (
        ("asking", "ListGames", "asks for games"),
        ("missing", "Nothing", "calls what is not there"),
    ):
        yield AttackPlan(
            name,
            f"{what} without a token, {plan.calling} times at once",
            CALLERS,
            of | {"method": method, "at_once": plan.calling},
            of_player=False,
        )
    yield AttackPlan(
        "styling",
        "asks for the style sheet on 8 connections",
        VISITORS,
        everything | {"paths": paths[:1], "connections": 8, "reads": True},
        of_player=False,
    )
    yield AttackPlan(
        "visiting",
        f"asks for pages on {plan.visiting} connections",
        VISITORS,
        everything | {"connections": plan.visiting, "reads": True},
        of_player=False,
    )
    yield AttackPlan(
        "flooding",
        f"asks on {plan.flooding} connections and reads nothing",
        VISITORS,
        everything | {"connections": plan.flooding, "reads": False},
        UNREAD_MIB if many == 1 else None,
        of_player=False,
    )


class _Round(NamedTuple):
    """cpu: the share of a processor that the server used."""

    seconds: float
    moves: int
    latencies: list[float]
    cpu: float

    @property
    def p99(self) -> float:
        return percentile(self.latencies, 99)


def _round(seconds: float, server: BenchProcess, players: tuple[BenchProcess, ...]) -> _Round:
    """Play a round; if it was too short for any move, play one that is twice as long."""
    began = server.cpu_s()
    for side in reversed(players):
        side.send(seconds=seconds)
    answers = [side.next_answer() for side in players]
    latencies = [ms for side in answers for ms in side["latencies"]]
    if not latencies:
        return _round(2 * seconds, server, players)
    return _Round(seconds, sum(side["moves"] for side in answers), latencies, (server.cpu_s() - began) / seconds)


def _measure(
    plan: BudgetPlan,
    attack: AttackPlan,
    server_process: ServerProcess,
    players: tuple[BenchProcess, ...],
    before: int,
    report: Report,
    progress: Progress,
) -> None:
    """Play rounds without and with an attack, in turn; add the medians of their p99, and the memory, to the report."""
    server, name = server_process.server, attack.name
    alone, beside, grown, found = list[_Round](), list[_Round](), 0.0, Counter[str]()
    longest: tuple[float, str] = (0.0, "")
    for number in range(plan.rounds):
        progress(f"one player {attack.what}: round {number + 1} of {plan.rounds}")
        alone.append(_round(plan.seconds, server, players))
        with attack.running() as attackers:
            time.sleep(min(SETTLE_S, plan.seconds))
            server.ask()
            beside.append(_round(plan.seconds, server, players))
            longest = max(longest, tuple(server.ask()["longest"]))
            grown = max(grown, (server.resident_bytes() - before) / MIB)
            found = Counter[str]()
            for attacker in attackers:
                found.update(attacker.ask())
        time.sleep(min(SETTLE_S, plan.seconds))
    for title, rounds, key in (("alone", alone, f"{name}_alone"), (f"beside one who {attack.what}", beside, name)):
        seconds = sum(each.seconds for each in rounds)
        report.add(f"{key}_moves_per_s", f"moves, {title}", sum(each.moves for each in rounds) / seconds, "moves/s")
        latencies = [ms for each in rounds for ms in each.latencies]
        report.add(f"{key}_p50_ms", "acknowledged, p50", percentile(latencies, 50), "ms")
        report.median(f"{key}_p99_ms", "acknowledged, p99, median of the rounds", [r.p99 for r in rounds], "ms")
        report.median(f"{key}_cpu", "the server's share of a processor", [100 * r.cpu for r in rounds], "%")
    ratios = [after.p99 / without.p99 for without, after in zip(alone, beside, strict=True)]
    title = f"beside one who {attack.what}: p99 of that alone, median of the pairs of rounds"
    report.median(f"{name}_ratio", title, ratios, TIMES, MOST_TIMES, Bound.MOST)
    if plan.steps:
        step = f"longest step of the event loop, of a processor's time: {longest[1]}"
        report.add(f"{name}_step_ms", step, longest[0], "ms", LONGEST_MS, Bound.MOST)
    report.add(f"{name}_mib", "memory more, at most", grown, "MiB", attack.memory, Bound.MOST)
    report.add(f"{name}_read_mib", "read in the last round", found["bytes"] / MIB, "MiB")
    if "calls" in found:
        report.add(f"{name}_calls", "calls answered in the last round", found["calls"], "calls")
        report.add(f"{name}_refused", "calls refused in the last round", found["refused"], "calls")
