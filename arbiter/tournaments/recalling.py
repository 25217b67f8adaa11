"""Old games of a ladder, put back into a folded tournament (`arbiter.tournaments.folding`).

An organiser's decision on an old game needs this game, and the sums of the others. Both are found in the log, which is
read from its beginning, apart from the tournament that goes on: `want` says what is looked for, `Recall` reads, and
`put_back` changes the tournament. After that it is the one that would never have dropped these games.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from arbiter.tournaments import events as ev
from arbiter.tournaments.corrections import Replay
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.folding import OF_GAMES, drop
from arbiter.tournaments.meetings import Meeting
from arbiter.tournaments.old_games import OldGames
from arbiter.tournaments.tournament import Encounter, MeetingEnd, Tournament


class Wanted(NamedTuple):
    """What is looked for in the log of a folded tournament.

    games: old ones; revision: of the last event that it has applied. meetings: those that it has not dropped; again:
    games that were played again. old_games, decided_at: as in the tournament.
    """

    tournament: str
    revision: int
    games: frozenset[int]
    meetings: frozenset[int]
    again: frozenset[int]
    old_games: int
    decided_at: int


class OldMeeting(NamedTuple):
    """A meeting that was dropped. games: the values of the fields `OF_GAMES`, by game."""

    meeting: Meeting
    encounter: Encounter
    end: MeetingEnd
    games: Mapping[str, Mapping[int, Any]]


class Recalled(NamedTuple):
    """Old games, and the sums of the others."""

    wanted: Wanted
    old: OldGames
    meetings: tuple[OldMeeting, ...]


def want(tournament: Tournament, games: frozenset[int]) -> Wanted:
    """Return what to look for, so that a folded tournament has these old games again."""
    again = (each.what.game for each in tournament.corrections if isinstance(each.what, Replay))
    meetings = frozenset(meeting.number for meeting in tournament.meetings)
    return Wanted(
        *(tournament.id, tournament.revision, games, meetings, frozenset(again)),
        *(tournament.old.games, tournament.decided_at),
    )


class Recall:
    """A log that is read once more, for some old games. Meetings that nobody asked for are dropped on the way."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._tournament: Tournament | None = None

    @property
    def tournament(self) -> Tournament:
        """The tournament after the events so far: a folded one."""
        assert self._tournament is not None, "no event has been read"
        return self._tournament

    def read(self, events: Iterable[ev.Event]) -> None:
        """Apply the next events. Raises what `evolution.apply` raises."""
        for event in events:
            if self._tournament is None:
                assert isinstance(event, ev.Created), "a tournament's log begins with its creation"
                self._tournament = Tournament(event)
            else:
                apply(self._tournament, event)
        self._drop_all_but(self._wanted.games | self._wanted.again)

    def found(self) -> Recalled:
        """Return the games, once all events are read. Raises IndexError if one of them was not dropped."""
        self._drop_all_but(self._wanted.games)
        tournament = self.tournament
        numbers = sorted({tournament.games[game - 1].meeting for game in self._wanted.games})
        return Recalled(self._wanted, tournament.old, tuple(_old_meeting(tournament, number) for number in numbers))

    def _drop_all_but(self, games: Collection[int]) -> None:
        tournament, here = self.tournament, self._wanted.meetings
        drop(
            tournament,
            [
                meeting
                for meeting in tournament.meetings
                if meeting.number not in here
                and tournament.decided(meeting)
                and not any(game.number in games for game in meeting.games)
            ],
        )


def _old_meeting(tournament: Tournament, number: int) -> OldMeeting:
    meeting, fields = tournament.meetings[number - 1], vars(tournament)
    numbers = [game.number for game in meeting.games]
    games = {name: {each: fields[name][each] for each in numbers if each in fields[name]} for name in OF_GAMES}
    return OldMeeting(meeting, tournament.encounters[number - 1], tournament.ends[number], games)


def put_back(tournament: Tournament, recalled: Recalled) -> None:
    """Put old games back, unless old games or decisions are others than when these were asked for."""
    asked, old = recalled.wanted, tournament.old
    if (asked.old_games, asked.decided_at) != (old.games, tournament.decided_at):
        return
    tournament.old = recalled.old.copy()
    tournament.old.looked_at = old.looked_at
    found = recalled.meetings
    tournament.meetings.put_back({each.meeting.number - 1: each.meeting for each in found})
    tournament.encounters.put_back({each.meeting.number - 1: each.encounter for each in found})
    tournament.games.put_back({game.number - 1: game for each in found for game in each.meeting.games})
    for each in found:
        tournament.ends[each.meeting.number] = each.end
        for name, values in each.games.items():
            vars(tournament)[name].update(values)
        for player in each.meeting.players:
            tournament.meetings_of[player] = sorted([*tournament.meetings_of[player], each.meeting])
