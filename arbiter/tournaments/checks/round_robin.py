"""The check of a round robin: all pairs meet once in each cycle; a player's seats differ by at most 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.check import FormatCheck
from arbiter.tournaments.checks.history import EarlierRounds


class RoundRobinCheck(FormatCheck):
    """Nobody has the same seat three times in a row, except with four players over more than two cycles."""

    pairs_withdrawn = True

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check a paired round."""
        size = len(history.starters)
        expected = size // 2
        if len(event.meetings) != expected:
            yield f"{len(event.meetings)} meetings, expected {expected}"

    def legal(self, history: EarlierRounds, event: ev.Paired | None) -> Iterator[str]:
        """Check who has met whom, and with which seats."""
        if event is not None:
            return
        times = Counter(frozenset((m.first, m.second)) for m in history.past())
        first = Counter(m.first for m in history.past())
        second = Counter(m.second for m in history.past())
        for pair in combinations(history.starters, 2):
            if times[frozenset(pair)] != history.spec.options.cycles:
                yield f"{pair[0]} and {pair[1]} met {times[frozenset(pair)]} times"
        for player in history.starters:
            if abs(first[player] - second[player]) > 1:
                yield f"{player} had seat 1 {first[player]} times and seat 2 {second[player]} times"
            held = [meeting.first == player for meeting in history.past() if player in (meeting.first, meeting.second)]
            if len(history.starters) == 4 and history.spec.options.cycles > 2:
                continue  # the tables for four players cannot avoid it over more cycles
            if any(seats in ((True,) * 3, (False,) * 3) for seats in zip(held, held[1:], held[2:], strict=False)):
                yield f"{player} had one seat three times in a row"
