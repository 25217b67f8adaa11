"""The work on ratings that may take long, as the process that fits ratings does it.

numpy is loaded with this module; the server asks through the port (`arbiter.service.ratings.rating_ports`) and does not load it.
"""  # noqa: E501 - prose

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from arbiter.matches.events import Created
from arbiter.matches.record import read
from arbiter.ratings.anchors import Anchors
from arbiter.ratings.comparison import PairedGame, compare, fitted
from arbiter.ratings.counts import identity
from arbiter.ratings.rated_matches import Result, counts_of, result_of_tally
from arbiter.ratings.rating_list import marks, newest_of, rating_list, ratings_of
from arbiter.ratings.rating_results import Comparison, RatingList, RatingPoint
from arbiter.service.ports.journal import MatchSummary, Tally
from arbiter.service.ratings.rating_ports import ComparisonRequest
from arbiter.service.record.tournament_log import MAKER


def rating_list_of(tallies: Iterable[Tally], anchors: Anchors) -> RatingList:
    """Return the ratings of all players in the tallies."""
    return rating_list([result_of_tally(tally) for tally in tallies], anchors)


def history_of(
    tallies: Iterable[tuple[int, Tally]], period_ms: int, periods: Sequence[int], anchors: Anchors
) -> dict[int, dict[str, RatingPoint]]:
    """Return the ratings of all players at the beginnings of some periods.

    tallies: with the period in which the matches ended, in order of time.
    """
    results = [(number, result_of_tally(tally)) for number, tally in tallies]
    return {
        period: marks((result for number, result in results if number < period), period * period_ms, anchors)
        for period in periods
    }


def comparison_of(
    contest: ComparisonRequest,
    tallies: Iterable[Tally],
    encounters: Sequence[tuple[MatchSummary, bytes]],
    anchors: Anchors,
) -> Comparison:
    """Compare two players. The hypotheses have been checked (`arbiter.ratings.sprt.check`).

    tallies: what both are rated from. encounters: their matches, each with its first record. In the fit for the
    comparison, a match of these two that only repeats another one adds no certainty (`arbiter.ratings.model`).
    """
    a, b = contest.player, contest.other
    met = [(row, first) for row, first in encounters if _is_meant(row, contest)]
    results = [_result(row) for row, _ in met]
    keyed = sorted((_key(row, first), _meeting(row, first, a)) for row, first in met)
    meetings = [meeting._replace(key=key) for (key, _), meeting in keyed]
    found = compare(a, b, results, meetings=meetings, hypotheses=contest.hypotheses)
    counts = counts_of(map(result_of_tally, tallies)).with_repeated(_repeated(encounters))
    ratings = ratings_of(counts, anchors)
    wanted = ((a, contest.player_version), (b, contest.other_version))
    one, two = (newest_of(ratings, name) if version is None else identity(name, version) for name, version in wanted)
    return found._replace(fitted=fitted(ratings, one, two))


def _is_meant(row: MatchSummary, contest: ComparisonRequest) -> bool:
    assert row.end is not None
    versions = {row.player_1: row.end.version_1, row.player_2: row.end.version_2}
    wanted = {contest.player: contest.player_version, contest.other: contest.other_version}
    return all(version in (None, versions[name]) for name, version in wanted.items())


def _repeated(encounters: Iterable[tuple[MatchSummary, bytes]]) -> dict[tuple[str, str], int]:
    """Return how many matches only repeat another one, by the players (with versions) in seat 1 and seat 2."""
    contents: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row, first in encounters:
        assert row.end is not None
        seats = identity(row.player_1, row.end.version_1), identity(row.player_2, row.end.version_2)
        contents[seats].append(_meeting(row, first, row.player_1).content)
    known = {seats: [content for content in those if content] for seats, those in contents.items()}
    return {seats: len(those) - len(set(those)) for seats, those in known.items()}


def _result(row: MatchSummary) -> Result:
    assert row.end is not None
    return Result(row.game, row.rated, row.player_1, row.player_2, row.end.result, row.end.winner, row.end.cause)


def _key(row: MatchSummary, first: bytes) -> tuple[str, int]:
    """Return a key that the two matches of a pair share, and the match's position among the matches with this key.

    The key consists of the label (of a tournament or an experiment), the variant and the opening. The games of a
    tournament are in the order of their pairing; a game that is played again after a void one keeps its position.
    """
    if not row.label:
        return "", row.sequence
    number, _, _ = row.request_id.partition("/")
    place = int(number) if row.creator.startswith(MAKER) and number.isdigit() else row.sequence
    return "\n".join((row.label, row.game, _opening(first))), place


def _opening(first: bytes) -> str:
    created = read(first)
    assert isinstance(created, Created)
    return " ".join(created.opening)


def _meeting(row: MatchSummary, first: bytes, a: str) -> PairedGame:
    """Return a match as a game that may have a partner, without its key.

    Two matches with the same opening, number of moves, last position and end are taken for the same game. This needs no
    moves to be read, and two different games hardly ever agree in all of it.
    """
    end = row.end
    assert end is not None
    seat = 1 if row.player_1 == a else 2
    content = (row.game, _opening(first), end.ply, end.position, end.winner, end.reason, end.version_1, end.version_2)
    points = 1 if end.winner == 0 else 2 * (end.winner == seat)
    return PairedGame("", seat, points, "\n".join(map(str, content)) if end.ply else "")


class InProcessRating:
    """Computes ratings in the current process, where waiting does no harm, as in a simulation."""

    async def rating_list(self, tallies: Sequence[Tally], anchors: Anchors) -> RatingList:
        return rating_list_of(tallies, anchors)

    async def fit(self, results: Sequence[Result]) -> RatingList:
        return rating_list(results, {})

    async def history(
        self, tallies: Sequence[tuple[int, Tally]], period_ms: int, periods: Sequence[int], anchors: Anchors
    ) -> Mapping[int, Mapping[str, RatingPoint]]:
        return history_of(tallies, period_ms, periods, anchors)

    async def comparison(
        self,
        contest: ComparisonRequest,
        tallies: Sequence[Tally],
        encounters: Sequence[tuple[MatchSummary, bytes]],
        anchors: Anchors,
    ) -> Comparison:
        return comparison_of(contest, tallies, encounters, anchors)
