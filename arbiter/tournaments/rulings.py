"""Rulings of an organiser on games that have a result: which are allowed, and what they lead to.

Nothing is edited: a ruling is an event of the log, and the newest one on a game counts; `stands` takes back all before
it. What it means is in `arbiter.tournaments.game_ends`. Standings and the tournament's ratings follow at once, also
after the end. Pairings that exist stay; later ones are made of the results with their rulings.

| format | which games |
| --- | --- |
| round robin, gauntlet, Swiss, arena, ladder | all that have a result |
| knockout | while neither player has been paired again since: the rest of the bracket follows from who went on |
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
    """Return the newest ruling on a game as people read it: `1–0, changed to 0–1 by org: why`; '' without one."""
    rulings = tournament.rulings.get(number, ())
    if not rulings:
        return ""
    newest, result = rulings[-1], tournament.results[number]
    said = f"by {newest.caller}{f': {newest.note}' if newest.note else ''}"
    if result.ruling is None:
        return f"the result stands, ruled {said}"
    before = in_words(ev.Decision.POINTS, result.ruling.before)
    return f"{before}, changed to {in_words(newest.decision, newest.points)} {said}"


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
    if pairer.has_bracket:
        for player in (game.seat1, game.seat2):
            last = tournament.meetings_of[player][-1]
            if last.number != game.meeting:
                return f"{player} has been paired again since game {number}, and the bracket follows from it"
    return ""


def are_valid(decision: ev.Decision, points: Sequence[int]) -> bool:
    """Return whether these are the points of a decision: none, or half points by seat that add up to 2 at most."""
    if decision is not ev.Decision.POINTS:
        return not points
    return len(points) == 2 and min(points) >= 0 and sum(points) <= WIN
