"""The budget where another process has the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arbiter.bench.budget import bench_budget
from arbiter.bench.plans import BudgetPlan
from arbiter.bench.processes import BenchError
from tests.store.postgres import Cluster

TINY = BudgetPlan(
    pairs=2, history_s=0.3, seconds=0.3, rounds=1, visiting=3, flooding=3, only=("visiting",), web_process=True
)


def said(_what: str) -> None:
    """Say nothing of the progress."""


def test_visitors_attack_the_process_that_has_the_page(cluster: Cluster) -> None:
    def calls(seconds: float) -> float:
        report = bench_budget(replace(TINY, seconds=seconds, store=cluster.url("postgres")), said)
        [found] = [figure.value for figure in report.figures if figure.key == "visiting_calls"]
        return found

    assert any(calls(seconds) > 0 for seconds in (0.3, 3, 30))  # on a busy machine none is answered in a short round


def test_two_processes_share_no_sqlite_file(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="--web-process needs --store"):
        bench_budget(replace(TINY, folder=tmp_path), said)
    assert not list(tmp_path.iterdir())
