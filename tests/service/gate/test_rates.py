"""Counting how often somebody does something, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.service.gate import rates
from arbiter.service.gate.rates import Rate
from arbiter.testing.clock import virtually


@virtually
async def test_so_many_a_window_and_no_more() -> None:
    rate = Rate(3, 60.0, "tries a minute")
    for _ in range(3):
        rate.count("alice")
    await asyncio.sleep(45)
    with pytest.raises(Refusal) as caught:
        rate.count("alice")
    assert caught.value.reason is Reason.RATE_LIMITED
    assert caught.value.facts == {"limit": "3", "retry_after_ms": "15000"}
    rate.count("bob")
    await asyncio.sleep(15)
    rate.count("alice")


@virtually
async def test_names_without_end_are_not_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "NAMES_KEPT", 10)
    rate = Rate(3, 60.0, "tries a minute")
    for number in range(10):
        rate.count(f"stranger {number}")
    for number in range(3):
        rate.count(f"one more {number}")
    with pytest.raises(Refusal):
        rate.count("and another")
    rate.count("stranger 7")  # who has a count of its own keeps it
    assert len(rate._counts) == 11
