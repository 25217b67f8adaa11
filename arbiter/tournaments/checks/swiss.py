"""The check of a Swiss.

Nobody meets twice, except after a meeting that was not played; forbidden pairs never meet. A round has at most one bye,
and only with an odd number of players; nobody gets two, or one after a win without play. Requested byes are granted. A
player's seats differ by at most 2, and none comes three times in a row, except in the last round; there, two players
who both have to get the same seat may only meet if one of them is a topscorer (C.04.3 C3). A round is complete before
the next one is paired.

In rounds of the edition of 1 February 2026: no player with a lower score could have had the bye if others of the same
round had changed their opponents (C5); seats go to the only preference, to the stronger one, and else alternate from
the last time when two players had different ones (5.2.1 to 5.2.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.check import FormatCheck
from arbiter.tournaments.checks.history import EarlierRounds
from arbiter.tournaments.meetings import Meeting

EDITION: Final = "since 1 February 2026"
"""What the rules of a tournament say if it was paired by that edition."""
ABSOLUTE: Final = 3


class Preference(NamedTuple):
    """The seat that a player prefers, 0 for none, and how strongly: at `ABSOLUTE` the colour difference counts too."""

    seat: int = 0
    strength: int = 0
    difference: int = 0


class SwissCheck(FormatCheck):
    """The rules of C.04.3 that can be checked on a single round."""

    pairs_anew = True

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check a paired round."""
        paired = {player for meeting in event.meetings for player in (meeting.first, meeting.second)}
        for meeting in history.past():
            if not history.done(meeting):
                yield f"meeting {meeting.number} of round {meeting.round} was still being played"
        expected = {player for player in history.here if event.round not in history.asked[player]}
        if (event.meetings or event.round in history.byes_by_hand) and paired | set(event.byes) != expected:
            others = ", ".join(sorted((paired | set(event.byes)) ^ expected)[:5])
            yield f"not everybody who plays was paired, or others were: {others}"
        elif not event.meetings and len(expected) > 1:
            yield f"nobody was paired, though {len(expected)} players were there"

    def legal(self, history: EarlierRounds, event: ev.Paired | None) -> Iterator[str]:
        """Check the pairs, the seats and the byes of a round."""
        if event is None:
            return
        before = _Before(history, event.round)
        for meeting in event.meetings:
            pair = frozenset((meeting.first, meeting.second))
            if pair in before.met:
                yield f"{meeting.first} and {meeting.second} meet again"
            if pair in before.never:
                yield f"{meeting.first} and {meeting.second} must not meet"
        yield from self._byes(history, event, before)
        for meeting in event.meetings:
            yield from before.barred_seats(meeting)
            if EDITION in history.rules:
                yield from before.seat_faults(meeting)

    def end(self, history: EarlierRounds) -> Iterator[str]:
        """Check a completed tournament: it does not end because players sit out a single round."""
        following = max(history.byes, default=0) + 1
        playing = [player for player in history.here if following not in history.asked[player]]
        if following <= history.spec.options.rounds and len(playing) < 2 <= len(history.here):
            yield f"it ended before round {following}, which only {len(playing)} would have played: others come back"

    def _byes(self, history: EarlierRounds, event: ev.Paired, before: _Before) -> Iterator[str]:
        if len(event.byes) > 1:
            yield f"{len(event.byes)} players have a bye"
        for player in event.byes:
            if any(player in byes for byes in history.byes.values()):
                yield f"{player} has a second bye"
            for meeting in history.past():
                if _won_without_play(history, meeting, player):
                    yield f"{player} has a bye, and has won without play before"
            lower = before.lower_bye(player, event.meetings) if EDITION in history.rules else ""
            if lower:
                yield f"{player} has the bye, but {lower} with a lower score could have had it"


def _won_without_play(history: EarlierRounds, meeting: Meeting, player: str) -> bool:
    mine = player in (meeting.first, meeting.second)
    return mine and not history.played(meeting) and history.margin(meeting, player) > 0


