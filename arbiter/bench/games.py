"""The cost of the rules: for each game, one move, all moves, and whole random games.

Figures are for one process on one core. "Play" validates and plays one move in mid-game, without the list of legal
moves; "list" lists them. Both are medians over the middle third of random games. Random games list the moves at every
ply; their rate is per second of processor time, so that other work on the machine has little influence; where the rules
run in a process of their own, as those of a package do in a server, it is per second. All games are derived from a
seed, so that two runs, or two machines, play the same ones.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from time import monotonic, perf_counter_ns, process_time
from typing import Any, Final

from arbiter.config import Limits
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.games.pods import Pods
from arbiter.workers.plugin_games import plugins_apart

SEED: Final = 2026
SAMPLES: Final = 1_500  #: minimum number of moves that are played for the median
LISTINGS: Final = 300  #: maximum number of lists of moves that are timed
SAMPLING_S: Final = 3.0  #: seconds after which no further game is played for the medians
GAMES_S: Final = 4.0  #: seconds of random games; the current game is finished
APART: Final = 60  #: games that are drawn for rules in another process, whose last answers are kept

Lister = Callable[[AnyGame, Any], Sequence[str]]
"""What a random game chooses from in a position, each move as likely as another."""


def every_move(game: AnyGame, position: Any) -> Sequence[str]:
    """List the legal moves."""
    return game.moves(position)


def placing(game: AnyGame, position: Any) -> Sequence[str]:
    """List the placements in Pods; the migrations only if there is no placement."""
    assert isinstance(game, Pods)
    return game.placements(position) or game.moves(position)


@dataclass(frozen=True, slots=True)
class Course:
    """A row of the table: a variant, the moves from which its random games choose, and the goals (None: no goal).

    apart: its rules run in a process of their own.
    """

    variant: str
    play_us: float | None = None
    games_a_second: float | None = None
    lister: Lister = every_move
    remark: str = ""
    move_us: float | None = None
    apart: bool = False


COURSES: Final = (
    Course("circle-of-life", 25, 1_000),
    Course("hop-it", 40, 800),
    Course("pondlife", 100, 60),
    Course("elevation", 100),
    Course("pods", 200, 8),
    Course("pods", None, 100, placing, "placing whenever possible"),
    Course("othello"),
    Course("openspiel-othello"),
    Course("openspiel-othello", remark="in a process of its own", apart=True),
    Course("connect-four"),
    Course("openspiel-connect_four"),
    Course("breakthrough"),
    Course("openspiel-breakthrough"),
    Course("hex"),
    Course("openspiel-hex"),
    Course("chess", move_us=40),
    Course("openspiel-chess"),
    Course("chess960", move_us=40),
    Course("go", move_us=30),
    Course("openspiel-go(board_size=9)"),
    Course("checkers"),
    Course("openspiel-checkers"),
    Course("amazons"),
    Course("openspiel-amazons", remark="three of its moves are a turn"),
)
"""The rows. Those of OpenSpiel are measured as the arbiter plays them, if the package that adds them is installed."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The results: microseconds, and games a second with their number of plies."""

    play_us: float
    move_us: float
    list_us: float
    listed: float
    games_a_second: float
    plies: float


def bench_games(write: Callable[[str], object], courses: Sequence[Course] = COURSES, games_s: float = GAMES_S) -> None:
    """Measure every course and write a table, row by row as the results arrive. Takes about a minute."""
    write(f"Rules on one core, Python {sys.version.split()[0]}, seed {SEED}. A goal stands behind each figure.\n\n")
    heading = f"{'game':<28}{'play µs':>16}{'move µs':>16}{'list µs':>10}{'moves':>8}{'games/s':>18}{'plies':>8}\n"
    write(heading + "-" * (len(heading) - 1) + "\n")
    there = registry.names()
    for course in (course for course in courses if course.variant.partition("(")[0] in there):
        found = asyncio.run(_measured_apart(course, games_s)) if course.apart else measure(course, games_s)
        write(
            f"{course.variant:<28}"
            f"{_with_goal(found.play_us, course.play_us, found.play_us <= (course.play_us or 0)):>16}"
            f"{_with_goal(found.move_us, course.move_us, found.move_us <= (course.move_us or 0)):>16}"
            f"{found.list_us:>10,.1f}{found.listed:>8,.0f}"
            f"{_with_goal(found.games_a_second, course.games_a_second, _fast(found, course)):>18}"
            f"{found.plies:>8,.0f}{'  ' + course.remark if course.remark else ''}\n"
        )
    write("\n✓ goal met, ✗ goal missed, – no goal\n")


async def _measured_apart(course: Course, games_s: float) -> Figures:
    here = registry.game(course.variant)
    drawn = [moves for moves, _ in zip(_drawn_games(here, course.lister), range(APART), strict=False)]
    async with plugins_apart(Limits()):
        return await asyncio.to_thread(measure, course, games_s, drawn)


def measure(course: Course, games_s: float = GAMES_S, drawn: Iterable[list[str]] | None = None) -> Figures:
    """Return the figures of a course. drawn: the games whose moves are timed, if they are not drawn here."""
    game, now = registry.game(course.variant), monotonic if course.apart else process_time
    plays: list[tuple[int, int]] = []
    lists: list[int] = []
    listed: list[int] = []
    started = now()
    for moves in drawn or _drawn_games(game, course.lister):
        _time_one(game, moves, course.lister, plays, lists, listed)
        if len(plays) >= SAMPLES or now() - started > SAMPLING_S:
            break
    random, games, plies, started = Random(SEED), 0, 0, now()
    while now() - started < games_s:
        plies += len(_draw_game(game, course.lister, random))
        games += 1
    seconds = now() - started
    play, move = (median(times) / 1_000 for times in zip(*plays, strict=True))
    return Figures(play, move, median(lists) / 1_000, median(listed), games / seconds, plies / games)


def _drawn_games(game: AnyGame, lister: Lister) -> Iterator[list[str]]:
    random = Random(SEED)
    while True:
        yield _draw_game(game, lister, random)


def _draw_game(game: AnyGame, lister: Lister, random: Random) -> list[str]:
    position, played = game.initial(), []
    while moves := lister(game, position):
        played.append(moves[int(random.random() * len(moves))])
        position = game.play(position, played[-1])
    return played


def _time_one(
    game: AnyGame,
    moves: Sequence[str],
    lister: Lister,
    plays: list[tuple[int, int]],
    lists: list[int],
    listed: list[int],
) -> None:
    """Replay a random game on positions that have not computed their moves yet, and time its middle third."""
    position = game.initial()
    for ply, move in enumerate(moves):
        started = perf_counter_ns()
        after = game.play(position, move)
        ended = perf_counter_ns()
        _, _ = after.outcome, game.text(after)
        written = perf_counter_ns()
        if len(moves) <= 3 * ply < 2 * len(moves):
            plays.append((ended - started, written - started))
            if len(lists) < LISTINGS:
                started = perf_counter_ns()
                listed.append(len(lister(game, position)))
                lists.append(perf_counter_ns() - started)
        position = after


def _fast(found: Figures, course: Course) -> bool:
    return found.games_a_second >= (course.games_a_second or 0)


def _with_goal(figure: float, goal: float | None, met: bool) -> str:
    shown = f"{figure:,.0f}" if figure >= 100 else f"{figure:,.1f}"
    return f"{shown} –     " if goal is None else f"{shown} {'✓' if met else '✗'} {goal:>5,g}"
