"""The charts below the board of a match: the time of each move, and after the end the expectations of each bot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from arbiter.drawing.curves import Expectation, Spent, expectation_chart, time_chart
from arbiter.matches.comments import opened
from arbiter.matches.match import Match
from arbiter.web.states import Played


class TimeUse(NamedTuple):
    """A player's moves without openings: their number and time in ms. credited: time that was not charged."""

    player: str
    moves: int
    total_ms: int
    longest_ms: int
    credited_ms: int


class MatchCharts(NamedTuple):
    """The charts of a match. `expected` is '' before its end, and if no bot has stated an expectation.

    said: the expectations, for the script: (plies played, seat, permille for that seat). here: the same in words, at
    the ply that is shown.
    """

    times: Markup
    use: Sequence[TimeUse]
    expected: Markup
    said: Sequence[Any]
    here: str


def charts(match: Match, moves: Sequence[Played], at: int) -> MatchCharts:
    """Return the charts of a match, for a page that shows the position after `at` plies."""
    spent = [Spent(move.ply, move.seat, move.spent_ms) for move in moves if move.spent_ms is not None]
    use = [_use(match.players[seat - 1], [move for move in moves if move.seat == seat]) for seat in (1, 2)]
    longest = max((each.longest_ms for each in use), default=0)
    totals = "; ".join(f"{each.player}: {each.total_ms / 1000:.1f} s in {each.moves} moves" for each in use)
    times = time_chart(spent, match.ply, at, f"Time of each move, at most {longest / 1000:.1f} s. {totals}")
    said = expectations(match)
    expected = Markup(expectation_chart(said, match.ply, at, _described(match, said))) if said else Markup()
    return MatchCharts(
        Markup(times),
        use,
        expected,
        [(each.ply + 1, each.seat, each.permille) for each in said],
        _here(match, said, at),
    )


def expectations(match: Match) -> list[Expectation]:
    """Return the evaluations of the bots, in order. They are secret until the match is over: none before that."""
    if match.result is None or not match.secret:
        return []
    found = opened(match.comments, match.secret)
    return [
        Expectation(ply, match.turns[ply], comment.evaluation)
        for ply, comment in sorted(found.items())
        if comment.evaluation is not None
    ]


def _use(player: str, moves: Sequence[Played]) -> TimeUse:
    timed = [move for move in moves if move.spent_ms is not None]
    spent = [move.spent_ms or 0 for move in timed]
    return TimeUse(player, len(timed), sum(spent), max(spent, default=0), sum(move.credited_ms or 0 for move in timed))


def _here(match: Match, said: Sequence[Expectation], at: int) -> str:
    """Return the last expectation of each player at a ply: `alice expects 62 %, bob 41 %`."""
    last = {each.seat: each.permille for each in said if each.ply < at}
    words = [f"{match.players[seat - 1]} {last[seat] / 10:.0f} %" for seat in (1, 2) if seat in last]
    return f"Expected score: {', '.join(words)}" if words else ""


def _described(match: Match, said: Sequence[Expectation]) -> str:
    parts = []
    for seat, player in enumerate(match.players, 1):
        own = [each.permille / 10 for each in said if each.seat == seat]
        if own:
            parts.append(f"{player} expected {own[0]:.0f} % at first and {own[-1]:.0f} % in the end")
    return f"What each player expected: {'; '.join(parts)}"
