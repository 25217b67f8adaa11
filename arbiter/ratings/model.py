"""The model behind the ratings: Bradley–Terry with draws and an advantage of the first player, and its priors.

Sources. Bradley and Terry, Biometrika 39 (1952): strengths. Davidson, Journal of the American Statistical Association
65 (1970): draws, with a probability proportional to the geometric mean of the two strengths. Davidson and Beaver,
Biometrics 33 (1977): the multiplicative effect of the order within a pair.

With ratings r in nats (natural logarithms of strengths), an advantage h of seat 1 and a draw parameter ν, a game of a
in seat 1 against b in seat 2 has u = r(a) − r(b) + h and ends with probabilities proportional to

    seat 1 wins: exp(u/2)        draw: ν        seat 2 wins: exp(−u/2)

Davidson and Beaver write the same three as π(a), ν'·√(π(a)π(b)) and γ·π(b). With one order effect for all pairs that
is the same family of models: h = −ln γ and ν = ν'/√γ. Two equal players without an advantage draw ν/(2 + ν) of their
games.

| part | here |
| --- | --- |
| one advantage and one draw parameter for all pairs | yes, both fitted |
| an order effect of each pair of its own (the 1977 paper has it) | no |
| draws by the other model, Rao and Kupper (1967) | no |
| strength that changes in time (whole-history rating, Coulom 2008) | no: a version of a player is a player |
| priors: Gaussian on ratings, on h and on ln ν | yes |

The prior on ratings is on their differences: each is normal around a common mean, of which nothing is assumed. So the
whole scale may be shifted freely, and anchors shift it. Without anchors the mean of all ratings is 0. Because of the
priors, the maximum exists, is unique and is finite for every record, also for one without losses, draws or games.

The logarithm of the posterior density is concave in (r, h, ln ν), as the sum of a log-linear model's likelihood and of
Gaussians. Here are its value, its gradient and its negative Hessian, summed by pairs and never by games.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np
import numpy.typing as npt

from arbiter.errors import Reason, Refusal
from arbiter.ratings.counts import Counts

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

ELO_PER_NAT: Final = 400 / log(10)
"""Elo points in a nat: 400 Elo are odds of ten to one (Elo 1978, the logistic form)."""


ANCHOR_LIMIT: Final = 10_000.0
"""The largest anchor, up or down, in Elo: beyond it the arithmetic has no digits left."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed before the first game. Spreads are standard deviations of Gaussians.

    spread: of the players' ratings around their mean, in Elo, 1 to 100,000. Wide by default, for bots reach from random
    movers to deep search: a field wider than its prior is drawn together, and its intervals are then too narrow.
    advantage_spread: of the first player's advantage around 0, in Elo, 1 to 100,000.
    draws: the share of games that two equal players draw, strictly between 0 and 1.
    draws_spread: of ln ν around the value that `draws` stands for, in nats, 0.01 to 100. With the defaults, 95 % of the
    belief lies on shares between 0.2 % and 85 %.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for a number outside these bounds.
    """

    spread: float = 600.0
    advantage_spread: float = 200.0
    draws: float = 0.1
    draws_spread: float = 2.0

    def __post_init__(self) -> None:
        for name, least, most in (("spread", 1, 1e5), ("advantage_spread", 1, 1e5), ("draws_spread", 0.01, 100)):
            value = getattr(self, name)
            if not least <= value <= most:
                raise _invalid(value, name, f"a number from {least:g} to {most:g}")
        if not 0 < self.draws < 1:
            raise _invalid(self.draws, "draws", "a share between 0 and 1, neither of them")


class Posterior:
    """The posterior density of a record of games, as a function of one vector of parameters.

    The vector holds, in nats: the ratings of `players` (sorted by name), the advantage of seat 1, and ln ν.
    `free` marks the parameters to fit: all but the ratings of anchored players.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for an anchor beyond ±10,000 Elo.
    """

    def __init__(self, counts: Counts, prior: Prior, anchors: Mapping[str, float]) -> None:
        self.players: tuple[str, ...] = tuple(sorted({*counts.players, *anchors}))
        self.size = size = len(self.players)
        index = {player: number for number, player in enumerate(self.players)}
        # By columns: ten times as fast as an array of tuples.
        seats1, seats2, wins1, draws, wins2 = zip(*counts.pairs, strict=True) if counts.pairs else ((),) * 5
        self._first = np.array([index[player] for player in seats1], dtype=np.intp)
        self._second = np.array([index[player] for player in seats2], dtype=np.intp)
        self._wins1, self._draws, self._wins2 = (np.array(column, dtype=np.float64) for column in (wins1, draws, wins2))
        self._games = self._wins1 + self._draws + self._wins2
        self._mean, self._precision = self._gaussian(prior, bool(anchors))
        self.start: Vector = self._mean.copy()
        self.start[:size] = sum(anchors[player] for player in sorted(anchors)) / max(1, len(anchors)) / ELO_PER_NAT
        self.free = np.ones(size + 2, dtype=np.bool_)
        for player, rating in anchors.items():
            if not -ANCHOR_LIMIT <= rating <= ANCHOR_LIMIT:
                raise _invalid(rating, f"anchor {player}", f"a number between ±{ANCHOR_LIMIT:g}")
            self.start[index[player]] = rating / ELO_PER_NAT
            self.free[index[player]] = False

    @property
    def games_of(self) -> npt.NDArray[np.int64]:
        """The number of games of each player."""
        return self._by_player(self._games, self._games).astype(np.int64)

    def value(self, x: Vector) -> float:
        """Return the logarithm of the posterior density at x, up to a constant."""
        u, kappa = self._arguments(x)
        norm = np.logaddexp(np.logaddexp(u / 2, -u / 2), kappa)
        likelihood = (self._wins1 - self._wins2) * u / 2 + self._draws * kappa - self._games * norm
        away = x - self._mean
        return float(likelihood.sum() - away @ self._precision @ away / 2)

    def gradient(self, x: Vector) -> Vector:
        """Return the derivatives of `value` at x."""
        win1, draw, win2 = self._probabilities(x)
        by_u = (self._wins1 - self._wins2 - self._games * (win1 - win2)) / 2
        by_kappa = self._draws - self._games * draw
        likelihood = np.concatenate([self._by_player(by_u, -by_u), [by_u.sum(), by_kappa.sum()]])
        return likelihood - self._precision @ (x - self._mean)

    def precision(self, x: Vector) -> Matrix:
        """Return the negative Hessian of `value` at x: symmetric; positive definite on the free parameters."""
        win1, draw, win2 = self._probabilities(x)
        by_uu = self._games * (win1 + win2 - (win1 - win2) ** 2) / 4
        by_uk = -self._games * draw * (win1 - win2) / 2
        by_kk = self._games * draw * (1 - draw)
        size = self.size
        result = self._precision.copy()
        between = np.bincount(self._first * size + self._second, weights=by_uu, minlength=size * size)
        result[:size, :size] -= between.reshape(size, size) + between.reshape(size, size).T
        result[np.arange(size), np.arange(size)] += self._by_player(by_uu, by_uu)
        for column, weights in ((size, by_uu), (size + 1, by_uk)):
            border = self._by_player(weights, -weights)
            result[:size, column] += border
            result[column, :size] += border
        result[size:, size:] += np.array([[by_uu.sum(), by_uk.sum()], [by_uk.sum(), by_kk.sum()]])
        return result

    def _gaussian(self, prior: Prior, anchored: bool) -> tuple[Vector, Matrix]:
        """Return the mean and the precision of the prior.

        On the ratings the precision is (I − 11ᵀ/n)/σ², which leaves their mean free. Without anchors nothing else
        would hold it, and 11ᵀ/nσ² is added: that puts the mean at 0 and changes no difference.
        """
        size = self.size
        ratings = np.eye(size)
        if anchored:
            ratings -= 1 / size
        precision = np.zeros((size + 2, size + 2))
        precision[:size, :size] = ratings * (ELO_PER_NAT / prior.spread) ** 2
        precision[size, size] = (ELO_PER_NAT / prior.advantage_spread) ** 2
        precision[size + 1, size + 1] = 1 / prior.draws_spread**2
        mean = np.zeros(size + 2)
        mean[size + 1] = log(2 * prior.draws / (1 - prior.draws))
        return mean, precision

    def _arguments(self, x: Vector) -> tuple[Vector, float]:
        return x[self._first] - x[self._second] + x[self.size], float(x[self.size + 1])

    def _probabilities(self, x: Vector) -> tuple[Vector, Vector, Vector]:
        """Return for each pair the probabilities that seat 1 wins, of a draw, and that seat 2 wins."""
        u, kappa = self._arguments(x)
        norm = np.logaddexp(np.logaddexp(u / 2, -u / 2), kappa)
        return np.exp(u / 2 - norm), np.exp(kappa - norm), np.exp(-u / 2 - norm)

    def _by_player(self, first: Vector, second: Vector) -> Vector:
        """Return the sum over each player's pairs of one weight where it holds seat 1, of the other in seat 2."""
        size = self.size
        seat1, seat2 = np.bincount(self._first, first, size), np.bincount(self._second, second, size)
        return (seat1 + seat2).astype(np.float64)


def _invalid(what: float, where: str, allowed: str) -> Refusal:
    message = f"{what!r} is not allowed in {where} of a rating: expected {allowed}"
    return Refusal(Reason.ARGUMENT_INVALID, message, what=what, where=where, allowed=allowed)
