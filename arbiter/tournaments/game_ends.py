"""What the end of a game means, in every format. No other module decides it.

A game is played by a match, or by several if the first ones are void. This is how the end of a match ends its game:

| end of the match | the game |
| --- | --- |
| won or drawn: by the rules, by agreement, on time, by an organiser, … | has this result |
| one player left and did not come back, the other was there | is lost by the one who left |
| one player did not come | is lost by it; with `no_show = "void"` it is played again |
| neither player came | is lost by both |
| void for any other reason: both left, the arbiter failed, an organiser aborted it, its record is damaged | is played again |
| void, and it was the last of `attempts` | is lost by the one who did not come; otherwise neither has won |
| void, and a player has withdrawn meanwhile | is lost by both if the other was not there; otherwise as in `arbiter.tournaments.walkovers` |

And this is what the result of a game means:

| result | points | tie-breaks, pairing | ratings, evidence of a trial | pages |
| --- | --- | --- | --- | --- |
| won or drawn in a match | 1 : 0, ½ : ½ | played: the two have met | counts | who has won, or a draw |
| played elsewhere (`arbiter.tournaments.going_on`) | as reported | played: the two have met | does not count | who has won, or a draw |
| won because the other did not come, or has withdrawn | 1 : 0 | a forfeit: the two have not met | does not count | who has won, and why |
| neither has won: both did not come, or have withdrawn, or all matches were void | 0 : 0 | a forfeit of both | does not count | both lost |

An organiser may rule on a game that has a result (`arbiter.tournaments.game_rulings`). From then on the ruling counts:

| ruling | points | tie-breaks, pairing | ratings |
| --- | --- | --- | --- |
| points for each side: 1 : 0, ½ : ½, ½ : 0, 0 : 0, … | these | played, or a forfeit, as before it | count if it was played and they add up to 1 |
| void | 0 : 0, and the game is not counted | the two have not met | does not count |
| stands | those of the result | as before all rulings | as before all rulings |
| a player is disqualified from the start, its results are forfeits | 0 for it, 1 for the other; 0 : 0 if both are | a forfeit | does not count |
| a player is disqualified from the start, its results are void | 0 : 0, and the game is not counted | the two have not met | does not count |

So a void match is never a draw. Servers of earlier versions recorded one that both players had left as a result without
a winner; it is read as a game that both have lost.
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, NamedTuple

Winner = Literal[0, 1, 2]
"""The seat that won; 0 for a draw, and if neither has won."""

WIN, DRAW, LOSS = 2, 1, 0  #: in half points
HALF_POINTS: Final = {0: (DRAW, DRAW), 1: (WIN, LOSS), 2: (LOSS, WIN)}
"""What seat 1 and seat 2 score in a game that was played, by winner."""

NO_SHOW: Final = "no_show"
"""The reason of a game whose match never started because a player did not come; the same as for matches."""
WALKOVER: Final = "walkover"
"""The reason of a game without a match: a player had withdrawn, or had not come to another game of the same meeting.

Its cause is absence.
"""
UNPLAYED: Final = "unplayed"
"""The reason of a game that neither has won because all its matches were void; its cause is that of the last one."""
ELSEWHERE: Final = "played_elsewhere"
"""The reason of a game whose result is from a report; its cause is `ABSENCE` if it was a forfeit, else ''."""
ABSENCE: Final = "absence"
"""The cause of a game that was lost because a player was not there; the same as for matches."""

_FAULTS: Final = {"time": "timeouts", ABSENCE: "crashes", "rule_violation": "violations"}
"""How the cause of an end counts for the player who has lost by it."""


class Ruling(NamedTuple):
    """What an organiser has ruled on a game. points: half points by seat; None: the game is void.

    before: the half points of its result without rulings. played: whether it was played.
    """

    points: tuple[int, int] | None
    before: tuple[int, int]
    played: bool
    by: str
    note: str


class GameResult(NamedTuple):
    """A game's result: `match` is '' if no match counts; `reason` and `cause` are those of the match's end.

    moves, versions: as in `arbiter.tournaments.events.EndedGame`. ruling: the ruling that counts instead; `winner` is
    then its winner, 0 if neither has the whole point.
    """

    winner: Winner
    match: str
    reason: str
    cause: str
    moves: str = ""
    versions: tuple[str, ...] = ()
    ruling: Ruling | None = None

    @property
    def void(self) -> bool:
        """Whether an organiser has ruled that the game does not count."""
        return self.ruling is not None and self.ruling.points is None

    @property
    def played(self) -> bool:
        """Whether the game was played: a match counts, and both players came to it."""
        if self.ruling is not None:
            return self.ruling.played and not self.void
        if self.reason == ELSEWHERE:
            return self.cause != ABSENCE
        return bool(self.match) and self.reason != NO_SHOW and (bool(self.winner) or self.cause != ABSENCE)

    @property
    def lost_by_both(self) -> bool:
        """Whether neither player has won, and it is no draw."""
        if self.ruling is not None:
            return not any(self.ruling.points or ())
        return not self.winner and not self.played

    @property
    def rated(self) -> bool:
        """Whether it counts for ratings: it was played here, and one point was shared."""
        return self.played and self.reason != ELSEWHERE and self.half_points(1) + self.half_points(2) == WIN

    def half_points(self, seat: int) -> int:
        """Return what a seat scored."""
        if self.ruling is not None:
            return LOSS if self.ruling.points is None else self.ruling.points[seat - 1]
        return LOSS if self.lost_by_both else HALF_POINTS[self.winner][seat - 1]

    def ruled(self, points: tuple[int, int] | None, by: str, note: str, *, forfeit: bool = False) -> GameResult:
        """Return this result, which has no ruling, with one. points: half points by seat; None: void.

        forfeit: it counts as not played.
        """
        winner: Winner = 1 if points == (WIN, LOSS) else 2 if points == (LOSS, WIN) else 0
        before = (self.half_points(1), self.half_points(2))
        return self._replace(winner=winner, ruling=Ruling(points, before, self.played and not forfeit, by, note))

    def fault(self, seat: int) -> str:
        """Return the fault of its own by which a seat lost, a field of `standings.Faults`; '' if it did not."""
        if self.half_points(seat) != LOSS or self.ruling is not None:
            return ""
        return (
            "walkovers"
            if self.reason in (WALKOVER, ELSEWHERE) and self.cause == ABSENCE
            else _FAULTS.get(self.cause, "")
        )


def winner_of(winner: Winner | None, reason: str, absent: Collection[int]) -> Winner | None:
    """Return the winner of a game whose match has ended, 0 also if both have lost; None if it is played again.

    The arguments are as in `arbiter.tournaments.commands.ReportResult`.
    """
    return 0 if winner is None and reason == NO_SHOW and len(absent) == 2 else winner


def after_last(reason: str, absent: Collection[int]) -> tuple[Winner, str]:
    """Return winner and reason of a game whose last attempt was void.

    The arguments are as in `arbiter.tournaments.commands.ReportResult`.
    """
    return (without((1 in absent, 2 in absent)), NO_SHOW) if reason == NO_SHOW else (0, UNPLAYED)


def without(gone: tuple[bool, bool]) -> Winner:
    """Return the winner of a game that one or both players, by seat, did not play: the one that is not gone, or 0."""
    return 0 if all(gone) else 2 if gone[0] else 1
