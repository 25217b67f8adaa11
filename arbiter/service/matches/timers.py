"""The timers of live matches. Each fires at its match's deadline, because a clock has run out or a wait is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from arbiter.matches.match import Match, Phase, deadline
from arbiter.service.matches.live_match import LiveMatch
from arbiter.service.ports.environment import Clock

OPENS_MS: Final = 100
"""The time before a flag is looked at again whose player waits for its stream."""


class Timers:
    """One timer for each live match. `ring` is called with a match whose timer has fired; the timer is off then."""

    def __init__(self, clock: Clock, ring: Callable[[LiveMatch], None]) -> None:
        self._clock = clock
        self._ring = ring

    def set(self, live: LiveMatch) -> None:
        """Make sure that the timer fires no later than the match's deadline.

        A timer that fires too early is not set again before it does. When it fires, nothing is due, and it is set to
        the new deadline. So a move, which usually moves the deadline back, sets no timer.
        """
        due = deadline(live.newest)
        if due is not None and live.timer is not None and live.rings_ms <= due:
            return
        cancel(live)
        if due is not None:
            live.rings_ms = due
            in_s = (due - self._clock.now_ms()) / 1000
            live.timer = asyncio.get_running_loop().call_later(in_s, self._rung, live)

    def delay(self, live: LiveMatch, by_ms: int) -> None:
        """Set the timer of a match whose deadline has come to a later time."""
        cancel(live)
        live.rings_ms = self._clock.now_ms() + by_ms
        live.timer = asyncio.get_running_loop().call_later(by_ms / 1000, self._rung, live)

    def is_due(self, live: LiveMatch) -> bool:
        """Return whether a match's deadline has come."""
        due = deadline(live.newest)
        return due is not None and due <= self._clock.now_ms()

    def _rung(self, live: LiveMatch) -> None:
        live.timer = None
        self._ring(live)


def cancel(live: LiveMatch) -> None:
    """Turn a match's timer off."""
    if live.timer is not None:
        live.timer.cancel()
        live.timer = None


def awaited_players(match: Match) -> list[str]:
    """Return the players for whom a match's deadline waits: the one to move, and those that are absent."""
    if match.phase is Phase.PAUSED:
        return []
    players = match.created.players
    mover = players[match.turn - 1] if match.phase is Phase.ACTIVE else None
    return [player for player, there in zip(players, match.present, strict=True) if not there or player == mover]
