"""Comparison of two players: their games against each other, the ratings' estimate, and sequential tests.

It gives two answers to "who is better, and by how much", which need not agree. `fitted` comes from the ratings, that
is, from all games of both players against any opponent. So it also exists for players who never met. `paired` and the
tests use the pairs of games that the two played against each other from the same opening with swapped seats; they say
nothing about other opponents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

from arbiter.errors import argument_invalid
from arbiter.ratings import evidence, sprt
from arbiter.ratings.difference import difference
from arbiter.ratings.fit import FittedRatings
from arbiter.ratings.pairs import Pairs
from arbiter.ratings.rated_matches import Result, rated
from arbiter.ratings.rating_results import Comparison, Fitted, SeatScore, WinsDrawsLosses
from arbiter.ratings.sprt import Hypotheses

_invalid: Final = partial(argument_invalid, of="a comparison")


class PairedGame(NamedTuple):
    """A rated game between two players that may have a partner.

    key: shared with the partner and with no other game: the meeting or opening of a tournament; "": none.
    seat: that of A; points: A's half points, 0 to 2. content: equal for games that went the same way, from the same
    opening with the same seats, and for no others; "": unknown.
    """

    key: str
    seat: int
    points: int
    content: str = ""


def compare(
    a: str,
    b: str,
    results: Iterable[Result],
    ratings: FittedRatings | None = None,
    meetings: Sequence[PairedGame] = (),
    hypotheses: Hypotheses | None = None,
) -> Comparison:
    """Return a comparison of two players.

    results: of any players; only rated games between these two are used. ratings: of the relevant record, for one game
    or all. meetings: their games with pairing keys; without them, nothing is paired.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for a player compared with itself, and as `rated`,
    `paired` and `sprt.judge` do.
    """
    if a == b:
        raise _invalid(b, "b", "another player than a")
    lines = head_to_head(a, b, results)
    total = WinsDrawsLosses()
    for line in lines:
        total = total.plus(line.record)
    pairs, unpaired, repeated = paired(meetings)
    hypotheses = hypotheses or Hypotheses()
    return Comparison(
        lines=lines,
        total=total,
        fitted=fitted(ratings, a, b) if ratings is not None else None,
        pairs=pairs,
        unpaired=unpaired,
        repeated=repeated,
        paired=difference(pairs),
        hypotheses=hypotheses,
        standing=sprt.judge(pairs, hypotheses),
        evidence=evidence.interval(pairs),
    )


def head_to_head(a: str, b: str, results: Iterable[Result]) -> tuple[SeatScore, ...]:
    """Return the rated games of A against B, by game and seat of A. Raises as `rated` does."""
    found: dict[tuple[str, int], WinsDrawsLosses] = {}
    for each in rated(results):
        if {each.player_1, each.player_2} == {a, b}:
            seat = 1 if each.player_1 == a else 2
            won, lost = each.winner == seat, each.winner not in (0, seat)
            record = WinsDrawsLosses(won * each.games, (each.winner == 0) * each.games, lost * each.games)
            found[each.game, seat] = found.get((each.game, seat), WinsDrawsLosses()).plus(record)
    return tuple(SeatScore(game, seat, record) for (game, seat), record in sorted(found.items()))


def paired(meetings: Iterable[PairedGame]) -> tuple[Pairs, int, int]:
    """Return the pairs among some games, how many games have no partner, and how many pairs only repeat others.

    Two games are a pair if they share a key and A had different seats in them; three or more games with one key are
    paired in the given order. A pair whose games were both played before, in pairs that count, is no new evidence: it
    does not count. Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for points outside 0 to 2.
    """
    waiting: dict[tuple[str, int], list[PairedGame]] = {}
    seen: set[tuple[int, str]] = set()
    pairs, unpaired, repeated = Pairs(), 0, 0
    for meeting in meetings:
        if meeting.points not in (0, 1, 2):
            raise _invalid(str(meeting.points), "points", "0, 1 or 2 half points")
        partners = waiting.get((meeting.key, 3 - meeting.seat), [])
        if not (meeting.key and partners):
            waiting.setdefault((meeting.key, meeting.seat), []).append(meeting)
            unpaired += 1
            continue
        games = (partners.pop(0), meeting)
        unpaired -= 1
        played = {(game.seat, game.content) for game in games if game.content}
        if len(played) == len(games) and played <= seen:
            repeated += 1
        else:
            pairs = pairs.with_pair(sum(game.points for game in games))
            seen |= played
    return pairs, unpaired, repeated


def fitted(ratings: FittedRatings, a: str, b: str) -> Fitted | None:
    """Return the ratings' estimate for two players, None if one of them has no rating."""
    if not (ratings.has(a) and ratings.has(b)):
        return None
    return Fitted(a, b, ratings.difference(a, b), ratings.superiority(a, b))
