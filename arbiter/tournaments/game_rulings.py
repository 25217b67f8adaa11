"""Rulings of an organiser on games that have a result: which are allowed, and what they lead to.

Nothing is edited: a ruling is an event of the log, and the newest one on a game counts; `stands` takes back all before
it. What it means is in `arbiter.tournaments.game_ends`. Standings and the tournament's ratings follow at once, also
after the end. Pairings that exist stay; later ones are made of the results with their rulings.

| format | which games |
| --- | --- |
| round robin, gauntlet, Swiss, arena, ladder | all that have a result |
| knockout | while its tie has no later meeting; if the bracket has gone on by its result, the bracket stays |
| trial | none: its test has used the games |

A ladder's validation games are not ruled on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments import formats
from arbiter.tournaments.game_ends import WIN
from arbiter.tournaments.tournament import Tournament, TournamentPhase

RESULTS: Final[Mapping[str, tuple[ev.Decision, tuple[int, ...]]]] = {
    "1-0": (ev.Decision.POINTS, (2, 0)),
    "0-1": (ev.Decision.POINTS, (0, 2)),
    "1/2-1/2": (ev.Decision.POINTS, (1, 1)),
    "1/2-0": (ev.Decision.POINTS, (1, 0)),
    "0-1/2": (ev.Decision.POINTS, (0, 1)),
    "0-0": (ev.Decision.POINTS, (0, 0)),
    "void": (ev.Decision.VOID, ()),
    "stands": (ev.Decision.STANDS, ()),
}
"""What an organiser can rule, as people write it: the points of seat 1 first."""


def in_words(decision: str, points: Sequence[int]) -> str:
    """Return a decision as people read it: `1–0`, `½–0`, `void`, `stands`."""
    if decision != ev.Decision.POINTS:
        return str(decision)
    return "–".join("0" if not each else "½" if each == 1 else "1" for each in points)


def change_in_words(tournament: Tournament, number: int) -> str:
    """Return how a result was changed as people read it: `1–0, changed to 0–1 by org: why`; '' if nobody decided on it.

    It was changed by the newest ruling, or because a player was disqualified.
    """
    result, rulings = tournament.results.get(number), tournament.rulings.get(number, ())
    ruling = result.ruling if result is not None else None
    if ruling is not None:
        points = in_words(ev.Decision.VOID if ruling.points is None else ev.Decision.POINTS, ruling.points or ())
        if ruling.points is not None and not ruling.played:
            points += " without play"
        return f"{in_words(ev.Decision.POINTS, ruling.before)}, changed to {points} {_by(ruling.by, ruling.note)}"
    return f"the result stands, ruled {_by(rulings[-1].caller, rulings[-1].note)}" if rulings else ""


def _by(who: str, note: str) -> str:
    return f"by {who}{f': {note}' if note else ''}"


def why_not(tournament: Tournament, command: do.Rule) -> str:
    """Return why a ruling is not allowed, as a clause; '' if it is."""
    pairer, number = formats.of(tournament.spec), command.game
    if tournament.phase is TournamentPhase.ENTRY:
        return "it has not started yet"
    if number not in tournament.results:
        return f"game {number} has no result to rule on"
    if pairer.ends_by_test:
        return "nobody rules on the games of a trial, since its test has used them"
    game = tournament.games[number - 1]
    if game.seat1 == game.seat2:
        return f"game {number} is one of {game.seat1} against itself, which counts nowhere"
    if pairer.has_bracket and tie_has_gone_on(tournament, number):
        return f"the tie has gone on since game {number}"
    return ""


def tie_has_gone_on(tournament: Tournament, number: int) -> bool:
    """Return whether the tie of a game of a bracket has a later meeting."""
    meeting = tournament.meetings[tournament.games[number - 1].meeting - 1]
    return any(
        each.place == meeting.place and each.number > meeting.number for each in tournament.meetings_of[meeting.first]
    )


def are_valid(decision: ev.Decision, points: Sequence[int]) -> bool:
    """Return whether these are the points of a decision: none, or half points by seat that add up to 2 at most."""
    if decision is not ev.Decision.POINTS:
        return not points
    return len(points) == 2 and min(points) >= 0 and sum(points) <= WIN
