"""Ratings: the values of RatingService.

Ratings are Elo points; likelihoods and shares are numbers from 0 to 1; instants are UTC in milliseconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbiter_client.values.reading import OpenEnum


class Verdict(OpenEnum):
    """The verdict of a sequential test."""

    UNSPECIFIED = 0
    UNDECIDED = 1
    H0 = 2  #: the first player is not better by elo1: elo0 is accepted
    H1 = 3  #: it is better by more than elo0: elo1 is accepted


class RatingDecision(OpenEnum):
    """What a ruling decides about rated games."""

    UNSPECIFIED = 0
    UNRATED = 1  #: they do not count for ratings
    RATED = 2  #: they count again
    TAKEN_BACK = 3  #: an earlier ruling is taken back


@dataclass(frozen=True, slots=True)
class GameSelection:
    """Rated games that have ended, are not void, and meet every condition that is given.

    players: one: its games; several: the games between any two of them. since_ms, until_ms: the time in which they
    ended, 0 for no bound. match_ids: these alone, without any other condition.
    """

    players: tuple[str, ...] = ()
    label: str = ""
    game: str = ""
    since_ms: int = 0
    until_ms: int = 0
    match_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RatingRuling:
    """A ruling on ratings. ruling: its number, 0 in a preview. match_ids: of the games that count otherwise by it."""

    ruling: int
    at_ms: int
    match_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate, with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Forfeits:
    """Rated games that a player lost without being beaten by play."""

    timeouts: int
    absences: int
    violations: int


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """A version of a player's bot.

    group: the order of neighbouring rows with the same number is not established. provisional: it is based on few
    games. above_next: the likelihood that it is better than the next row; None in the last row. forfeits: included in
    `games`.
    """

    place: int
    group: int
    player: str
    version: str
    rating: Estimate
    games: int
    provisional: bool
    above_next: float | None
    forfeits: Forfeits


@dataclass(frozen=True, slots=True)
class AnchoredPlayer:
    """A player whose rating is fixed by an anchor, as `NAME` or `NAME@VERSION`.

    by_games: what the games alone say, on the scale that all anchors set together; None if no other player is fixed.
    contradicted: whether the anchor is more than three standard deviations away from that.
    """

    player: str
    by_games: Estimate | None
    contradicted: bool


@dataclass(frozen=True, slots=True)
class Anchor:
    """A rating that is given to a player (`NAME`, for all versions, or `NAME@VERSION`) and fixes the scale.

    fixes: the players of the leaderboard that it fixes; empty if it has no effect.
    """

    player: str
    rating: float
    fixes: tuple[AnchoredPlayer, ...] = ()


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Players by rating, best first.

    game: '' for all games together; `note` then says what that means. games: the number of rated games. players: the
    number of rows. advantage: the value of seat 1. draws: the share of drawn games between two equal players. spread:
    the standard deviation of the field. rulings: the number of the last ruling on ratings that they follow.
    """

    rows: tuple[LeaderboardRow, ...]
    game: str
    games: int
    players: int
    advantage: Estimate
    draws: Estimate
    spread: float
    anchors: tuple[Anchor, ...]
    note: str
    rulings: int = 0


@dataclass(frozen=True, slots=True)
class RatingMark:
    """A rating at an instant."""

    at_ms: int
    rating: Estimate


@dataclass(frozen=True, slots=True)
class RatingHistory:
    """The rating of a version over time, oldest first."""

    version: str
    marks: tuple[RatingMark, ...]


@dataclass(frozen=True, slots=True)
class Rating:
    """The ratings of a player: its versions, newest first, and their histories in the same order."""

    versions: tuple[LeaderboardRow, ...]
    history: tuple[RatingHistory, ...]
    game: str
    note: str


@dataclass(frozen=True, slots=True)
class Encounters:
    """Games of the first player against the other; game '' and seat 0 in a sum."""

    game: str
    seat: int
    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        """Their number."""
        return self.wins + self.draws + self.losses


@dataclass(frozen=True, slots=True)
class RatedDifference:
    """The difference of two players by their ratings: by how much the first is better, and how likely that is."""

    player_version: str
    other_version: str
    elo: Estimate
    superiority: float


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """A pentanomial sequential probability ratio test: its hypotheses, its state, and its verdict."""

    elo0: float
    elo1: float
    alpha: float
    beta: float
    ratio: float
    lower: float
    upper: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ConfidenceSequence:
    """The scores, and Elo differences, that the evidence leaves open, valid at every time of looking at it."""

    low: float
    high: float
    elo_low: float
    elo_high: float


@dataclass(frozen=True, slots=True)
class PairedGames:
    """The evidence of pairs of games: how many brought the first player 0, ½, 1, 1½ and 2 points, and its results."""

    pairs: tuple[int, ...]
    unpaired: int
    score: float
    elo: Estimate
    superiority: float
    test: SequentialTest
    evidence: ConfidenceSequence


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two players side by side. rated: None if one of them has no rating."""

    encounters: tuple[Encounters, ...]
    total: Encounters
    rated: RatedDifference | None
    paired: PairedGames
    game: str
    note: str
