"""Token buckets: how often something may be done.

A full bucket holds a number of tokens. Each use takes one out. Tokens come back evenly, so an empty bucket is full
again after one period. So the number of tokens limits the uses at once, and then the uses in each period. Instants are
milliseconds by the caller's clock; a clock that goes back fills no bucket.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from arbiter.errors import Refusal, limit_reached

SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60_000
NAMES_KEPT: Final = 100_000  #: names with their own bucket; all further names share one


class TokenBucket:
    """A bucket of `most` tokens. An empty one is full again after `period_ms`."""

    __slots__ = ("_full_at", "_most", "_period_ms")

    def __init__(self, most: int, period_ms: int) -> None:
        self._most = most
        self._period_ms = period_ms
        self._full_at = 0  # when it is full: in 1/`most` of a millisecond, a whole number

    def take(self, now_ms: int) -> int:
        """Take a token and return 0; or, if there is none, return the time until there is one, in milliseconds."""
        at = now_ms * self._most
        full_at = max(self._full_at, at) + self._period_ms
        missing = full_at - at - self._period_ms * self._most
        if missing > 0:
            return -(-missing // self._most)
        self._full_at = full_at
        return 0

    def owe(self, now_ms: int, tokens: int) -> int:
        """Take tokens, also those that are not there yet.

        Return the time until all of them are there, in milliseconds.
        """
        at = now_ms * self._most
        self._full_at = max(self._full_at, at) + tokens * self._period_ms
        return max(0, -(-(self._full_at - at - self._period_ms * self._most) // self._most))

    def is_full(self, now_ms: int) -> bool:
        """Return whether all tokens are there."""
        return self._full_at <= now_ms * self._most


class TokenBuckets:
    """A bucket for each name. `what`: the limited action, for the message of a refusal.

    A full bucket is dropped. So only names that were used in the last period have buckets, at most NAMES_KEPT.
    """

    def __init__(self, most: int, period_ms: int, what: str) -> None:
        self._most = most
        self._period_ms = period_ms
        self._what = what
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()  # the last used ones at the end

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, name: str, now_ms: int) -> int:
        """Take a token of a name and return 0; or return the time until there is one, in milliseconds."""
        name, bucket = self._bucket(name, now_ms)
        wait_ms = bucket.take(now_ms)
        if not wait_ms:
            self._buckets.move_to_end(name)
        return wait_ms

    def owe(self, name: str, now_ms: int, tokens: int = 1) -> int:
        """Take tokens of a name, also those that are not there yet.

        Return the time until they are there, in milliseconds.
        """
        name, bucket = self._bucket(name, now_ms)
        self._buckets.move_to_end(name)
        return bucket.owe(now_ms, tokens)

    def _bucket(self, name: str, now_ms: int) -> tuple[str, TokenBucket]:
        buckets = self._buckets
        while buckets and next(iter(buckets.values())).is_full(now_ms):
            buckets.popitem(last=False)
        if name not in buckets:
            if len(buckets) >= NAMES_KEPT:
                name = ""
            buckets.setdefault(name, TokenBucket(self._most, self._period_ms))
        return name, buckets[name]

    def use(self, name: str, now_ms: int) -> None:
        """Take a token of a name. Raises Refusal RATE_LIMITED (facts limit, retry_after_ms) if there is none."""
        wait_ms = self.take(name, now_ms)
        if wait_ms:
            raise rate_limited(self._most, self._what, wait_ms)


def rate_limited(most: int, what: str, wait_ms: int) -> Refusal:
    """Return the refusal for a rate limit. what: the limited action, a plural noun with the period, for people."""
    message = f"more than {most} {what}: try again in {wait_ms} ms"
    return limit_reached(message, most, wait_ms)
