"""How often 95 % intervals of ratings contain the true value, for records that fit the model and for others.

Each condition draws records with known strengths: every two players meet equally often with each seating, seat 1 is
worth 50 Elo, and two equal players draw 13 % of their games. Strengths are relative to the mean of the field, as the
ratings are. The results are: the share for all players' intervals, the share for the interval of the player that the
condition is about (the newest version, the outlier, one of either cluster), and the width of the intervals.

In the last conditions everybody meets only a few others. Whom a player meets may depend on the record so far, as on a
ladder. It may not depend on strengths that are known from elsewhere: then the schedule itself says who is strong, the
record does not, and the intervals do not hold (`Condition.ignorable`).

The intervals of one record are not independent, so the standard error counts records, and not players.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from arbiter.ratings.counts import Counts, PairCount
from arbiter.ratings.fit import fit
from arbiter.ratings.model import ELO_PER_NAT

SEED: Final = 2026
RECORDS: Final = 200  #: of each condition
ADVANTAGE: Final = 50.0  #: of seat 1, in Elo
NU: Final = 0.3  #: the draw parameter
NEAR: Final = 4  #: neighbours that a player meets on either side

COLUMNS: Final = ("condition", "all players", "width", "the player that it is about", "its width")

Truth = dict[str, float]
"""Strengths in Elo by player."""


Schedule = Callable[[np.random.Generator, Truth, Mapping[str, float]], Iterator[tuple[str, str]]]
"""Yields the pairs that meet, given the strengths, and the points so far; the points change while it is read."""


def everybody(rng: np.random.Generator, truth: Truth, points: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Yield all pairs."""
    return combinations(truth, 2)


