"""The interface of a format's check, and what the checks of formats that pair free players share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.history import EarlierRounds
from arbiter.tournaments.spec import Options


class FormatCheck:
    """The rules that one format adds to those of all formats. It imports nothing from the pairers.

    Each method yields faults, a clause each.
    """

    pairs_withdrawn: ClassVar[bool] = False  #: withdrawn players may be paired: they lose by walkover
    pairs_alone: ClassVar[bool] = False  #: a player may be paired with itself
    pairs_anew: ClassVar[bool] = False  #: a round that is changed by hand is paired again, all of it

    def same_openings(self, options: Options) -> bool:
        """Return whether every pair plays the same openings."""
        return False

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check a paired round."""
        yield from ()

    def legal(self, history: EarlierRounds, event: ev.Paired | None) -> Iterator[str]:
        """Check what an organiser may do all the same, by hand: of a paired round, or None for all at the end."""
        yield from ()

    def end(self, history: EarlierRounds) -> Iterator[str]:
        """Check a completed tournament."""
        yield from ()


def only_the_free(history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
    """Yield players that were paired although they were not free, or had another game left, and forbidden pairs."""
    free = set(event.free)
    busy = {player: left.number for left in history.going_on.values() for player in left.players}
    for meeting in event.meetings:
        for player in (meeting.first, meeting.second):
            if player not in free:
                yield f"{player} was paired, and was not free"
            if player in busy:
                yield f"{player} was paired, and meeting {busy[player]} of it went on"
    for meeting in event.meetings:
        if frozenset((meeting.first, meeting.second)) in history.forbidden:
            yield f"{meeting.first} and {meeting.second} must not meet"
