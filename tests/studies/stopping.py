"""How many games it takes to tell two bots apart, by stopping rule: the tables of deploy/CHOOSING.md.

Games come in pairs with swapped seats. They follow the model of the ratings: seat 1 is worth 50 Elo, and two equal bots
draw 13 % of their games. A is better by d Elo if its expected score in a pair is that of d on the logistic curve, which
is what the sequential test and the intervals of pairs mean by Elo.

For a number of games that is fixed beforehand, the numbers come from the normal distribution. With the means s and the
standard deviations σ of a pair's score, a test of 0 against d Elo with the errors α and β needs

    ((z(1 − α) σ(0) + z(1 − β) σ(d)) / (s(d) − s(0)))² pairs

and an interval of ± d Elo between two equal bots needs (z(0.975) σ(0) / (s(d) − s(0)))² of them.

The sequential rules are simulated: the log-likelihood ratio of `arbiter.ratings.sprt` and the capital of
`arbiter.ratings.evidence`, computed for many trials at once. There are LOOKS looks, evenly spaced, up to the fixed
number, or one after every pair if that is fewer, and as many beyond it as are needed. (A trial of the server looks
after every pair.)
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log
from pathlib import Path
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from arbiter.ratings.evidence import STAKES
from arbiter.ratings.model import ELO_PER_NAT
from arbiter.ratings.pairs import SCORES, Z95, expected_score
from arbiter.ratings.sprt import Hypotheses
from tests.studies.coverage import ADVANTAGE, NU, SEED

Vector = npt.NDArray[np.float64]
Counts = npt.NDArray[np.float64]
"""By trial, how many pairs had each of the five outcomes."""

Signs = npt.NDArray[np.int64]
"""By trial: 1 for "A is better", −1 for the opposite, 0 for undecided."""

Rule = Callable[[Counts], Signs]

TRIALS: Final = 1_000
DIFFERENCES: Final = (5.0, 20.0, 100.0)
ALPHA: Final = 0.05  #: every rate of errors here
LOOKS: Final = 400  #: looks up to the fixed number of games
LONGEST: Final = 20  #: a trial ends undecided after this many times the fixed number of games
EQUAL_LONGEST: Final = 4  #: the same for equal bots, between which no test has to decide
NU_HALF: Final = 2.0  #: the draw parameter with which equal players draw half of their games

_SCORES: Final = np.array(SCORES)
_ONES: Final = np.ones(len(SCORES))
_HALVINGS: Final = 24  # the ratio is stationary in θ, so half the digits of θ suffice
_CAPITALS: Final = np.log1p(2 * STAKES * (_SCORES - 0.5)[:, np.newaxis])  # by outcome and stake, against a score of ½


class StoppedRun(NamedTuple):
    """How some trials ended: by trial the number of games, and the decision."""

    games: Vector
    decision: Signs

    @property
    def mean(self) -> float:
        """The mean number of games."""
        return float(self.games.mean())

    def quantile(self, share: float) -> float:
        """Return the number of games within which this share of the trials ended."""
        return float(np.quantile(self.games, share))

    def decided(self, decision: int) -> float:
        """Return the share of trials with this decision."""
        return float((self.decision == decision).mean())


def shares(elo: float, nu: float = NU) -> Vector:
    """Return the probabilities of the five outcomes of a pair, if A is better by some Elo points (within ±1,000)."""
    low, high = -2_000 / ELO_PER_NAT, 2_000 / ELO_PER_NAT
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _pair(middle, nu) @ _SCORES < expected_score(elo) else (low, middle)
    return _pair((low + high) / 2, nu)


def _pair(above: float, nu: float) -> Vector:
    games = []
    for seat in (1, -1):
        u = above + seat * ADVANTAGE / ELO_PER_NAT
        weights = np.array([np.exp(-u / 2), nu, np.exp(u / 2)])
        games.append(weights / weights.sum())
    return np.convolve(*games)


def deviation(elo: float, nu: float = NU) -> float:
    """Return the standard deviation of a pair's score."""
    chances = shares(elo, nu)
    return float(np.sqrt(chances @ (_SCORES - chances @ _SCORES) ** 2))


def fixed(elo: float, nu: float = NU) -> int:
    """Return the number of games that a test of 0 against some Elo points needs, if the number is fixed beforehand."""
    z = NormalDist().inv_cdf(1 - ALPHA)
    return 2 * ceil((z * (deviation(0, nu) + deviation(elo, nu)) / (expected_score(elo) - 0.5)) ** 2)


def wide(elo: float) -> int:
    """Return the number of games after which the 95 % interval of two equal bots is ± some Elo points."""
    return 2 * ceil((Z95 * deviation(0) / (expected_score(elo) - 0.5)) ** 2)


def ratios(counts: Counts, hypotheses: Hypotheses) -> Vector:
    """Return by trial the log-likelihood ratio that `sprt.log_likelihood_ratio` has for one."""
    regular = np.maximum(counts, 1e-3)
    total = regular.sum(axis=1, keepdims=True)
    h0, h1 = (_denominators(regular / total, expected_score(elo)) for elo in (hypotheses.elo0, hypotheses.elo1))
    found: Vector = (regular * np.log(h0 / h1)).sum(axis=1)
    return found


def _denominators(observed: Vector, mean: float) -> Vector:
    """Return by trial the numbers by which observed shares are divided to get the likeliest ones with a mean."""
    away = _SCORES - mean
    low, high = np.full(len(observed), -1 / away.max()), np.full(len(observed), -1 / away.min())
    weighed = observed * away
    for _ in range(_HALVINGS):
        theta = (low + high) / 2
        above = weighed / (1 + theta[:, np.newaxis] * away) @ _ONES > 0
        low, high = np.where(above, theta, low), np.where(above, high, theta)
    found: Vector = 1 + ((low + high) / 2)[:, np.newaxis] * away
    return found


