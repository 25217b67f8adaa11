"""The check of a ladder: only free players are paired, and newcomers play against themselves first."""

from __future__ import annotations

from collections.abc import Iterator

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.check import FormatCheck, only_the_free
from arbiter.tournaments.checks.history import EarlierRounds


class LadderCheck(FormatCheck):
    """Checks that a newcomer first meets itself, if the specification requires validation."""

    pairs_alone = True

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check a paired round."""
        yield from only_the_free(history, event)
        if not history.spec.options.validation:
            return
        alone = {m.first for m in history.past() if m.first == m.second and history.done(m)}
        for meeting in event.meetings:
            if meeting.first != meeting.second:
                for player in (meeting.first, meeting.second):
                    if player not in alone:
                        yield f"{player} was paired before it played against itself"
