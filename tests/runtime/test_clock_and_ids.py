"""The system's clock, and ids."""

from __future__ import annotations

import re
import time

import pytest

from arbiter.runtime import system_clock as clock_module
from arbiter.runtime.ids import SystemIds
from arbiter.runtime.system_clock import SystemClock


class Instant:
    """A clock that the test sets."""

    def __init__(self, now: int) -> None:
        self.now = now

    def now_ms(self) -> int:
        """Return the time."""
        return self.now


def test_the_clock_ignores_jumps_of_the_system_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic, wall = 5_000_000_000, 1_800_000_000_000_000_000
    monkeypatch.setattr(clock_module, "monotonic_ns", lambda: monotonic)
    monkeypatch.setattr(time, "time_ns", lambda: wall)
    clock = SystemClock()
    assert clock.now_ms() == 1_800_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: wall - 10**15)
    monkeypatch.setattr(clock_module, "monotonic_ns", lambda: monotonic + 1_999_999)
    assert clock.now_ms() == 1_800_000_000_001


@pytest.mark.parametrize("set_ms", [-3_600_000, -1, 0, 1, 3_600_000])
def test_the_clock_goes_on_from_the_record(monkeypatch: pytest.MonkeyPatch, set_ms: int) -> None:
    last = 1_800_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: (last + set_ms) * 1_000_000)
    monkeypatch.setattr(clock_module, "monotonic_ns", lambda: 7_000_000)
    clock = SystemClock(not_before_ms=last)
    assert clock.now_ms() == max(last, last + set_ms)
    assert clock.behind_ms == max(0, -set_ms)
    monkeypatch.setattr(clock_module, "monotonic_ns", lambda: 9_000_000)
    assert clock.now_ms() == max(last, last + set_ms) + 2


def test_ids_sort_by_time_and_differ_within_a_millisecond() -> None:
    clock = Instant(1_800_000_000_000)
    ids = SystemIds(clock)
    made = []
    for clock.now in (1_800_000_000_000, 1_800_000_000_001, 1_900_000_000_000):
        same = {ids.new("m") for _ in range(100)}
        assert len(same) == 100
        assert all(re.fullmatch("m[0-9abcdefghjkmnpqrstvwxyz]{24}", one) for one in same)
        made.append(same)
    assert max(made[0]) < min(made[1]) < max(made[1]) < min(made[2])


def test_secrets_are_long_and_never_look_like_an_option() -> None:
    ids = SystemIds(Instant(0))
    secrets = {ids.secret() for _ in range(2000)}
    assert len(secrets) == 2000
    assert all(re.fullmatch("[A-Za-z0-9_][A-Za-z0-9_-]{42}", secret) for secret in secrets)


def test_random_numbers_are_within_their_bounds() -> None:
    ids = SystemIds(Instant(0))
    assert {ids.lot(2) for _ in range(200)} == {0, 1}
    assert ids.lot(1) == 0
