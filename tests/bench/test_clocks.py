"""The benchmark of the clocks, with few moves."""

from __future__ import annotations

import pytest

from arbiter.bench.clocks import measured
from arbiter.bench.plans import ClocksPlan


@pytest.mark.long
def test_a_server_is_measured() -> None:
    plan = ClocksPlan(matches=2, seconds=1.0, think_ms=40.0)
    found = measured(plan)
    assert found.plan == plan
    assert found.moves > 0
    assert 0 <= found.above <= found.moves
    assert found.p50_ms <= found.p99_ms <= found.most_ms
    assert 0 <= found.hand_over_p50_ms <= found.hand_over_p99_ms