class _Before:
    """What the rounds before one say about its players."""

    def __init__(self, history: EarlierRounds, round_: int) -> None:
        self.met: set[frozenset[str]] = set()
        self.never = frozenset(history.forbidden)
        options = history.spec.options
        self.last = round_ == options.rounds
        accelerated = history.virtual or ((options.rounds + 1) // 2 if options.accelerated else 0)
        self.accelerated = round_ <= accelerated  # scores have virtual points
        self._seats: dict[str, list[int]] = {}
        self._no_bye = {player for byes in history.byes.values() for player in byes}
        self._scores = Counter(dict.fromkeys(self._no_bye, 2))  # in half points
        self._scores.update(player for sitting in history.sitting.values() for player in sitting)
        self._entered = set(history.order)
        self._half = round_ - 1  # half of the most that can be had
        for meeting in history.past():
            played = history.played(meeting)
            if played:
                self.met.add(frozenset((meeting.first, meeting.second)))
            for seat, player in ((1, meeting.first), (2, meeting.second)):
                margin = history.margin(meeting, player)
                self._scores[player] += history.meeting_points(meeting, player)
                if played:
                    self._seats.setdefault(player, []).append(seat)
                elif margin > 0:
                    self._no_bye.add(player)

    def seats(self, player: str) -> list[int]:
        """Return a player's seats in the meetings that were played, in order."""
        return self._seats.get(player, [])

    def preference(self, player: str) -> Preference:
        """Return a player's preference (1.7)."""
        seats = self.seats(player)
        difference = seats.count(1) - seats.count(2)
        fewer = 2 if difference > 0 else 1
        if abs(difference) > 1:
            return Preference(fewer, ABSOLUTE, abs(difference))
        if len(seats) > 1 and seats[-1] == seats[-2]:
            return Preference(3 - seats[-1], ABSOLUTE, abs(difference))
        if difference:
            return Preference(fewer, 2)
        return Preference(3 - seats[-1], 1) if seats else Preference()

    def barred(self, one: str, other: str) -> bool:
        """Return whether C3 keeps two players apart."""
        first, second = self.preference(one), self.preference(other)
        if first.strength != ABSOLUTE or second.strength != ABSOLUTE or first.seat != second.seat:
            return False
        return not self.last or max(self._scores[one], self._scores[other]) <= self._half

    def barred_seats(self, meeting: Meeting) -> Iterator[str]:
        """Yield which seats, and which pair, are against C3."""
        for seat, player in ((1, meeting.first), (2, meeting.second)):
            seats = [*self.seats(player), seat]
            if not self.last and (seats[-3:] == [seat] * 3 or seats.count(seat) - seats.count(3 - seat) > 2):
                yield f"{player} has seat {seat} too often"
        if self.barred(meeting.first, meeting.second):
            yield f"{meeting.first} and {meeting.second} must have the same seat, and neither is a topscorer"

    def seat_faults(self, meeting: Meeting) -> Iterator[str]:
        """Yield what is wrong with the seats of a meeting."""
        first, second = self.preference(meeting.first), self.preference(meeting.second)
        if first.seat != second.seat:
            if first.seat == 2 or second.seat == 1:
                yield f"{meeting.first} and {meeting.second} have the seats that the other one prefers"
        elif first[1:] != second[1:]:
            stronger, seat = (meeting.first, 1) if first[1:] > second[1:] else (meeting.second, 2)
            if first.seat != seat:
                yield f"{stronger} has the stronger preference for seat {first.seat}, and does not get it"
        else:
            history = zip(reversed(self.seats(meeting.first)), reversed(self.seats(meeting.second)), strict=False)
            if next((one for one, other in history if one != other), 2) == 1:
                yield f"{meeting.first} and {meeting.second} do not alternate seats"

    def lower_bye(self, player: str, meetings: tuple[Meeting, ...]) -> str:
        """Return a player with a lower score who could have had the bye of another one, '' if none is found (C5).

        The other one takes an opponent from somebody, who takes one from somebody else, and so on.
        """
        lower = {each for each in self._entered - self._no_bye if self._scores[each] < self._scores[player]}
        partner = {one: other for m in meetings for one, other in ((m.first, m.second), (m.second, m.first))}
        queue, seen = [player] if lower & partner.keys() and not self.accelerated else [], set[str]()
        for one in queue:
            for other, left in partner.items():
                if left not in seen and other not in seen and self._may_meet(one, other):
                    if left in lower:
                        return left
                    seen |= {left, other}
                    queue.append(left)
        return ""

    def _may_meet(self, one: str, other: str) -> bool:
        pair = frozenset((one, other))
        return len(pair) == 2 and pair not in self.met and pair not in self.never and not self.barred(one, other)
