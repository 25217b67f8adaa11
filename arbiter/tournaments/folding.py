"""Folding: a ladder that goes on drops its old games, and keeps their sums (`arbiter.tournaments.old_games`).

A meeting is old once all its games have results, `KEPT` newer ones are paired, and nothing needs it any more: each
player's last two meetings say which seat it has next (`arbiter.tournaments.formats.matching`), and its validation games
whether it may play. Games on which an organiser has ruled stay.

Standings, ratings and pairings of a folded tournament are those of the whole one; code that looks at single games sees
only the newest. An organiser's ruling on an old game, or a correction, which may change any result, needs the whole
tournament (`needs_whole`): a folded one raises IndexError or LookupError for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments import formats
from arbiter.tournaments.meetings import Meeting
from arbiter.tournaments.spec import TieBreak
from arbiter.tournaments.tournament import Tournament

KEPT: Final = 1_000  #: newest meetings
AT_ONCE: Final = 50  #: meetings that are paired between two looks for old ones
MOST: Final = 500  #: meetings that are dropped together, in about 20 milliseconds
_LAST: Final = 2  #: meetings of each player with others


def fold(tournament: Tournament, most: int = MOST) -> None:
    """Drop old games of a tournament, if it is a ladder and there are enough: those of at most so many meetings."""
    paired = len(tournament.meetings)
    if paired < max(KEPT, tournament.old.looked_at) + AT_ONCE or not _folds(tournament):
        return
    newest = paired - KEPT
    last = {each.number for player in tournament.meetings_of for each in _last_of(tournament, player)}
    old: list[Meeting] = []
    for meeting in tournament.meetings:
        if meeting.number > newest or len(old) == most:
            break
        needed = meeting.first == meeting.second or meeting.number in last or not tournament.decided(meeting)
        if not needed and not any(game.number in tournament.rulings for game in meeting.games):
            old.append(meeting)
    if len(old) < most:
        tournament.old.looked_at = paired
    _drop(tournament, old)


def needs_whole(tournament: Tournament, decisions: Iterable[object]) -> bool:
    """Return whether some of these events or commands may be about old games, which the tournament has dropped."""
    return bool(tournament.old) and any(_is_about_old(tournament, each) for each in decisions)


def _is_about_old(tournament: Tournament, decision: object) -> bool:
    if isinstance(decision, ev.Ruled | do.Rule):
        return 0 < decision.game <= len(tournament.games) and not tournament.games.has(decision.game - 1)
    return isinstance(decision, (ev.Corrected, do.AfterTheEnd))


def _folds(tournament: Tournament) -> bool:
    """Return whether nothing but sums is asked of the old games of this tournament."""
    spec = tournament.spec
    return formats.of(spec).sums_do and TieBreak.PROGRESSIVE not in formats.tie_breaks(spec)


def _last_of(tournament: Tournament, player: str) -> list[Meeting]:
    found: list[Meeting] = []
    for meeting in reversed(tournament.meetings_of[player]):
        if meeting.first != meeting.second:
            found.append(meeting)
        if len(found) == _LAST:
            break
    return found


def _drop(tournament: Tournament, meetings: list[Meeting]) -> None:
    old, gone = tournament.old, {meeting.number for meeting in meetings}
    for meeting in meetings:
        old.meetings += 1
        tournament.ends.pop(meeting.number, None)
        tournament.encounters.drop(meeting.number - 1)
        tournament.meetings.drop(meeting.number - 1)
        for player in (meeting.first, meeting.second):
            old.meetings_of[player] += 1
            old.points_of[player] += tournament.meeting_points(meeting, player)
    for meeting in meetings:
        for game in meeting.games:
            old.add(game, tournament.results.pop(game.number))
            tournament.games.drop(game.number - 1)
            for kept in (tournament.as_played, tournament.changed, tournament.attempts, tournament.tries):
                kept.pop(game.number, None)
    for player in {each for meeting in meetings for each in meeting.players}:
        kept_ones = [each for each in tournament.meetings_of[player] if each.number not in gone]
        tournament.meetings_of[player] = kept_ones
