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


def counting_result(
    result: GameResult, seats: Sequence[Disqualified | None], rulings: Sequence[ev.Ruled], ruled_at: int
) -> GameResult:
    """Return the result of a game that counts: the newest ruling on it, or disqualification of its players, decides.

    result: as it was played. seats: the disqualifications of its players, () if it is of a player against itself.
    ruled_at: the revision of the last ruling.
    """
    out = [each if each is not None and each.what.results is not Results.STAND else None for each in seats]
    newest = max((each for each in out if each is not None), default=None, key=_age)
    ruled = rulings[-1] if rulings else None
    if newest is not None and (ruled is None or newest.revision > ruled_at):
        void = any(each is not None and each.what.results is Results.VOID for each in out)
        points = None if void else (LOSS if out[0] else WIN, LOSS if out[1] else WIN)
        return result.ruled(points, newest.by, newest.note, forfeit=True)
    if ruled is None or ruled.decision is ev.Decision.STANDS:
        return result
    points = (ruled.points[0], ruled.points[1]) if ruled.decision is ev.Decision.POINTS else None
    return result.ruled(points, ruled.caller, ruled.note)


def _age(each: Disqualified) -> int:
    return each.revision
