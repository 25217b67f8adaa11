"""`arbiter top`, and the figures that it computes from metrics."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.cli.failure import Failure
from arbiter.cli.metrics_text import Interval, Sample, read
from arbiter.runtime.loopback import free_port
from arbiter.runtime.metrics import SECONDS, Distribution
from tests.cli.command import WAIT_S, Server
from tests.processes import empty_store


@pytest.mark.long
def test_a_running_server_is_shown(tmp_path: Path) -> None:
    port = free_port()
    empty_store(tmp_path)
    server = Server(tmp_path, "--metrics", f"127.0.0.1:{port}")
    try:
        for name in ("alice", "bob"):
            with server.running("token", "create", name) as made:
                assert made.wait() == 0
        with server.running("match", "create", "hop-it", "alice", "bob", "--at-once") as made:
            assert made.wait() == 0
        with server.running("top", f"127.0.0.1:{port}", "--every", "0.5") as looking:
            shown, _ = looking.communicate(timeout=WAIT_S)
    finally:
        server.stop()
    lines = [line.split("\t") for line in shown.splitlines()]
    rows = {(section, name): figures for section, name, *figures in lines}
    assert rows["server", "live matches"] == ["1"]
    assert rows["server", "version"][0].startswith("0.1.0, up 0 min")
    assert rows["server", "items that wait for players"] == rows["server", "servers that died beside it"] == ["0"]
    assert rows["server", "times it was taken for dead"] == ["0"]
    assert rows["server", "ahead of the system's clock"][0].endswith(" s")
    assert rows["moves", "none"] == ["0.0"]
    assert len(rows["times", "a commit"]) == 3


def sample(at_s: float, values: Mapping[str, float]) -> Sample:
    """Return a sample with counters without labels, and a histogram `h` from `h:BOUND`."""
    found = {}
    for name, value in values.items():
        word, colon, bound = name.partition(":")
        found[f"{word}_bucket" if colon else word, frozenset({("le", bound)} if colon else ())] = value
    return Sample(at_s, found)


def test_rates_are_over_the_time_between_two_samples() -> None:
    interval = Interval(sample(10, {"moves": 100}), sample(12, {"moves": 130}))
    assert interval.rate("moves") == 15
    assert interval.rate("others") == 0


def test_after_a_restart_no_rate_is_negative() -> None:
    interval = Interval(sample(10, {"moves": 100}), sample(12, {"moves": 3}))
    assert interval.rate("moves") == 0


@given(st.lists(st.floats(0.0005, 9.9), min_size=1), st.lists(st.floats(0.0005, 9.9)), st.sampled_from((0.5, 0.99)))
def test_a_quantile_is_in_the_bucket_of_the_true_one(values: list[float], earlier: list[float], share: float) -> None:
    distribution = Distribution()
    for value in earlier:
        distribution.observe(value)
    before = {f"h:{bound}": count for bound, count in distribution.buckets()[0]}
    for value in values:
        distribution.observe(value)
    after = {f"h:{bound}": count for bound, count in distribution.buckets()[0]}
    found = Interval(sample(0, before), sample(1, after)).quantile(share, "h")
    true = sorted(values)[ceil(share * len(values)) - 1]
    bounds = [0.0, *SECONDS]
    place = next(n for n, bound in enumerate(bounds) if bound >= true)
    assert found is not None
    assert bounds[place - 1] <= found <= bounds[place] + 1e-9


def test_an_empty_histogram_has_no_quantile() -> None:
    same = sample(0, {"h:1": 4, "h:+Inf": 5})
    assert Interval(same, same).quantile(0.5, "h") is None


def test_an_address_without_metrics_is_named() -> None:
    with pytest.raises(Failure, match=r"no metrics at http://127.0.0.1:\d+/metrics \(.+\): start the server with"):
        read(f"127.0.0.1:{free_port()}")
