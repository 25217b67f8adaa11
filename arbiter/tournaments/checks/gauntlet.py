"""The check of a gauntlet: heads meet all others, once in each cycle; two heads or two others never meet.

For every player the numbers of games in each seat differ by at most 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.check import FormatCheck
from arbiter.tournaments.checks.history import EarlierRounds
from arbiter.tournaments.spec import Options


class GauntletCheck(FormatCheck):
    """Two sides: the first entrants, and all others."""

    pairs_withdrawn = True

    def same_openings(self, options: Options) -> bool:
        """Return whether every opponent of a head plays the same openings."""
        return options.same_openings

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check a paired round."""
        heads, _ = _sides(history)
        for meeting in event.meetings:
            if (meeting.first in heads) == (meeting.second in heads):
                yield f"{meeting.first} and {meeting.second} are of the same side"

    def end(self, history: EarlierRounds) -> Iterator[str]:
        """Check a completed tournament."""
        heads, others = _sides(history)
        times = Counter(frozenset((m.first, m.second)) for m in history.past())
        for head in heads:
            for other in others:
                if times[frozenset((head, other))] != history.spec.options.cycles:
                    yield f"{head} and {other} met {times[frozenset((head, other))]} times"
        first = Counter(m.first for m in history.past())
        second = Counter(m.second for m in history.past())
        for player in sorted(heads | others):
            if abs(first[player] - second[player]) > 1:
                yield f"{player} had seat 1 {first[player]} times and seat 2 {second[player]} times"


def _sides(history: EarlierRounds) -> tuple[set[str], set[str]]:
    playing = [player for player in history.order if player in set(history.starters)]
    heads = min(history.spec.options.heads, len(playing) - 1)
    return set(playing[:heads]), set(playing[heads:])
