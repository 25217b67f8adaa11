"""Token buckets: used up at once, refilled evenly, and forgotten when they are full."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.service import token_bucket
from arbiter.service.token_bucket import MINUTE_MS, SECOND_MS, TokenBucket, TokenBuckets
from tests.refusals import refusing


def test_all_at_once_and_then_evenly() -> None:
    buckets = TokenBuckets(60, MINUTE_MS, "tries a minute")
    assert [buckets.take("a", 5_000) for _ in range(62)] == [0] * 60 + [1_000] * 2
    assert buckets.take("a", 5_999) == 1
    assert buckets.take("a", 6_000) == 0
    assert buckets.take("a", 6_500) == 500
    assert [buckets.take("a", 6_000 + MINUTE_MS) for _ in range(61)] == [0] * 60 + [1_000]
    assert buckets.take("b", 6_000) == 0


def test_a_debt_is_paid_before_the_next_token() -> None:
    buckets = TokenBuckets(10, SECOND_MS, "calls a second")
    assert buckets.owe("a", 0, 10) == 0
    assert buckets.owe("a", 0, 15) == 1_500
    assert buckets.take("a", 0) == 1_600
    assert buckets.take("a", 1_599) == 1
    assert buckets.take("a", 1_600) == 0
    assert buckets.owe("b", 0) == 0


def test_a_name_whose_bucket_is_full_is_forgotten() -> None:
    buckets = TokenBuckets(7, MINUTE_MS, "tries a minute")
    for n in range(1_000):
        assert buckets.take(f"p{n}", n) == 0
    assert len(buckets) == 1_000
    buckets.take("late", 1_000 + MINUTE_MS)
    assert len(buckets) == 1


@given(st.integers(1, 400), st.lists(st.integers(0, 2_000), max_size=300))
def test_a_bucket_never_has_more_than_its_size_and_what_was_returned(most: int, waits: list[int]) -> None:
    buckets, now, taken = TokenBuckets(most, MINUTE_MS, "tries a minute"), 0, list[int]()
    for wait in waits:
        now += wait
        missing_ms = buckets.take("a", now)
        if not missing_ms:
            taken.append(now)
        else:
            assert buckets.take("a", now + missing_ms - 1) == 1, "the time to wait is exact"
    for n, first in enumerate(taken):
        since = [at for at in taken[n:] if at - first < MINUTE_MS]
        assert len(since) <= 2 * most
        assert len(since) <= most + (since[-1] - first) * most / MINUTE_MS


def test_a_request_beyond_the_rate_is_refused_with_the_time_to_wait() -> None:
    buckets = TokenBuckets(3, MINUTE_MS, "tries a minute")
    for _ in range(3):
        buckets.use("alice", 1_000)
    with refusing(Reason.RATE_LIMITED) as caught:
        buckets.use("alice", 6_000)
    assert caught.value.facts == {"limit": "3", "retry_after_ms": "15000"}
    assert caught.value.message == "more than 3 tries a minute: try again in 15000 ms"
    buckets.use("bob", 6_000)
    buckets.use("alice", 21_000)


@pytest.mark.interpreted
def test_the_number_of_buckets_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_bucket, "NAMES_KEPT", 10)
    buckets = TokenBuckets(3, MINUTE_MS, "tries a minute")
    for number in range(10):
        buckets.use(f"stranger {number}", 0)
    for number in range(3):
        buckets.use(f"one more {number}", 0)
    with pytest.raises(Refusal):
        buckets.use("and another", 0)
    buckets.use("stranger 7", 0)  # a name that has a bucket of its own keeps it
    assert len(buckets) == 11


def test_a_clock_that_goes_back_fills_no_bucket() -> None:
    bucket = TokenBucket(2, SECOND_MS)
    assert [bucket.take(10_000) for _ in range(3)] == [0, 0, 500]
    assert bucket.take(9_000) == 1_500
    assert bucket.take(10_500) == 0
