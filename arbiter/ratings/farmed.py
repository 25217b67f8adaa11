"""Finds accounts that lose a series of games to one player, whom they lift, for people to judge.

An account can play honest games against many, and then lose to its owner. Then the ratings from all games hide it: the
owner's is too high because of it, and the account's too low. So the series are tested together, and against the ratings
from all other games:

1. A series is at least `LEAST_GAMES` games of an account against one player, with at most `GAP` games of the account
   against others between two of them, in the order of their ends. Whether games are a series does not depend on their
   results.
2. For each player with series against it, the ratings are fitted without all of these. Versions of a bot are rated
   apart, so a bot that has become better since is compared with what it was.
3. Tested is the sum of the player's points in the series of its most striking accounts, by Chernoff's bound (Annals of
   Mathematical Statistics 23 (1952)), for the upper ends of the intervals of all differences, and `ALLOWED` Elo more:
   a bot may be better against one opponent than its rating says.
4. The probability is multiplied by the number of players that are tested, of sizes of groups of accounts, and of groups
   of this size (Bonferroni).

So in a report on a whole honest record, the probability of any false finding is at most ALPHA of
`arbiter.ratings.arranged`. tests/ratings/test_farmed.py measures it for records of honest pairings of all kinds.
Not found are accounts that play others between the games against their owner, and those that the record shows to be as
weak as their losses say, whose losses give their owner little.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import comb
from typing import Final, NamedTuple

import numpy as np

from arbiter.ratings.arranged import ALPHA, LEAST_GAMES, TILTS, FindingKind, SuspiciousPattern, log_bounds
from arbiter.ratings.counts import named
from arbiter.ratings.fit import FittedRatings, fit
from arbiter.ratings.model import Prior
from arbiter.ratings.rated_matches import Result, counts_of, rated

GAP: Final = 2  #: maximum number of games against others between two games of a series
ALLOWED: Final = 100.0  #: Elo by which a bot may be better against one opponent than its rating says
STRIKING: Final = 0.6  #: the least score in a series that is worth a test


class DatedResult(NamedTuple):
    """The result of one match, and the instant of its end."""

    ended_ms: int
    result: Result


class Series(NamedTuple):
    """The results of an account's games against one player, by names, that were a series."""

    account: str
    player: str
    results: tuple[Result, ...]

    @property
    def points(self) -> float:
        """What the player scored in it."""
        won = Counter("" if not each.winner else named(_seats(each)[each.winner - 1])[0] for each in self.results)
        return won[self.player] + won[""] / 2


def farmed(
    results: Iterable[DatedResult], game: str | None = None, prior: Prior | None = None
) -> tuple[SuspiciousPattern, ...]:
    """Return the players that accounts have lifted by series of losses, the least probable first.

    results: of all matches, players as identities. game: of one game, or (None) of all together. It costs one fit for
    each player with a series in which it scored more than usual.
    """
    played = [each.result for each in sorted(results) if any(rated((each.result,), game))]
    by_player: defaultdict[str, list[Series]] = defaultdict(list)
    for series in all_series(played):
        by_player[series.player].append(series)
    found: list[SuspiciousPattern] = []
    for player, of_player in sorted(by_player.items()):
        if any(each.points >= STRIKING * len(each.results) for each in of_player):
            found += _tested(player, of_player, played, len(by_player), prior)
    return tuple(sorted(found, key=lambda each: (each.probability or 0.0, each.players)))


def all_series(played: Sequence[Result]) -> Iterator[Series]:
    """Yield every series, of each account in the order of time."""
    of_account: defaultdict[str, list[tuple[str, Result]]] = defaultdict(list)
    for each in played:
        one, two = (named(player)[0] for player in _seats(each))
        if one != two:
            of_account[one].append((two, each))
            of_account[two].append((one, each))
    for account, games in sorted(of_account.items()):
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, (other, _) in enumerate(games):
            places[other].append(place)
        for other, at in sorted(places.items()):
            breaks = [n for n in range(1, len(at)) if at[n] - at[n - 1] > GAP + 1]
            for start, end in zip([0, *breaks], [*breaks, len(at)], strict=True):
                if end - start >= LEAST_GAMES:
                    yield Series(account, other, tuple(games[place][1] for place in at[start:end]))


def _tested(
    player: str, series: Sequence[Series], played: Sequence[Result], players: int, prior: Prior | None
) -> Iterator[SuspiciousPattern]:
    """Yield the finding about a player, if there is one. players: how many are tested."""
    left_out = {id(result) for each in series for result in each.results}
    everybody = counts_of(played).players
    ratings = fit(counts_of(each for each in played if id(each) not in left_out).add((), everybody), prior)
    by_account: defaultdict[str, list[Series]] = defaultdict(list)
    for each in series:
        by_account[each.account].append(each)
    bounds = {
        account: np.sum([_log_bounds(ratings, result, player) for each in those for result in each.results], axis=0)
        - TILTS * sum(each.points for each in those)
        for account, those in by_account.items()
    }
    order = sorted(bounds, key=lambda account: float(bounds[account].min()))
    best, accounts = 1.0, 0
    total = np.zeros(len(TILTS))
    for size, account in enumerate(order, start=1):
        total = total + bounds[account]
        chance = players * len(order) * comb(len(order), size) * float(np.exp(min(0.0, total.min())))
        if chance < best:
            best, accounts = chance, size
    if best < ALPHA:
        losers = sorted(order[:accounts])
        of_them = [each for each in series if each.account in losers]
        games = sum(len(each.results) for each in of_them)
        points = sum(each.points for each in of_them)
        reason = (
            f"{player} scored {points:g} of {games} in series of games against {', '.join(losers)}, which the ratings "
            "from all other games do not explain"
        )
        yield SuspiciousPattern(FindingKind.FARMED, (player, *losers), games, reason, best)


def _log_bounds(ratings: FittedRatings, result: Result, player: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    one, two = _seats(result)
    first = named(one)[0] == player
    apart = ratings.difference(one, two).high if first else ratings.difference(two, one).high
    return log_bounds(ratings, apart + ALLOWED, first)


def _seats(result: Result) -> tuple[str, str]:
    return result.player_1, result.player_2
