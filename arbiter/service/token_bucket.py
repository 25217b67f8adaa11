"""How often something may be done: an allowance for each name that may be used up at once and comes back bit by bit."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MINUTE_MS: Final = 60_000


class TokenBuckets:
    """At most `most` at once for each name; one comes back every `most`-th part of a minute.

    A name whose allowance is whole is forgotten: what is kept is never more than the names of the last minute.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # When all of it will be back, in `most`-th parts of a millisecond; whoever used some last is at the end.
        self._whole_at: OrderedDict[str, int] = OrderedDict()

    def take(self, name: str, now: int) -> int:
        """Use one up at an instant, in ms; return 0, or in how many milliseconds there will be one if there is none."""
        at = now * self._most
        while self._whole_at and next(iter(self._whole_at.values())) <= at:
            self._whole_at.popitem(last=False)
        whole_at = max(self._whole_at.get(name, at), at) + MINUTE_MS
        missing = whole_at - at - MINUTE_MS * self._most
        if missing > 0:
            return -(-missing // self._most)
        self._whole_at[name] = whole_at
        self._whole_at.move_to_end(name)
        return 0
