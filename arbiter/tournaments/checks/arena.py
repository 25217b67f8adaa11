"""The check of an arena: only free players are paired; no rematch while another opponent was free."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.check import FormatCheck
from arbiter.tournaments.checks.free import only_the_free
from arbiter.tournaments.checks.history import EarlierRounds


class ArenaCheck(FormatCheck):
    """Checks that two rematches of a round could not have swapped opponents."""

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check a paired round."""
        yield from only_the_free(history, event)
        never = {frozenset(pair) for pair in history.spec.entry.forbidden}

        def again(first: str, second: str) -> bool:
            return _last(history, first) == second or _last(history, second) == first

        def fresh(first: str, second: str) -> bool:
            return not again(first, second) and frozenset((first, second)) not in never

        paired = {player for meeting in event.meetings for player in (meeting.first, meeting.second)}
        alone = [player for player in event.free if player not in paired]
        rematches = [(m.first, m.second) for m in event.meetings if again(m.first, m.second)]
        for first, second in rematches:
            # A player that was left over could have replaced either of them.
            for other in alone:
                if fresh(first, other) or fresh(second, other):
                    yield f"{first} and {second} meet again, though {other} was free"
        for (a, b), (c, d) in combinations(rematches, 2):  # two rematches could have swapped opponents
            if (fresh(a, c) and fresh(b, d)) or (fresh(a, d) and fresh(b, c)):
                yield f"{a} and {b} meet again, though {c} and {d} were free"


def _last(history: EarlierRounds, player: str) -> str:
    found = ""
    for meeting in history.past():
        if player in (meeting.first, meeting.second) and meeting.first != meeting.second:
            found = meeting.second if meeting.first == player else meeting.first
    return found