def log_capitals(counts: Counts) -> Vector:
    """Return by trial the logarithm of the capital that `evidence.log_capital` has against a score of ½."""
    logs = counts @ _CAPITALS
    largest = logs.max(axis=1)
    found: Vector = largest + np.log(np.exp(logs - largest[:, np.newaxis]).mean(axis=1))
    return found


def sequential(elo1: float) -> Rule:
    """Return the rule of the sequential test of 0 against some Elo points."""
    hypotheses, bound = Hypotheses(0.0, elo1, ALPHA, ALPHA), log((1 - ALPHA) / ALPHA)

    def rule(counts: Counts) -> Signs:
        found = ratios(counts, hypotheses)
        return (found >= bound).astype(np.int64) - (found <= -bound)

    return rule


def every_look(counts: Counts) -> Signs:
    """Decide as soon as the interval that is valid at every look excludes 0 Elo."""
    better = np.sign(counts @ (_SCORES - 0.5)).astype(np.int64)
    return np.where(log_capitals(counts) >= -log(ALPHA), better, 0)


def simulated(truth: float, elo1: float, rule: Rule, trials: int, longest: int = LONGEST) -> StoppedRun:
    """Run trials of a rule where A is better by `truth`; looks and length belong to a test of 0 against `elo1`."""
    rng = np.random.default_rng([SEED, round(100 * elo1), round(100 * truth) % 2**32])
    step = max(1, fixed(elo1) // 2 // LOOKS)
    chances, running, counts = shares(truth), np.arange(trials), np.zeros((trials, 5))
    games, decision = np.zeros(trials), np.zeros(trials, dtype=np.int64)
    while len(running) and games.max() < longest * fixed(elo1):
        counts += rng.multinomial(step, chances, len(running))
        games[running] += 2 * step
        found = rule(counts)
        decision[running] = found
        running, counts = running[found == 0], counts[found == 0]
    return StoppedRun(games, decision)


@dataclass(frozen=True, slots=True)
class StoppingPlan:
    """trials: of each simulated cell. svg: the folder into which pictures are written; None: none."""

    trials: int = TRIALS
    svg: Path | None = None


def plan_of(arguments: Sequence[str]) -> StoppingPlan:
    """Parse the command line. Exits with code 2 and a line on standard error if it is invalid."""
    parser = argparse.ArgumentParser("python -m tests.studies stopping", description="Games needed by stopping rule.")
    parser.add_argument("--trials", type=int, default=TRIALS, help="of each simulated cell (default: %(default)s)")
    parser.add_argument("--svg", type=Path, metavar="FOLDER", help="write the pictures of the page into it")
    found = parser.parse_args(arguments)
    if found.trials < 1:
        parser.error("--trials is at least 1")
    return StoppingPlan(found.trials, found.svg)


def bench_stopping(
    write: Callable[[str], object], trials: int = TRIALS, differences: Sequence[float] = DIFFERENCES
) -> None:
    """Write both tables in Markdown: games by rule, and the errors of the sequential rules."""
    variance, halved = deviation(0) ** 2, deviation(0, NU_HALF) ** 2
    write(
        f"{trials:,} trials of each simulated number, seed {SEED}. Variance of the score of a pair (0 to 1) of equal\n"
    )
    write(f"bots: {variance:.4f}, and {halved:.4f} if they draw half of their games.\n\n")
    columns = [f"{elo:g} Elo" for elo in differences]
    _row(write, "games", columns)
    _row(write, "--", ["--"] * len(columns))
    for name, cell in FORMULAS.items():
        _row(write, name, [f"{cell(elo):,}" for elo in differences])
    runs = {
        f"sequential test, {name}": [simulated(part * elo, elo, sequential(elo), trials) for elo in differences]
        for name, part in TRUTHS.items()
    }
    better = [simulated(elo, elo, every_look, trials) for elo in differences]
    equal = [simulated(0, elo, every_look, trials, EQUAL_LONGEST) for elo in differences]
    for name, ended in {**runs, "valid at every look, A better by that": better}.items():
        _row(write, name, [f"{each.mean:,.0f} ({each.quantile(0.95):,.0f})" for each in ended])
    write("\n")
    _row(write, "wrong decisions", columns)
    _row(write, "--", ["--"] * len(columns))
    level, _, much = runs.values()
    _row(write, "sequential test: better, though equal", [f"{each.decided(1):.1%}" for each in level])
    _row(write, "sequential test: not better, though better by that", [f"{each.decided(-1):.1%}" for each in much])
    _row(write, "valid at every look: not equal, though equal", [f"{1 - each.decided(0):.1%}" for each in equal])


FORMULAS: Final[dict[str, Callable[[float], int]]] = {
    "fixed number, test of 0 against that many Elo": fixed,
    "the same, half of all games drawn": lambda elo: fixed(elo, NU_HALF),
    "fixed number, interval of ± that many Elo": wide,
}
"""The rows of the table that a formula gives."""

TRUTHS: Final = {"A and B equal": 0.0, "A better by half of that": 0.5, "A better by that": 1.0}
"""What is true, as a share of the difference that is tested."""


def _row(write: Callable[[str], object], name: str, cells: Sequence[str]) -> None:
    write(f"| {' | '.join((name, *cells))} |\n")
