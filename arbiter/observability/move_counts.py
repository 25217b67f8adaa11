"""What is counted on the path of a move, for `arbiter.observability.metrics`.

A move pays for its measurements, so they are plain numbers in lists: an observation of the metrics library's own
histogram takes 4 microseconds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final

from arbiter.matches.events import Ended, Moved
from arbiter.matches.match import Match
from arbiter.service.ports.environment import Clock
from arbiter.service.record.published import Published

SECONDS: Final[Sequence[float]] = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Upper bounds of the buckets of durations. Instants of the record are whole milliseconds."""
LONG_SECONDS: Final[Sequence[float]] = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0)
"""The same for jobs in worker processes."""
SIZES: Final[Sequence[float]] = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0)
"""Upper bounds of the buckets of numbers of things."""


class Distribution:
    """How often values came in each bucket. Observed on one thread, read on any."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def buckets(self) -> tuple[list[tuple[str, float]], float]:
        """Return the upper bounds with the number of values up to each, and the sum of all values."""
        names = [*(f"{bound:g}" for bound in self._bounds), "+Inf"]
        return list(zip(names, accumulate(map(float, list(self._counts))), strict=True)), self._sum


class MatchCounter:
    """Counts the events of matches; `match_changed` is a listener for them.

    moves: by game. ends: by cause. stages: the distributions of the times of a move, by stage. clock: tells when an
    event has become durable.
    """

    __slots__ = ("_acknowledge", "_clock", "_ends", "_hand_over", "_moves", "_network")

    def __init__(
        self, moves: Counter[str], ends: Counter[str], stages: Mapping[str, Distribution], clock: Clock
    ) -> None:
        self._moves = moves
        self._ends = ends
        self._acknowledge = stages["acknowledge"]
        self._hand_over = stages["hand_over"]
        self._network = stages["network"]
        self._clock = clock

    def match_changed(self, match: Match, events: Sequence[Published]) -> None:
        """Count events that are durable now, if this server has decided them."""
        for published in events:
            event = published.event
            if not published.decided_here:
                continue
            if isinstance(event, Moved):
                ledger = event.ledger
                self._moves[_name(match)] += 1
                self._acknowledge.observe((self._clock.now_ms() - ledger.arrived) / 1_000)
                if ledger.handed_over is not None:
                    self._hand_over.observe((ledger.handed_over - ledger.started) / 1_000)
                if ledger.round_trip is not None:
                    self._network.observe(ledger.round_trip / 1_000)
            elif isinstance(event, Ended):
                self._ends[event.cause.value] += 1


def _name(match: Match) -> str:
    """Return the game of a match without its parameters, of which there may be any number."""
    return match.created.game.partition("(")[0]
