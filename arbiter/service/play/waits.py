"""Since when players wait for Play streams that they could not get because of the store.

A player whose request takes long may give it up and make another one, and so may a player whose request was refused
because the store has failed. Such a player waits since its first request. As long as it may come back soon, it neither
loses on time nor by its absence.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.token_bucket import SECOND_MS

SILENCE_S: Final = 0.5  #: a store that answers only after this long was silent
AFTER_S: Final = 8.0  #: a long silence counts for this long after its end: a client asks again after 6 seconds at most
SILENCE_MS: Final = round(SILENCE_S * SECOND_MS)
AFTER_MS: Final = round(AFTER_S * SECOND_MS)
MOST_KEPT: Final = 64  #: requests in a row whose beginnings are kept: the first one, and the last ones


class FailedRequests(NamedTuple):
    """Requests in a row that failed because of the store: when each began, and when the last one ended."""

    begun_ms: tuple[int, ...]
    until_ms: int


class Waits:
    """The requests for Play streams that are under way, and those that failed. Instants are UTC epoch milliseconds.

    failed: by player, with the latest ones at the end; those after which the player did not come back are forgotten.
    """

    def __init__(self, clock: Clock) -> None:
        self.failed: dict[str, FailedRequests] = {}
        self._clock = clock
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def asking(self, player: str) -> Iterator[tuple[int, ...]]:
        """Count the work of the context as a request of a player; give when those in a row began, this one last.

        The player waits since the first of them, unless it has had a stream on another server meanwhile. A request
        failed because of the store if it raised StoreFailed, or if it was given up after SILENCE_S. A player that gives
        up what would have been answered at once gains nothing.
        """
        asked_ms = self._clock.now_ms()
        before = self._latest(player, asked_ms)
        begun_ms = (asked_ms,) if before is None else (*before.begun_ms, asked_ms)
        self._under_way[player] += 1
        try:
            yield begun_ms
        except StoreFailed:
            self._note_failed(player, begun_ms)
            raise
        except CancelledError:
            if self._clock.now_ms() - asked_ms >= SILENCE_MS:
                self._note_failed(player, begun_ms)
            raise
        else:
            self.failed.pop(player, None)
        finally:
            self._under_way[player] -= 1
            if not self._under_way[player]:
                del self._under_way[player]

    def is_waiting(self, player: str) -> bool:
        """Return whether a player waits for its stream, or may soon ask again after a request that failed."""
        return player in self._under_way or self._latest(player, self._clock.now_ms()) is not None

    def _latest(self, player: str, now: int) -> FailedRequests | None:
        """Return the last requests of a player if they failed, and only a moment ago."""
        failed = self.failed.get(player)
        return failed if failed is not None and now - failed.until_ms <= AFTER_MS else None

    def _note_failed(self, player: str, begun_ms: tuple[int, ...]) -> None:
        now = self._clock.now_ms()
        self.failed.pop(player, None)
        self.failed[player] = FailedRequests(begun_ms[:1] + begun_ms[1:][1 - MOST_KEPT :], now)
        while now - next(iter(self.failed.values())).until_ms > AFTER_MS:
            del self.failed[next(iter(self.failed))]
