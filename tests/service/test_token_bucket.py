"""An allowance: used up at once, back bit by bit, and forgotten when it is whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arbiter.service.token_bucket import MINUTE_MS, TokenBuckets


def test_all_at_once_and_then_bit_by_bit() -> None:
    allowance = TokenBuckets(60)
    assert [allowance.take("a", 5_000) for _ in range(62)] == [0] * 60 + [1_000] * 2
    assert allowance.take("a", 5_999) == 1
    assert allowance.take("a", 6_000) == 0
    assert allowance.take("a", 6_500) == 500
    assert [allowance.take("a", 6_000 + MINUTE_MS) for _ in range(61)] == [0] * 60 + [1_000]
    assert allowance.take("b", 6_000) == 0


def test_a_name_whose_allowance_is_whole_is_forgotten() -> None:
    allowance = TokenBuckets(7)
    for n in range(1_000):
        assert allowance.take(f"p{n}", n) == 0
    assert len(allowance._whole_at) == 1_000
    allowance.take("late", 1_000 + MINUTE_MS)
    assert len(allowance._whole_at) == 1


@given(st.integers(1, 400), st.lists(st.integers(0, 2_000), max_size=300))
def test_never_more_than_the_allowance_and_what_came_back(most: int, waits: list[int]) -> None:
    allowance, now, taken = TokenBuckets(most), 0, list[int]()
    for wait in waits:
        now += wait
        missing_ms = allowance.take("a", now)
        if not missing_ms:
            taken.append(now)
        else:
            assert allowance.take("a", now + missing_ms - 1) == 1, "it says exactly when"
    for n, first in enumerate(taken):
        since = [at for at in taken[n:] if at - first < MINUTE_MS]
        assert len(since) <= 2 * most
        assert len(since) <= most + (since[-1] - first) * most / MINUTE_MS
