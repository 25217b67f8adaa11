"""What an organiser measures: whole games by `arbiter tournament run`, beside the same bots with nothing in between.

The two bots play as many games at once as is asked, first long ones, then short ones: the difference tells what a move
costs, and what a game costs beside its moves. Processor time is read from the system, by process: the runner, its
server, the server's workers, the bots' own processes, and engines that these have started. Beside it a single process
asks the same bots for moves and applies the rules of the game (`arbiter.bench.direct`). Rounds of both alternate.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from arbiter.bench.plans import TournamentPlan
from arbiter.bench.processes import BenchError, BenchProcess, spent_s
from arbiter.bench.report import TIMES, Bound, Progress, Report, ratio
from arbiter.bench.scripts import GAME

BY_GRPC: Final = "--quiet"  #: arguments of a bundled bot that make it connect
LONG: Final = 60  #: plies of a long game; its rules end none of the usual variant earlier
SHORT: Final = 12
CHESS: Final = "chess"
OPENING: Final = 4  #: plies of the openings of engines
BASE_MB, GAME_MB = 1_024, 128  #: memory that a bot may take, and more of it for each game: its engines are processes
WARM_UP_GAMES: Final = 2  #: games for each one that is played at once, before the measurement
START_S: Final = 120.0  #: time for a run to play these
CYCLES: Final = 1_000  #: each is two games: more than are played
PARTS: Final = ("runner", "server", "workers", "bots", "engines")

MOST_MS_A_MOVE: Final = 0.35
MOST_MS_A_GAME: Final = 3.0
SHARES: Final[Mapping[int, float]] = {2: 0.5, 32: 0.75}  #: of the direct rate, by games at once

SERVER: Final = "arbiter.cli.tournament_run.hosting_server"  #: among the words of its process

_END: Final = re.compile(r", (\d+) pl(?:y|ies)$")


def _variant(plan: TournamentPlan) -> str:
    return plan.game or (CHESS if plan.uci else GAME)


class Played(NamedTuple):
    """What was measured: moves, games, seconds, and processor seconds by part."""

    moves: int
    games: int
    seconds: float
    spent: Mapping[str, float]

    @property
    def rate(self) -> float:
        """Moves a second."""
        return ratio(self.moves, self.seconds)


class _Round(NamedTuple):
    """direct: without the arbiter; stored: the same, if each move is stored before the next one is asked for."""

    long: Played
    short: Played
    direct: Played
    stored: Played


def bench_tournament(plan: TournamentPlan, progress: Progress) -> Report:
    """Measure tournaments by `tournament run`, and the same bots directly. Raises BenchError."""
    bots = f"{shlex.split(plan.uci)[0]} at one node" if plan.uci else "random by gRPC" if plan.network else "random"
    report = Report("tournament", f"two bots, {bots}, play {_variant(plan)}: games of {LONG} plies, and of {SHORT}")
    found: dict[int, list[_Round]] = {number: [] for number in plan.at_once}
    for number in range(1, plan.rounds + 1):
        for at_once in plan.at_once:
            progress(f"round {number} of {plan.rounds}: {at_once} at once")
            long, short = (_run(plan, at_once, plies) for plies in (LONG, SHORT))
            found[at_once].append(_Round(long, short, _direct(plan, at_once), _stored(plan, at_once)))
    for at_once, rounds in found.items():
        _add(report, at_once, rounds, bool(plan.uci))
    return report


def _add(report: Report, at_once: int, rounds: Sequence[_Round], goals: bool) -> None:
    """Add the figures for a number of games at once."""

    def add(key: str, title: str, values: Sequence[float], unit: str, goal: float | None = None) -> None:
        bound = Bound.LEAST if unit == TIMES else Bound.MOST
        wanted = goal if goals else None
        report.median(f"{key}_{at_once}", f"{at_once} at once: {title}", values, unit, wanted, bound)

    add("moves", "moves", [each.long.rate for each in rounds], "moves/s")
    add("short_games", f"games of {SHORT} plies", [each.short.games / each.short.seconds for each in rounds], "games/s")
    add("direct", "moves directly", [each.direct.rate for each in rounds], "moves/s")
    add("stored", "moves directly, each stored before", [each.stored.rate for each in rounds], "moves/s")
    share = [ratio(each.long.rate, each.direct.rate) for each in rounds]
    add("share", "moves, of those directly", share, TIMES, SHARES.get(at_once))
    ours = PARTS[:-1]
    for part in PARTS:
        if any(each.long.spent[part] for each in rounds):
            title = f"processor time of {part}, with what games cost"
            add(f"{part}_ms", title, [1e3 * each.long.spent[part] / each.long.moves for each in rounds], "ms a move")
    fits = [fit(each.long, each.short, ours) for each in rounds]
    add("move_ms", "all but engines, without games", [move for move, _ in fits], "ms a move", MOST_MS_A_MOVE)
    add("game_ms", "all but engines, without moves", [game for _, game in fits], "ms a game", MOST_MS_A_GAME)
    direct = [1e3 * each.direct.spent["bots"] / each.direct.moves for each in rounds]
    add("direct_ms", "processor time directly, without engines", direct, "ms a move")
    stored = [1e3 * each.stored.spent["bots"] / each.stored.moves for each in rounds]
    add("stored_ms", "the same, each stored before", stored, "ms a move")


def fit(long: Played, short: Played, parts: Sequence[str]) -> tuple[float, float]:
    """Return the milliseconds of processor time of a move and of a game, from runs of long and of short games.

    They solve: time = moves x the time of a move + games x the time of a game, for both runs.
    """
    (m1, g1, t1), (m2, g2, t2) = (
        (run.moves, run.games, 1e3 * sum(run.spent[part] for part in parts)) for run in (long, short)
    )
    size = m1 * g2 - m2 * g1
    return ratio(t1 * g2 - t2 * g1, size), ratio(m1 * t2 - m2 * t1, size)


# By `tournament run`


def _run(plan: TournamentPlan, at_once: int, plies: int) -> Played:
    """Measure a run of games of some plies."""
    with TemporaryDirectory(dir=plan.folder, prefix="arbiter-bench-") as folder:
        Path(folder).chmod(0o755)  # bots in a sandbox run as another user
        file = Path(folder) / "bench.toml"
        file.write_text(specification(plan, at_once, plies), encoding="utf-8")
        with _playing(file, at_once) as run:
            return _measured(run, plan.seconds, WARM_UP_GAMES * at_once)


def specification(plan: TournamentPlan, at_once: int, plies: int) -> str:
    """Return the tournament's file: two equal bots, this many games at once, which are drawn after some plies."""
    bot = f'uci = "{plan.uci}"\nnodes = 1\n' if plan.uci else f'bot = "random"\nargs = "{BY_GRPC * plan.network}"\n'
    bots = "".join(f'[[bots]]\nname = "{name}"\n{bot}' for name in ("one", "two"))
    opening = f'[openings]\nplies = {OPENING}\nseed = "bench"\n' if plan.uci else ""
    return (
        f'name = "Bench"\nformat = "round_robin"\ngames = ["{_variant(plan)}"]\ntime = "10m+10s"\nrated = false\n'
        f"at_once = {at_once}\n[options]\ncycles = {CYCLES}\n[adjudication]\nplies = {plies}\n{opening}"
        f"[sandbox]\nmemory_mb = {BASE_MB + at_once * GAME_MB}\n{bots}"
    )


