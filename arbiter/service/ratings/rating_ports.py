"""The ports that ratings use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from arbiter.ratings.rated_matches import Result
from arbiter.ratings.rating_results import Comparison, RatingList, RatingPoint
from arbiter.ratings.sprt import Hypotheses
from arbiter.service.ports.journal import MatchSummary, Tally


class ComparisonRequest(NamedTuple):
    """Two players to compare. Versions: None for all of them. hypotheses: of the sequential test."""

    player: str
    other: str
    player_version: str | None = None
    other_version: str | None = None
    hypotheses: Hypotheses = Hypotheses()


class RatingFailed(Exception):
    """The process that fits ratings has given no answer, or its code has raised an error; the message says which."""


class RatingWorker(Protocol):
    """Work on ratings that may take seconds: it runs apart from the event loop. All calls raise RatingFailed.

    `anchors` are fixed ratings in Elo, by NAME or NAME@VERSION (`arbiter.ratings.anchors`).
    """

    async def rating_list(self, tallies: Sequence[Tally], anchors: Mapping[str, float]) -> RatingList:
        """Return the ratings of all players in the tallies."""

    async def fit(self, results: Sequence[Result]) -> RatingList:
        """Return the ratings from these results alone, without anchors."""

    async def history(
        self, tallies: Sequence[tuple[int, Tally]], period_ms: int, periods: Sequence[int], anchors: Mapping[str, float]
    ) -> Mapping[int, Mapping[str, RatingPoint]]:
        """Return the ratings of all players at the beginnings of some periods.

        tallies: with the period in which the matches ended, in order of time.
        """

    async def comparison(
        self,
        contest: ComparisonRequest,
        tallies: Sequence[Tally],
        encounters: Sequence[tuple[MatchSummary, bytes]],
        anchors: Mapping[str, float],
    ) -> Comparison:
        """Compare two players. The hypotheses have been checked (`arbiter.ratings.sprt.check`).

        tallies: what both are rated from. encounters: their matches, each with its first record.
        """
