"""The ratings of a tournament's players by its own games: a fit of what its log says, and of nothing else.

So they can be worked out again from the log: `arbiter.tournaments.standings.rated_games`, and the fit of
`arbiter.ratings`, without anchors. The order of two neighbours is established as on a leaderboard. Provisional is who
has met too few others: the width of the interval, by which a leaderboard goes, would put apart who wins always. A game
that only repeats an earlier one, move by move, adds no certainty (`arbiter.ratings.model`).

While games are under way, those that have ended are the short ones. A bot whose lost games last longer than its won
ones looks better than it is by its games under way, of which it has no more than `at_once`: the error fades as games
are added. In a format with a last game it is gone at the end. An arena or ladder that ends by time aborts the last
games, so there a little of it stays. A trial takes its pairs in by number (`arbiter.tournaments.formats.trial`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from arbiter.ratings.answers import RatingList
from arbiter.ratings.record import Result
from arbiter.tournaments.formats import Rating
from arbiter.tournaments.standings import RatedGame, rated_games
from arbiter.tournaments.tournament import Tournament

LEAST_OPPONENTS: Final = 3  #: that a player has met (or all others, if they are fewer) whose rating is not provisional
MOST_PLAYERS: Final = 2_000  #: of a tournament whose players are rated: a fit takes seconds then


class Rater(Protocol):
    """Who fits ratings."""

    async def fit(self, results: Sequence[Result]) -> RatingList:
        """Return the ratings of a record of its own. Raises Refusal BUDGET_SPENT."""


async def own_ratings(tournament: Tournament, rater: Rater) -> Mapping[str, Rating]:
    """Return the ratings of the players who have played; none of more than `MOST_PLAYERS`. Raises as the rater does."""
    games = rated_games(tournament)
    opponents: defaultdict[str, set[str]] = defaultdict(set)
    for game in games:
        opponents[game.seat1].add(game.seat2)
        opponents[game.seat2].add(game.seat1)
    if not games or len(opponents) > MOST_PLAYERS:
        return {}
    listed = await rater.fit(results_of(games))
    least = min(LEAST_OPPONENTS, len(opponents) - 1)
    return {
        row.player: Rating(row.rating, row.low, row.high, len(opponents[row.player]) < least, row.group)
        for row in listed.all_versions
    }


def results_of(games: Iterable[RatedGame]) -> list[Result]:
    """Return the results of some games by seats and winner, with how many of them only repeat others."""
    ways: defaultdict[tuple[str, str, int], list[RatedGame]] = defaultdict(list)
    for game in games:
        ways[game.seat1, game.seat2, game.winner].append(game)
    return [
        Result("", True, seat1, seat2, "win" if winner else "draw", winner, "rules", len(alike), _repeated(alike))
        for (seat1, seat2, winner), alike in sorted(ways.items())
    ]


def _repeated(games: Sequence[RatedGame]) -> int:
    known = [(game.variant, game.moves) for game in games if game.moves]
    return len(known) - len(set(known))