def neighbours_by_lot(rng: np.random.Generator, truth: Truth, points: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Yield each player with the next NEAR in a random order."""
    return _neighbours([str(player) for player in rng.permutation(list(truth))])


def neighbours_by_truth(
    rng: np.random.Generator, truth: Truth, points: Mapping[str, float]
) -> Iterator[tuple[str, str]]:
    """Yield each player with the next NEAR by strength, which the record does not know."""
    return _neighbours(sorted(truth, key=truth.__getitem__))


def neighbours_by_points(
    rng: np.random.Generator, truth: Truth, points: Mapping[str, float]
) -> Iterator[tuple[str, str]]:
    """Yield 2 NEAR rounds in which players meet the next by points so far whom they have not met."""
    met: set[frozenset[str]] = set()
    for _ in range(2 * NEAR):
        lots = dict(zip(truth, rng.random(len(truth)), strict=True))
        free = sorted(truth, key=lambda player: (points[player], lots[player]))
        while free:
            one = free.pop(0)
            other = next((each for each in free if frozenset((one, each)) not in met), None)
            if other is not None:
                free.remove(other)
                met.add(frozenset((one, other)))
                yield one, other


def _neighbours(order: list[str]) -> Iterator[tuple[str, str]]:
    for place, player in enumerate(order):
        for other in order[place + 1 : place + 1 + NEAR]:
            yield player, other


@dataclass(frozen=True, slots=True)
class Condition:
    """A kind of record.

    name: as in the table. truth: draws the strengths. games: of each pair, an even number. effect: the standard
    deviation of the effects of pairs, in Elo. about: the player whose interval is reported separately; "": none.
    newest: games of that player, spread evenly over its opponents, if it is a new version; 0: as many as the others.
    schedule: yields the pairs that meet. copies: how often each game is played, with the same result, as bots without
    chance do from the same opening. known: whether the fit knows which games only repeat others, as from the log of a
    tournament. ignorable: whether the record says all that the schedule follows.
    """

    name: str
    truth: Callable[[np.random.Generator], Truth]
    games: int = 4
    effect: float = 0.0
    about: str = ""
    newest: int = 0
    schedule: Schedule = everybody
    copies: int = 1
    known: bool = False
    ignorable: bool = True


class Covered(NamedTuple):
    """The results of a condition: share of intervals that contain the true value, its standard error, the mean width.

    share_about, width_about: of the player that the condition is about. Widths in Elo.
    """

    share: float
    error: float
    width: float
    share_about: float
    width_about: float


def normal(players: int, spread: float) -> Callable[[np.random.Generator], Truth]:
    """Return a field with normally distributed strengths."""
    return lambda rng: _named(rng.normal(0, spread, players))


def outlier(players: int, spread: float, above: float) -> Callable[[np.random.Generator], Truth]:
    """Return a narrow field with a first player far above it."""
    return lambda rng: _named(rng.normal(0, spread, players) + above * (np.arange(players) == 0))


def clusters(players: int, spread: float, apart: float) -> Callable[[np.random.Generator], Truth]:
    """Return two narrow fields, with the first half of the players above the other half."""
    return lambda rng: _named(rng.normal(0, spread, players) + apart * (np.arange(players) < players // 2))


def version(players: int, spread: float, better: float) -> Callable[[np.random.Generator], Truth]:
    """Return a field in which the first player has a second version, which is stronger."""

    def draw(rng: np.random.Generator) -> Truth:
        truth = normal(players, spread)(rng)
        return truth | {"p00@2": truth["p00"] + better}

    return draw


def versions(players: int, spread: float, count: int) -> Callable[[np.random.Generator], Truth]:
    """Return a field in which the first player has so many more versions, all equally strong."""

    def draw(rng: np.random.Generator) -> Truth:
        truth = normal(players, spread)(rng)
        return truth | {f"p00@{number}": truth["p00"] for number in range(2, count + 2)}

    return draw


def _named(strengths: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Truth:
    return {f"p{number:02}": float(strength) for number, strength in enumerate(strengths)}


CONDITIONS: Final = (
    *(Condition(f"normal field, spread {spread}", normal(10, spread)) for spread in (150, 300, 600, 800)),
    Condition("normal field, spread 300, 4 players", normal(4, 300)),
    Condition("normal field, spread 300, 20 games a pair", normal(10, 300), 20),
    *(Condition(f"pair effects of {effect} Elo", normal(10, 300), 20, effect) for effect in (50, 100, 200)),
    Condition("each game played five times", normal(10, 300), copies=5),
    Condition("each game played five times, each counted once", normal(10, 300), copies=5, known=True),
    Condition("two players, each of 20 games ten times, each counted once", normal(2, 300), 20, copies=10, known=True),
    *(
        Condition(f"new version {better} Elo better, 20 games", version(10, 300, better), 8, about="p00@2", newest=20)
        for better in (0, 100, 200, 400)
    ),
    Condition("sixth version in a row unchanged, 20 games", versions(10, 300, 5), 8, about="p00@6", newest=20),
    *(Condition(f"one outlier of +{above} Elo", outlier(10, 50, above), about="p00") for above in (400, 800)),
    *(Condition(f"two clusters {apart} Elo apart", clusters(10, 100, apart), about="p00") for apart in (1200, 1600)),
    Condition("40 players, 8 met by lot", normal(40, 300), schedule=neighbours_by_lot),
    Condition("40 players, 8 met near them by points so far", normal(40, 300), schedule=neighbours_by_points),
    Condition(
        "40 players, 8 met near them by true strength", normal(40, 300), schedule=neighbours_by_truth, ignorable=False
    ),
)


def record(rng: np.random.Generator, condition: Condition) -> tuple[Truth, Counts]:
    """Draw a record: strengths relative to the mean of the field, and the counts of games."""
    truth = condition.truth(rng)
    mean = sum(truth.values()) / len(truth)
    truth = {player: strength - mean for player, strength in truth.items()}
    return truth, Counts(tuple(sorted(truth)), tuple(sorted(_rows(rng, condition, truth))))


def _rows(rng: np.random.Generator, condition: Condition, truth: Truth) -> Iterator[PairCount]:
    points: defaultdict[str, float] = defaultdict(float)
    opponents = sum(_name(player) != _name(condition.about) for player in truth)
    for a, b in condition.schedule(rng, truth, points):
        if _name(a) == _name(b):
            continue
        games = condition.games
        if condition.newest and condition.about in (a, b):
            games = round(condition.newest / opponents)
        effect = rng.normal(0, condition.effect) if condition.effect else 0.0
        for seat1, seat2, sign, share in ((a, b, 1, (games + 1) // 2), (b, a, -1, games // 2)):
            u = (truth[seat1] - truth[seat2] + sign * effect + ADVANTAGE) / ELO_PER_NAT
            weights = np.array([np.exp(u / 2), NU, np.exp(-u / 2)])
            wins1, draws, wins2 = rng.multinomial(share, weights / weights.sum()).tolist()
            points[seat1] += wins1 + draws / 2
            points[seat2] += wins2 + draws / 2
            if share:
                copies, repeated = condition.copies, (condition.copies - 1) * share if condition.known else 0
                yield PairCount(seat1, seat2, copies * wins1, copies * draws, copies * wins2, repeated)


def _name(player: str) -> str:
    return player.partition("@")[0]


def covered(condition: Condition, records: int = RECORDS, seed: int = SEED) -> Covered:
    """Return how often the intervals of some records of a condition contain the true value."""
    shares, widths, about, width_about = [], [], [], []
    for number in range(records):
        truth, counts = record(np.random.default_rng([seed, number]), condition)
        ratings = fit(counts)
        hits = {each.player: each.low <= truth[each.player] <= each.high for each in ratings.rated}
        shares.append(sum(hits.values()) / len(hits))
        widths.append(sum(each.high - each.low for each in ratings.rated) / len(hits))
        if condition.about:
            one = ratings.of(condition.about)
            about.append(hits[condition.about])
            width_about.append(one.high - one.low)
    error = float(np.std(shares)) / sqrt(records)
    nothing = float("nan")
    of_it = (float(np.mean(about)), float(np.mean(width_about))) if about else (nothing, nothing)
    return Covered(float(np.mean(shares)), error, float(np.mean(widths)), *of_it)


def bench_coverage(write: Callable[[str], object], records: int = RECORDS) -> None:
    """Measure every condition and write a row as soon as it is measured, as a table of Markdown."""
    write(f"{records} records of each condition, seed {SEED}; per cent of 95 % intervals that hold the truth\n\n")
    write(f"| {' | '.join(COLUMNS)} |\n|{' -- |' * len(COLUMNS)}\n")
    error = 0.0
    for condition in CONDITIONS:
        found = covered(condition, records)
        error = max(error, found.error)
        of_it = f"{100 * found.share_about:.0f} | {found.width_about:.0f}" if condition.about else " | "
        write(f"| {condition.name} | {100 * found.share:.1f} | {found.width:.0f} | {of_it} |\n")
    write(f"\nThe standard error of a share of all players is at most {100 * error:.1f}.\n")
