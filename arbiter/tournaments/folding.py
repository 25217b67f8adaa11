"""Folding: a ladder that goes on drops its old games, and keeps their sums (`arbiter.tournaments.old_games`).

A meeting is old once all its games have results, `KEPT` newer ones are paired, and nothing needs it any more: each
player's last two meetings say which seat it has next (`arbiter.tournaments.formats.matching`), and its validation games
whether it may play. Games on which an organiser has ruled stay.

Standings, ratings and pairings of a folded tournament are those of the whole one; code that looks at single games sees
only the newest. A ruling on an old game, or playing it again, needs that game (`old_games`): without it a folded
tournament raises IndexError or LookupError (`arbiter.tournaments.recalling` puts it back). Other corrections need none:
the sums are those of the games as they were played.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments import formats
from arbiter.tournaments.corrections import Replay
from arbiter.tournaments.meetings import Meeting
from arbiter.tournaments.spec import TieBreak
from arbiter.tournaments.tournament import Tournament

KEPT: Final = 1_000  #: newest meetings
AT_ONCE: Final = 50  #: meetings that are paired between two looks for old ones
MOST: Final = 500  #: meetings that are dropped together, in about 20 milliseconds
OF_GAMES: Final = ("results", "as_played", "changed", "attempts", "tries")  #: fields of a tournament by game
_LAST: Final = 2  #: meetings of each player with others


def fold(tournament: Tournament, most: int = MOST) -> None:
    """Drop old games of a tournament, if it is a ladder and there are enough: those of at most this many meetings."""
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
    drop(tournament, old)


def old_games(tournament: Tournament, decisions: Iterable[object]) -> frozenset[int]:
    """Return the games about which these events or commands are, and which the tournament has dropped."""
    games, old = tournament.games, tournament.old
    about = (_game_of(each) for each in decisions) if old else ()
    return frozenset(game for game in about if 0 < game <= len(games) and not games.has(game - 1))


def _game_of(decision: object) -> int:
    if isinstance(decision, ev.Ruled | do.Rule):
        return decision.game
    if isinstance(decision, ev.Corrected | do.Correct) and isinstance(decision.what, Replay):
        return decision.what.game
    return 0


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


def drop(tournament: Tournament, meetings: list[Meeting]) -> None:
    """Drop meetings that are decided: only their sums stay."""
    old, gone = tournament.old, {meeting.number for meeting in meetings}
    for meeting in meetings:
        old.meetings += 1
        tournament.ends.pop(meeting.number, None)
        tournament.encounters.drop(meeting.number - 1)
        tournament.meetings.drop(meeting.number - 1)
        for player, other in (meeting.players, meeting.players[::-1]):
            old.add_meeting(player, other, tournament.meeting_points(meeting, player, tournament.as_played))
    for meeting in meetings:
        for game in meeting.games:
            old.add(game, tournament.as_played[game.number])
            tournament.games.drop(game.number - 1)
            for name in OF_GAMES:
                vars(tournament)[name].pop(game.number, None)
    for player in {each for meeting in meetings for each in meeting.players}:
        kept_ones = [each for each in tournament.meetings_of[player] if each.number not in gone]
        tournament.meetings_of[player] = kept_ones
