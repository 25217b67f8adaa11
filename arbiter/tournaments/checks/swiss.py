"""The check of a Swiss.

Nobody meets twice, except after a meeting that was not played; forbidden pairs never meet. A round has at most one bye,
and only with an odd number of players; nobody gets two, or one after a win without play. Requested byes are granted. A
player's seats differ by at most 2, and none comes three times in a row, except in the last round (C.04.3 C3). A round
is complete before the next one is paired.
"""

from __future__ import annotations

from collections.abc import Iterator

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.check import FormatCheck
from arbiter.tournaments.checks.history import EarlierRounds


class SwissCheck(FormatCheck):
    """The rules of C.04.3 that can be checked on a single round."""

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check a paired round."""
        met = {frozenset((m.first, m.second)) for m in history.past() if history.played(m)}
        never = {frozenset(pair) for pair in history.spec.entry.forbidden}
        paired = {player for meeting in event.meetings for player in (meeting.first, meeting.second)}
        for meeting in history.past():
            if not history.done(meeting):
                yield f"meeting {meeting.number} of round {meeting.round} was still being played"
        for meeting in event.meetings:
            pair = frozenset((meeting.first, meeting.second))
            if pair in met:
                yield f"{meeting.first} and {meeting.second} meet again"
            if pair in never:
                yield f"{meeting.first} and {meeting.second} must not meet"
        yield from self._byes(history, event)
        expected = {player for player in history.here if event.round not in history.asked[player]}
        if event.meetings and paired | set(event.byes) != expected:
            others = ", ".join(sorted((paired | set(event.byes)) ^ expected)[:5])
            yield f"not everybody who plays was paired, or others were: {others}"
        last = event.round == history.spec.options.rounds
        for meeting in event.meetings:
            for seat, player in ((1, meeting.first), (2, meeting.second)):
                seats = [*history.seats(player), seat]
                if not last and (seats[-3:] == [seat] * 3 or abs(seats.count(1) - seats.count(2)) > 2):
                    yield f"{player} has seat {seat} too often"

    def _byes(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        if len(event.byes) > 1:
            yield f"{len(event.byes)} players have a bye"
        for player in event.byes:
            if any(player in byes for byes in history.byes.values()):
                yield f"{player} has a second bye"
            for meeting in history.past():
                mine = player in (meeting.first, meeting.second)
                if mine and not history.played(meeting) and history.margin(meeting, player) > 0:
                    yield f"{player} has a bye, and has won without play before"
