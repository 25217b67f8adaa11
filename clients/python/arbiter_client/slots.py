"""The number of the bot's matches, and whether there is room for one more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from arbiter_client.bot import Bot, Run

REMEMBERED_ENDS: Final = 10_000


class MatchSlots:
    """Keeps `run.playing`: the matches under way, and those agreed on that the stream has not announced yet.

    most: how many matches the bot plays in all; None for no limit. It also keeps `run.left`: how many of these the bot
    has neither played nor agreed on. Each of `watchers` is called after a possible change of these numbers.
    """

    def __init__(self, bot: Bot, run: Run, most: int | None = None) -> None:
        self.watchers: list[Callable[[], None]] = []
        self._bot = bot
        self._run = run
        self._most = most
        self._ended = 0
        run.left = most
        self._live: set[str] = set()
        self._expected: set[str] = set()
        self._agreeing = 0
        self._over: dict[str, None] = {}

    def holds(self, seeks: int) -> bool:
        """Return whether there is room for the matches agreed on, and for those that so many open seeks may become."""
        playing, at_once = self._run.playing, self._bot.most_matches
        if 0 < at_once < playing + (seeks > 0):
            return False
        return self._most is None or self._ended + playing + seeks <= self._most

    @property
    def empty(self) -> bool:
        """Whether no match is under way or agreed on."""
        return self._run.playing == 0

    def begun(self, match_id: str) -> None:
        """Count a match that is under way."""
        self._live.add(match_id)
        self._expected.discard(match_id)
        self._count()

    def ended(self, match_id: str) -> bool:
        """Count the end of a match; return whether the end was not known yet."""
        self._live.discard(match_id)
        self._expected.discard(match_id)
        news = match_id not in self._over
        self._ended += news
        self._over[match_id] = None
        if len(self._over) > REMEMBERED_ENDS:
            del self._over[next(iter(self._over))]
        self._count()
        return news

    def is_over(self, match_id: str) -> bool:
        """Return whether a match is known to have ended."""
        return match_id in self._over

    def expect(self, match_id: str) -> None:
        """Reserve a place for a match that has been agreed on, until the stream announces it."""
        if match_id not in self._live and match_id not in self._over:
            self._expected.add(match_id)
        self._count()

    @contextmanager
    def agreeing(self) -> Iterator[None]:
        """Reserve a place while a match is being agreed on."""
        self._agreeing += 1
        self._count()
        try:
            yield
        finally:
            self._agreeing -= 1
            self._count()

    def _count(self) -> None:
        self._run.playing = len(self._live) + len(self._expected) + self._agreeing
        if self._most is not None:
            self._run.left = max(0, self._most - self._ended - self._run.playing)
        for changed in self.watchers:
            changed()
