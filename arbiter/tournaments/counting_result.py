"""Which result of a game counts, after the rulings and corrections of organisers. No other module decides it.

A result is kept as it was played. What counts is computed again from it when the organiser decides something: the
newest ruling on the game, or disqualification of one of its players, says what it is. `arbiter.tournaments.game_ends`
says what that means for points, tie-breaks and ratings.

A bracket that has gone on by a result stays: `Tournament.bracket_results` keeps it. Points and ratings follow all the
same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from arbiter.tournaments import events as ev
from arbiter.tournaments.corrections import Disqualify, Results
from arbiter.tournaments.game_ends import LOSS, WIN, GameResult


class Disqualified(NamedTuple):
    """A disqualification in force. revision: of its event."""

    what: Disqualify
    by: str
    note: str
    revision: int


class TakenAway(NamedTuple):
    """What counts in place of a result that does not stand. points: half points by seat; None: the game is void."""

    newest: Disqualified
    points: tuple[int, int] | None


def counting_result(
    result: GameResult, seats: Sequence[Disqualified | None], rulings: Sequence[ev.Ruled], ruled_at: int
) -> GameResult:
    """Return the result of a game that counts: the newest ruling on it, or disqualification of its players, decides.

    result: as it was played. seats: the disqualifications of its players, () if it is of a player against itself.
    ruled_at: the revision of the last ruling.
    """
    out = taken_away(seats)
    ruled = rulings[-1] if rulings else None
    if out is not None and (ruled is None or out.newest.revision > ruled_at):
        return result.ruled(out.points, out.newest.by, out.newest.note, forfeit=True)
    if ruled is None or ruled.decision is ev.Decision.STANDS:
        return result
    points = (ruled.points[0], ruled.points[1]) if ruled.decision is ev.Decision.POINTS else None
    return result.ruled(points, ruled.caller, ruled.note)


def taken_away(seats: Sequence[Disqualified | None]) -> TakenAway | None:
    """Return what counts in place of the result of a game whose players are disqualified; None if its result stands."""
    out = [each if each is not None and each.what.results is not Results.STAND else None for each in seats]
    newest = max((each for each in out if each is not None), default=None, key=_age)
    if newest is None:
        return None
    void = any(each is not None and each.what.results is Results.VOID for each in out)
    return TakenAway(newest, None if void else (LOSS if out[0] else WIN, LOSS if out[1] else WIN))


def _age(each: Disqualified) -> int:
    return each.revision
