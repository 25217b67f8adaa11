"""What ratings need from the rest of the arbiter, as a port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from arbiter.ratings.answers import Comparison, RatingList, RatingPoint
from arbiter.ratings.record import Result
from arbiter.ratings.sprt import Hypotheses
from arbiter.service.ports.journal import MatchSummary, Tally


class ComparisonRequest(NamedTuple):
    """Who is compared with whom: versions None for all of them. hypotheses: of the sequential test."""

    player: str
    other: str
    player_version: str | None = None
    other_version: str | None = None
    hypotheses: Hypotheses = Hypotheses()


class RatingFailed(Exception):
    """The process that fits ratings gave no answer, or its code has a mistake; says what is known."""


class RatingWorker(Protocol):
    """Work on ratings that may take seconds: it runs apart from the event loop. All calls raise RatingFailed.

    `anchors` are ratings in Elo that are given, by player of the counts; who is not among the players does not matter.
    """

    async def rating_list(self, tallies: Sequence[Tally], anchors: Mapping[str, float]) -> RatingList:
        """Return the ratings of a record."""

    async def fit(self, results: Sequence[Result]) -> RatingList:
        """Return the ratings of a record of its own, without anchors."""

    async def history(
        self, tallies: Sequence[tuple[int, Tally]], period_ms: int, periods: Sequence[int], anchors: Mapping[str, float]
    ) -> Mapping[int, Mapping[str, RatingPoint]]:
        """Return the ratings of all players as they were at the beginnings of some periods.

        tallies: by the period in which the matches ended, in order of time.
        """

    async def comparison(
        self,
        contest: ComparisonRequest,
        tallies: Sequence[Tally],
        encounters: Sequence[tuple[MatchSummary, bytes]],
        anchors: Mapping[str, float],
    ) -> Comparison:
        """Return two players side by side; the hypotheses can be tested.

        tallies: of the record from which both are rated; encounters: their matches, each with its first record.
        """
