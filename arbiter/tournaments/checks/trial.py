"""The check of a trial: the same two players meet, and swap seats from meeting to meeting."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.check import FormatCheck
from arbiter.tournaments.checks.history import EarlierRounds


class TrialCheck(FormatCheck):
    """A against B."""

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check a paired round."""
        sequence = [*history.past(), *event.meetings]
        for before, after in pairwise(sequence[-2:]):
            if (before.first, before.second) != (after.second, after.first):
                yield f"meeting {after.number} has not the seats of meeting {before.number}, swapped"
