"""Pauses between attempts."""

from __future__ import annotations

from arbiter_client.backoff import Backoff


def test_pauses_double_up_to_the_longest() -> None:
    backoff = Backoff(first_s=0.1, most_s=1.0, chance=lambda: 0.0)
    assert [backoff.next_s() for _ in range(5)] == [0.1, 0.2, 0.4, 0.8, 1.0]
    backoff.reset()
    assert backoff.next_s() == 0.1


def test_jitter_shortens_a_pause_by_at_most_half() -> None:
    backoff = Backoff(first_s=1.0, most_s=1.0, chance=iter([0.5, 1.0]).__next__)
    assert [backoff.next_s(), backoff.next_s()] == [0.75, 0.5]


def test_a_pause_is_added_to_the_one_that_the_server_asks_for() -> None:
    assert Backoff(first_s=0.1, chance=lambda: 0.0).next_s(at_least_s=3.0) == 3.1


def test_a_thousand_attempts_do_not_overflow() -> None:
    backoff = Backoff(chance=lambda: 0.0)
    assert [backoff.next_s() for _ in range(1000)][-1] == 5.0
