"""The schedule of moves under an offered load: when each move is due, and that its latency counts from then."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import pytest

from arbiter.bench.arrivals import Alarm, OfferedLoad, arrivals
from arbiter.runtime.grpc_events import new_loop


def test_moves_fall_due_at_the_rate_that_is_asked_for_and_at_the_same_times_for_the_same_seed() -> None:
    times = arrivals(1_000, 20.0, "a")
    assert times == sorted(times)
    assert times[0] > 0
    assert times[-1] < 20
    assert len(times) == pytest.approx(20_000, abs=4 * 20_000**0.5)
    gaps = [after - before for before, after in pairwise(times)]
    assert sum(gap > 0.001 for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.02)  # 1/e
    assert times == arrivals(1_000, 20.0, "a") != arrivals(1_000, 20.0, "b")


def test_a_latency_counts_from_when_the_move_was_due_though_its_turn_came_later() -> None:
    moved: list[tuple[str, float]] = []

    async def late_turns() -> float:
        began = time.perf_counter()
        load = OfferedLoad([0.0, 0.001, 0.002], lambda turn, since: moved.append((turn, since)))
        later = asyncio.Event()
        alarm = Alarm(later.set)
        alarm.set(began + 0.01)
        await later.wait()
        alarm.close()
        assert len(load.due) == 3
        for turn in ("a", "b", "c"):
            load.wait(turn)
            assert not load.all_answered.is_set()
            load.answered()
        assert load.all_answered.is_set()
        assert len(load.lags) == 3
        load.close()
        return began

    with asyncio.Runner(loop_factory=new_loop) as runner:
        began = runner.run(late_turns())
    assert [turn for turn, _ in moved] == ["a", "b", "c"]
    dues = [since for _, since in moved]
    assert [due - dues[0] for due in dues] == pytest.approx([0, 0.001, 0.002])
    assert dues[0] >= began


def test_a_turn_that_waits_is_played_when_a_move_is_due_and_not_before() -> None:
    async def play() -> None:
        moved = asyncio.get_running_loop().create_future()
        load = OfferedLoad([0.005], lambda _, since: moved.set_result((since, time.perf_counter())))
        load.wait("a")
        due, played = await moved
        assert played >= due
        load.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(play())


def test_a_closed_alarm_is_not_called() -> None:
    async def close() -> None:
        rang: list[str] = []
        other = asyncio.Event()
        alarm, later = Alarm(lambda: rang.append("closed")), Alarm(other.set)
        alarm.set(time.perf_counter() + 0.002)
        later.set(time.perf_counter() + 0.004)
        alarm.close()
        await other.wait()
        later.close()
        assert not rang

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(close())
