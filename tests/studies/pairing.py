"""How much better a ladder's pairs rate its players than random ones: a sentence of deploy/CHOOSING.md.

The players of a field have normal strengths. They play ROUNDS rounds of one game each, by the model of the ratings
(seat 1 is worth 50 Elo, two equal players draw 13 % of their games). After every second round the ladder gets the
ratings by the games so far, by the same fit that a server makes every ten seconds. At the end all games are rated by
that fit. The error of a field is the mean distance of a rating from the truth, both relative to the mean of the field.

All rules see the same fields and, as far as they choose the same pairs, the same games: the result of the n-th game of
two players follows from a number that is drawn for the two and n. So the ratio of two errors has a smaller standard
error than that of independent fields would have. It is estimated as ratios of sums are (Cochran 1977, chapter 6).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from math import exp, pi, sqrt
from typing import Final, Literal, NamedTuple

import numpy as np

from arbiter.ratings.counts import Counts, RatedGame
from arbiter.ratings.fit import FittedRatings, fit
from arbiter.ratings.model import ELO_PER_NAT
from arbiter.ratings.pairs import Z95
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import formats
from arbiter.tournaments.spec import Options, Spec
from tests.studies.coverage import ADVANTAGE, NU, SEED

COLUMNS: Final = (
    *("players", "spread", "fields", "measured", "as expected"),
    *("without ratings, measured", "without ratings, as expected"),
)
ROUNDS: Final = 16
LOOK_EVERY: Final = 2  #: rounds between two looks at the ratings


class FieldKind(NamedTuple):
    """Number of players of a field, spread of their strengths in Elo, and how many such fields are played."""

    players: int
    spread: float
    fields: int


CONDITIONS: Final = (
    FieldKind(12, 300, 240),
    FieldKind(12, 600, 120),
    FieldKind(40, 300, 64),
    FieldKind(40, 600, 32),
)
"""The fewer players and the narrower the spread, the more fields it takes to see a difference."""

_BY_STRENGTH: Final = next(format_ for format_, pairer in formats.PAIRERS.items() if pairer.pairs_by_strength)

Pairs = Sequence[tuple[str, str]]
"""Pairs of players; the first one has seat 1."""


class Rule(StrEnum):
    """Who meets whom."""

    LADDER = "ladder"  #: the pairs of a ladder that knows the ratings so far
    EVEN = "even"  #: the pairs of a ladder that knows no ratings: opponents who have met less often
    LOT = "lot"  #: random pairs


class Field(NamedTuple):
    """A field: its number, the spread of the strengths, and the strengths, in Elo and relative to their mean."""

    number: int
    spread: float
    truth: Mapping[str, float]


class Ratio(NamedTuple):
    """The ratio of two mean errors, and its standard error."""

    value: float
    error: float


def drawn(number: int, condition: FieldKind) -> Field:
    """Return the field with this number."""
    lots, players = random.Random(f"{SEED} {number}"), condition.players
    truth = {f"p{place:03}": lots.gauss(0, condition.spread) for place in range(players)}
    mean = sum(truth.values()) / players
    return Field(number, condition.spread, {player: strength - mean for player, strength in truth.items()})


def played(field: Field, rule: Rule, look_every: int = LOOK_EVERY) -> Sequence[RatedGame]:
    """Return the games of a field that is paired by a rule. look_every: rounds between two looks at the ratings."""
    lots = random.Random(f"{SEED} {field.number} pairs")
    run = TournamentRun(
        Spec("test", _BY_STRENGTH, ("hop-it",), "1s", paired=False, options=Options(validation=False)),
        len(field.truth),
        random.Random(field.number),
    )
    games: list[RatedGame] = []
    strengths: Mapping[str, formats.Strength] = {}
    for number in range(ROUNDS):
        if rule is Rule.LADDER and number and number % look_every == 0:
            strengths = _strengths(fit(Counts.of(games, field.truth)))
        for pair in _by_lot(run, lots) if rule is Rule.LOT else _by_ladder(run, strengths):
            games.append(_game(field, *pair, sum(set(pair) == {each.seat1, each.seat2} for each in games)))
    return games


def error(field: Field, games: Sequence[RatedGame]) -> float:
    """Return the mean distance, in Elo, of the ratings by some games from the truth."""
    rated = fit(Counts.of(games, field.truth)).rated
    return sum(abs(each.rating - field.truth[each.player]) for each in rated) / len(rated)


def expected_error(field: Field, games: Sequence[RatedGame]) -> float:
    """Return the expected error, in Elo, of ratings that are as good as the information in games of these pairs allows.

    It follows from who met, and not from who won, so it depends much less on luck. It is the normal approximation at
    the true strengths; the mean distance of a normal deviate is √(2/π).
    """
    place = {player: number for number, player in enumerate(field.truth)}
    players = len(field.truth)
    precision = np.eye(players) * (ELO_PER_NAT / field.spread) ** 2
    for (seat1, seat2), times in Counter((game.seat1, game.seat2) for game in games).items():
        win, _, loss = _chances(field.truth, seat1, seat2)
        information = times * ((win + loss) / 4 - ((win - loss) / 2) ** 2)
        a, b = place[seat1], place[seat2]
        precision[[a, b], [a, b]] += information
        precision[[a, b], [b, a]] -= information
    around = np.eye(players) - 1 / players
    covariance = around @ np.linalg.inv(precision) @ around
    return float(np.sqrt(covariance.diagonal()).mean() * sqrt(2 / pi) * ELO_PER_NAT)


def _strengths(ratings: FittedRatings) -> dict[str, formats.Strength]:
    return {each.player: formats.Strength(each.rating, (each.high - each.low) / (2 * Z95)) for each in ratings.rated}


def _by_lot(run: TournamentRun, lots: random.Random) -> Pairs:
    players = run.tournament.players
    order = lots.sample(players, len(players))
    return list(zip(order[::2], order[1::2], strict=True))


def _by_ladder(run: TournamentRun, strengths: Mapping[str, formats.Strength]) -> Pairs:
    tournament = run.tournament
    free = tournament.players
    field = formats.FreePlayers(free, dict.fromkeys(free, run.now), strengths, run.now)
    proposal = formats.of(tournament.spec).propose(tournament, field)
    assert proposal is not None
    run.act(proposal)
    for game in list(tournament.ready()):
        run.act(do.Begin(game.number, 1, f"m{game.number}"))
        run.act(do.ReportResult(game.number, f"m{game.number}", 0, "by lot", "rules"))
    return [(pair.first, pair.second) for pair in proposal.pairs]


def _chances(truth: Mapping[str, float], seat1: str, seat2: str) -> tuple[float, float, float]:
    """Return the probabilities that seat 1 wins, of a draw, and that seat 2 wins."""
    u = (truth[seat1] - truth[seat2] + ADVANTAGE) / ELO_PER_NAT
    win, loss = exp(u / 2), exp(-u / 2)
    total = win + NU + loss
    return win / total, NU / total, loss / total


def _game(field: Field, seat1: str, seat2: str, met: int) -> RatedGame:
    """Return the next game of two players, who have met so often."""
    one, two = sorted((seat1, seat2))
    luck = random.Random(f"{SEED} {field.number} {one} {two} {met}").random()
    win, draw, loss = _chances(field.truth, seat1, seat2)
    better, worse = (1, 2) if one == seat1 else (2, 1)
    if luck < (win if one == seat1 else loss):
        winner = better
    else:
        winner = 0 if luck < (win if one == seat1 else loss) + draw else worse
    outcome: Literal[0, 1, 2] = 0 if winner == 0 else 1 if winner == 1 else 2
    return RatedGame(seat1, seat2, outcome)


def ratio(errors: Sequence[float], others: Sequence[float]) -> Ratio:
    """Return the ratio of the sums of two errors of the same fields, with its standard error."""
    upper, lower = np.array(errors), np.array(others)
    value = upper.sum() / lower.sum()
    return Ratio(float(value), float(np.sqrt(((upper - value * lower) ** 2).sum()) / lower.sum()))


def bench_pairing(write: Callable[[str], object], most: int | None = None) -> None:
    """Measure every condition, and write a row as soon as it is measured, as a table of Markdown.

    most: how many fields of each condition are played at most.
    """
    write(f"{ROUNDS} games of each player, seed {SEED}: by how much the error is smaller, ± standard error\n\n")
    write(f"| {' | '.join(COLUMNS)} |\n|{' -- |' * len(COLUMNS)}\n")
    for condition in CONDITIONS:
        fields = min(condition.fields, most or condition.fields)
        errors: dict[Rule, list[float]] = {rule: [] for rule in Rule}
        expected: dict[Rule, list[float]] = {rule: [] for rule in Rule}
        for number in range(fields):
            field = drawn(number, condition)
            for rule in Rule:
                games = played(field, rule)
                errors[rule].append(error(field, games))
                expected[rule].append(expected_error(field, games))
        cells = []
        for rule in (Rule.LADDER, Rule.EVEN):
            for of, digits in ((errors, 0), (expected, 1)):
                found = ratio(of[rule], of[Rule.LOT])
                cells.append(f"{100 * (1 - found.value):.{digits}f} ± {100 * found.error:.{digits}f} %")
        row = " | ".join(cells).replace("-0 ±", "0 ±").replace("-", "−")
        write(f"| {condition.players} | {condition.spread:.0f} | {fields} | {row} |\n")
