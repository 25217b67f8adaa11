"""The cost of ratings: a fit of many games among many players, in processor time and by the clock.

Games are drawn from the model itself, with a seed, between random pairs with random seats. The minimum of some runs is
the cost of the arithmetic; the other runs show how busy the machine is.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from math import exp
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Final

from arbiter.ratings.counts import Counts, RatedGame
from arbiter.ratings.fit import fit
from arbiter.ratings.model import ELO_PER_NAT

SEED: Final = 2026
RUNS: Final = 7
COURSES: Final = ((10, 200), (50, 5_000), (200, 20_000), (10_000, 100_000), (200, 1_000_000))
"""Numbers of players and games."""

LARGE: Final = 1_000  #: players; more are rated once instead of RUNS times
SPREAD: Final = 300.0  #: standard deviation of the players' strengths, in Elo


def bench_ratings(write: Callable[[str], None]) -> None:
    """Measure fits and write a table: milliseconds for counting the games, and for fitting the counts.

    The last column is the greatest resident memory of the process so far, in MB.
    """
    write("players     games   counting ms   fit ms: least   median   processor time   memory MB\n")
    for players, games in COURSES:
        drawn = list(_games(players, games))
        began = perf_counter()
        counts = Counts.of(drawn)
        counting = perf_counter() - began
        by_clock, by_processor = zip(*(_timed(counts) for _ in range(1 if players > LARGE else RUNS)), strict=True)
        times = (counting, min(by_clock), median(by_clock), min(by_processor))
        counted, least, middle, processor = (1000 * each for each in times)
        milliseconds = f"{counted:13.1f} {least:15.1f} {middle:8.1f} {processor:16.1f}"
        write(f"{players:7,} {games:9,} {milliseconds} {_memory_mb():11.0f}\n")


def _memory_mb() -> float:
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def _timed(counts: Counts) -> tuple[float, float]:
    clock, processor = perf_counter(), process_time()
    fit(counts)
    return perf_counter() - clock, process_time() - processor


def _games(players: int, games: int) -> list[RatedGame]:
    rng = Random(SEED)
    strength = {f"player-{number:05}": rng.gauss(0, SPREAD) / ELO_PER_NAT for number in range(players)}
    names, drawn = list(strength), []
    for _ in range(games):
        seat1, seat2 = rng.sample(names, 2)
        u = strength[seat1] - strength[seat2] + 0.1
        win1, win2 = exp(u / 2), exp(-u / 2)
        place = rng.random() * (win1 + win2 + 0.3)
        drawn.append(RatedGame(seat1, seat2, 1 if place < win1 else 2 if place < win1 + win2 else 0))
    return drawn
