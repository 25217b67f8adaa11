"""The processes of a benchmark."""

from __future__ import annotations

import pytest

from arbiter.bench.processes import BenchError, BenchProcess


def test_a_part_that_has_ended_is_named_whoever_speaks_first() -> None:
    with BenchProcess("arbiter.errors") as part:  # a module that does nothing
        with pytest.raises(BenchError, match=r"arbiter\.errors ended by itself, with exit code 0"):
            part.next_answer()
        with pytest.raises(BenchError, match=r"arbiter\.errors ended by itself, with exit code 0"):
            part.send(order=1)
