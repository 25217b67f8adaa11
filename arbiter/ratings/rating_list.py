"""The ratings of a record for display: from results to the rows of a leaderboard, at one instant or at several.

The server's answers and the output of `arbiter ratings recompute` both come from these functions and equal counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from arbiter.ratings.anchors import Anchors, compared, fixed
from arbiter.ratings.counts import Counts, chains, named
from arbiter.ratings.fit import FittedRatings, fit
from arbiter.ratings.leaderboard import leaderboard
from arbiter.ratings.rated_matches import Result, counts_of, forfeits_of
from arbiter.ratings.rating_results import Estimate, RatingList, RatingPoint


def rating_list(results: Sequence[Result], anchors: Anchors, game: str | None = None) -> RatingList:
    """Return the ratings from the rated results among some results: of one game, or (None) of all together.

    Anchors apply to the players among them (`arbiter.ratings.anchors`). Raises Refusal ARGUMENT_INVALID as `counts_of`
    and `fit` do.
    """
    counts = counts_of(results, game)
    ratings, forfeits = ratings_of(counts, anchors), forfeits_of(results, game)
    return RatingList(
        games=counts.games,
        all_versions=leaderboard(ratings, forfeits),
        newest=leaderboard(ratings, forfeits, {versions[-1] for versions in chains(counts.players)}),
        advantage=ratings.advantage,
        draws=ratings.draws,
        spread=ratings.spread,
        anchors=compared(anchors, counts.players, _by_games(counts, fixed(anchors, counts.players))),
    )


def ratings_of(counts: Counts, anchors: Anchors) -> FittedRatings:
    """Return the fit of counts; the last few fits are cached. Raises Refusal ARGUMENT_INVALID as `fit` does."""
    return _fit(counts, tuple(fixed(anchors, counts.players).items()))


def _by_games(counts: Counts, given: Mapping[str, float]) -> dict[str, tuple[Estimate, float]]:
    """Return what the games alone say of the fixed players: nothing of one, which can't contradict them."""
    return _fit(counts, ()).shifted_to(given) if len(given) > 1 else {}


@lru_cache(maxsize=8)
def _fit(counts: Counts, anchors: tuple[tuple[str, float], ...]) -> FittedRatings:
    return fit(counts, anchors=dict(anchors))


def marks(results: Iterable[Result], at_ms: int, anchors: Anchors) -> dict[str, RatingPoint]:
    """Return the ratings of all players from the results up to an instant. Raises as `rating_list` does."""
    ratings = ratings_of(counts_of(results), anchors)
    return {each.player: RatingPoint(at_ms, each.rating, each.low, each.high) for each in ratings.rated if each.games}


def newest_of(ratings: FittedRatings, name: str) -> str:
    """Return a player's newest rated version, named as in counts; '' if none is rated."""
    versions = [each.player for each in ratings.rated if named(each.player)[0] == name]
    return next((chain[-1] for chain in chains(versions)), "")
