"""What the checks of arena and ladder share: who may be paired in formats that pair the players who are free."""

from __future__ import annotations

from collections.abc import Iterator

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.history import EarlierRounds


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