@contextmanager
def _playing(file: Path, at_once: int) -> Iterator[subprocess.Popen[str]]:
    """Run a tournament inside the context, and stop it at its end."""
    run = ("tournament", "run", str(file), "--directory", str(file.with_name("runs")), "--concurrency", str(at_once))
    command = (sys.executable, "-m", "arbiter", *run)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def _measured(run: subprocess.Popen[str], seconds: float, warm_up: int) -> Played:
    """Read the ends of games that a run prints, and return what it did from one of them to another."""
    moves = games = 0
    began: tuple[float, Mapping[str, float]] | None = None
    give_up = time.monotonic() + START_S
    said = ""
    assert run.stdout is not None
    for line in run.stdout:
        ended = _END.search(line.rstrip())
        if ended is None:
            said = line.strip() or said
            continue
        games, moves = games + 1, moves + int(ended[1])
        now = time.monotonic()
        if began is None:
            if games >= warm_up:
                began, moves, games = (now, spent_by_part(run.pid)), 0, 0
            elif now > give_up:
                break
        elif now >= began[0] + seconds:
            spent = spent_by_part(run.pid)
            return Played(moves, games, now - began[0], {part: spent[part] - began[1][part] for part in PARTS})
    raise BenchError(f"the tournament ended after {games} games: {said}")


def spent_by_part(run: int) -> dict[str, float]:
    """Return the processor seconds of a run and of all that it has started, by part."""
    spent = dict.fromkeys(PARTS, 0.0)
    spent["runner"] += spent_s(run)

    def add(process: int, part: str) -> None:
        spent[part] += spent_s(process, with_ended=True)
        for child in _children(process):
            below = "workers" if part == "server" else part
            add(child, below if _is_ours(child) else "engines")

    for child in _children(run):
        words = _read(child, "cmdline").split("\0")
        add(child, "server" if SERVER in words else "bots")
    return spent


def _children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task")
    try:
        return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return []


def _is_ours(process: int) -> bool:
    """Return whether a process is Python or a sandbox, and no engine."""
    try:
        name = Path(f"/proc/{process}/exe").readlink().name
    except OSError:
        return True
    return name.startswith(("python", "bwrap"))


def _read(process: int, name: str) -> str:
    try:
        return Path(f"/proc/{process}/{name}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


# Directly


def _stored(plan: TournamentPlan, at_once: int) -> Played:
    """Measure the same as `_direct`, where each move is stored before the next one is asked for."""
    with TemporaryDirectory(dir=plan.folder, prefix="arbiter-bench-") as folder:
        return _direct(plan, at_once, f"{folder}/moves.db")


def _direct(plan: TournamentPlan, at_once: int, store: str = "") -> Played:
    """Measure the same bots in a process of their own, with nothing in between."""
    order = {
        "variant": _variant(plan),
        "uci": plan.uci,
        "at_once": at_once,
        "plies": LONG,
        "seconds": plan.seconds,
        "store": store,
    }
    with BenchProcess("arbiter.bench.direct", **order) as process:
        found = process.next_answer()
    return Played(found["moves"], found["games"], found["seconds"], {"bots": found["spent"]})
