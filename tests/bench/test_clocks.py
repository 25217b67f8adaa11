"""The benchmark of the clocks, with few moves: its figures, and how they are printed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from arbiter.bench.clocks import GOAL_MS, Clocks, ClocksPlan, measured, plan_of

FOUND = Clocks(ClocksPlan(500, 20.0, 1_000.0), 9_900, 0.5, 4.2, 31.0, 12, 1.0, 9.0, 0.8, 12.0, 7.0)


@pytest.mark.long
def test_a_server_is_measured() -> None:
    plan = ClocksPlan(matches=2, seconds=1.0, think_ms=40.0)
    found = measured(plan)
    assert found.plan == plan
    assert found.moves > 0
    assert 0 <= found.above <= found.moves
    assert found.p50_ms <= found.p99_ms <= found.most_ms
    assert 0 <= found.hand_over_p50_ms <= found.hand_over_p99_ms


def test_text_and_json_have_the_same_figures() -> None:
    table = FOUND.table()
    assert table.splitlines()[0] == "500 matches, a move in each every 1000 ms or so, for 20 s"
    assert "charged beyond thought, p99" in table
    assert "4.2 ms  goal: at most 5 ms" in table
    assert "60%  of one core" in table
    said = json.loads(json.dumps(FOUND.as_json()))
    assert (said["p99_ms"], said["goal_ms"], said["good"], said["plan"]["matches"]) == (4.2, GOAL_MS, True, 500)
    assert not replace(FOUND, p99_ms=5.1).good


def test_the_command_line_sets_the_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan_of([]) == ClocksPlan()
    assert plan_of(["--matches", "7", "--seconds", "2", "--think-ms", "50"]) == ClocksPlan(7, 2.0, 50.0)
    for wrong in (["--matches", "0"], ["--seconds", "none"], ["--think-ms", "-1"]):
        with pytest.raises(SystemExit) as done:
            plan_of(wrong)
        assert done.value.code == 2
    assert "greater than 0" in capsys.readouterr().err
