"""The results of rating computations, as plain values. This module computes nothing and does not import numpy."""

from __future__ import annotations

from typing import NamedTuple

from arbiter.ratings.pairs import Difference, Pairs
from arbiter.ratings.rated_matches import Forfeits
from arbiter.ratings.sprt import Hypotheses, Standing


class Estimate(NamedTuple):
    """A fitted number and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


class Row(NamedTuple):
    """A row of a leaderboard.

    place: from 1, by rating. group: from 1; the order of two neighbours in the same group is not established.
    above_next: the probability that this player is better than the next one; None in the last row. Ratings are in Elo
    with a 95 % interval.
    """

    place: int
    group: int
    player: str
    rating: float
    low: float
    high: float
    games: int
    provisional: bool
    above_next: float | None
    forfeits: Forfeits


class AnchoredPlayer(NamedTuple):
    """An anchor, and a player of the counts whose rating it fixes; '' if it fixes none.

    by_games: what the games alone say (`arbiter.ratings.anchors`); None if no other player is fixed. contradicted:
    whether they contradict the anchor.
    """

    anchor: str
    player: str
    rating: float
    by_games: Estimate | None = None
    contradicted: bool = False


class RatingList(NamedTuple):
    """The ratings of a record, for people.

    games: the number of rated games behind them. all_versions: every player of the counts; newest: only the newest
    version of each name. advantage: the value of seat 1, in Elo; draws: the share of draws between two equal players;
    spread: the standard deviation of the field, in Elo. anchors: the given ratings, with the players that they fix.
    """

    games: int
    all_versions: tuple[Row, ...]
    newest: tuple[Row, ...]
    advantage: Estimate
    draws: Estimate
    spread: float
    anchors: tuple[AnchoredPlayer, ...] = ()


class RatingPoint(NamedTuple):
    """A player's rating at an instant, in Elo, with the ends of its 95 % interval."""

    at_ms: int
    rating: float
    low: float
    high: float


class WinsDrawsLosses(NamedTuple):
    """Games of A against B: won, drawn and lost by A."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        """The number of games."""
        return sum(self)

    @property
    def score(self) -> float | None:
        """A's share of the points, 0 to 1; None without games."""
        return (self.wins + self.draws / 2) / self.games if self.games else None

    def plus(self, other: WinsDrawsLosses) -> WinsDrawsLosses:
        """Return the sum of both."""
        return WinsDrawsLosses(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class SeatScore(NamedTuple):
    """Games of A against B at one game with A in one seat."""

    game: str
    seat: int
    record: WinsDrawsLosses


class Fitted(NamedTuple):
    """The ratings' estimate: the compared players of the counts, how many Elo points A is above B, and how likely.

    superiority: the probability that A is better at all.
    """

    a: str
    b: str
    elo: Estimate
    superiority: float


class ScoreInterval(NamedTuple):
    """The scores (0 to 1) and the Elo differences that the evidence does not exclude, within ±1,200 Elo."""

    low: float
    high: float
    elo_low: float
    elo_high: float


class Comparison(NamedTuple):
    """A comparison of A and B. `lines`: by game and seat of A; `total`: their sum.

    fitted: from the ratings; None if one of the two has none. pairs: the results of A's paired games; unpaired: the
    number of games without a partner; repeated: the number of pairs that only repeat others of them, move for move, and
    so do not count. paired: score, Elo difference and superiority from the pairs; standing: the
    sequential test of the pairs with its hypotheses; evidence: the scores of A that are not excluded, valid at every
    look.
    """

    lines: tuple[SeatScore, ...]
    total: WinsDrawsLosses
    fitted: Fitted | None
    pairs: Pairs
    unpaired: int
    repeated: int
    paired: Difference
    hypotheses: Hypotheses
    standing: Standing
    evidence: ScoreInterval
