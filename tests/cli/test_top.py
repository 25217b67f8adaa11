"""`arbiter top`, and the figures that it computes from metrics."""

from __future__ import annotations

import io
import itertools
import os
import pty
import re
import select
import subprocess
import termios
from collections.abc import Mapping
from contextlib import suppress
from math import ceil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from arbiter.cli.failure import INTERRUPTED, Failure
from arbiter.cli.metrics_text import Interval, Sample, read
from arbiter.cli.top import picture, top
from arbiter.config import load
from arbiter.observability.metrics import Metrics, shown
from arbiter.observability.move_counts import SECONDS, Distribution
from arbiter.runtime.loopback import free_port
from tests.cli.command import COMMAND, WAIT_S, Server, clean_environment
from tests.processes import empty_store

SCREEN, SCREEN_LEFT = b"\x1b[?1049h", b"\x1b[?1049l"  #: what a terminal gets to show another screen, and to go back
CURSOR_HIDDEN, CURSOR_SHOWN = b"\x1b[?25l", b"\x1b[?25h"


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
    assert re.match(r"0\.1\.0, up \d+ min", rows["server", "version"][0])
    assert rows["server", "items that wait for players"] == rows["server", "other servers that were gone"] == ["0"]
    assert rows["server", "times it was taken for gone"] == ["0"]
    assert rows["server", "ahead of the system's clock"][0].endswith(" s")
    assert rows["moves", "none"] == ["0.0"]
    assert len(rows["times", "a commit"]) == 3


def test_several_servers_are_shown_side_by_side() -> None:
    def seen(moves: int, game: str) -> Interval:
        key = ("arbiter_moves_total", frozenset({("game", game)}))
        return Interval(Sample(0, {key: 0}), Sample(1, {key: moves}))

    console = Console(width=160, record=True, file=io.StringIO())
    console.print(picture(("a:1", "b:1", "c:1"), [seen(3, "pods"), None, seen(7, "hop-it")]))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert ["moves", "a", "second", "a", "second", "a", "second"] in lines
    assert ["pods", "3.0", "–", "–"] in lines
    assert ["hop-it", "–", "–", "7.0"] in lines


def test_a_server_that_does_not_answer_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    gone, metrics = f"127.0.0.1:{free_port()}", [Metrics(), Metrics()]
    with (
        shown(metrics[0], load(None, metrics="127.0.0.1:0")) as first,
        shown(metrics[1], load(None, metrics="127.0.0.1:0")) as second,
    ):
        for one, matches, place in zip(metrics, (4, 6), (900, 840), strict=True):
            one.gauge("live_matches", "", lambda matches=matches: matches)  # type: ignore[misc]
            one.gauge("log_place", "", lambda place=place: place)  # type: ignore[misc]
        top(f"127.0.0.1:{first}, {gone},127.0.0.1:{second}", every=0.1)
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    for row, figures in (("live matches", ("4", "6")), ("records behind the log", ("0", "60"))):
        found = {address: figure for address, *section, figure in lines if section == ["server", row]}
        assert found == dict(zip((f"127.0.0.1:{first}", f"127.0.0.1:{second}"), figures, strict=True))
    with pytest.raises(Failure, match=f"no metrics at http://{gone}/metrics"):
        top(f"{gone},127.0.0.1:{second}", every=0.1)
    with pytest.raises(Failure, match="has an empty address"):
        top(f"{gone},", every=0.1)


def test_records_are_shown_that_a_server_lacks_and_another_had_before() -> None:
    def seen(before: int, after: int) -> Interval:
        key = ("arbiter_log_place", frozenset[tuple[str, str]]())
        return Interval(Sample(0, {key: before}), Sample(1, {key: after}))

    def behind(*intervals: Interval | None) -> list[str]:
        console = Console(width=160, record=True, file=io.StringIO())
        console.print(picture([f"{name}:1" for name in "abcd"[: len(intervals)]], intervals))
        lines = [line.split() for line in console.export_text().splitlines()]
        return next((line[4:] for line in lines if line[:4] == ["records", "behind", "the", "log"]), [])

    assert behind(seen(9_000, 9_500), seen(8_000, 9_000), seen(7_000, 7_500), seen(0, 0)) == ["0", "0", "1,500", "–"]
    assert behind(seen(9_000, 9_500)) == [], "one server has nothing that it could be compared with"
    assert behind(seen(4, 5), None) == ["0", "–"]


@pytest.mark.long
def test_figures_are_drawn_again_and_again_until_ctrl_c_leaves_the_terminal_as_it_was() -> None:
    looks = itertools.count(7_001)
    metrics = Metrics()
    metrics.gauge("live_matches", "", lambda: next(looks))
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, 100))
    with shown(metrics, load(None, metrics="127.0.0.1:0")) as port:
        command = [*COMMAND, "top", f"127.0.0.1:{port}", "--every", "0.1"]
        environment = clean_environment(TERM="xterm")
        # The terminal is its own, so that Ctrl-C there is for it alone.
        with (
            subprocess.Popen(
                ["setsid", "--ctty", "--wait", *command], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
            ) as process,
            os.fdopen(ours, "r+b", buffering=0) as terminal,  # whatever happens, it is closed, which ends the program
        ):
            os.close(theirs)
            said = b""
            while not all(figure in said for figure in (b"7,002", b"7,003")):  # the first look is not shown
                assert select.select([terminal], [], [], WAIT_S)[0], said
                said += terminal.read(4096)
            assert b"Ctrl-C ends" in said
            assert said.count(SCREEN) == 1
            terminal.write(b"\x03")
            with suppress(OSError):  # Linux says so that nobody has the terminal any more
                while more := terminal.read(4096):
                    said += more
            assert process.wait(WAIT_S) == INTERRUPTED
    assert b"Traceback" not in said
    assert said.rfind(SCREEN_LEFT) > said.rfind(SCREEN)
    assert said.rfind(CURSOR_SHOWN) > said.rfind(CURSOR_HIDDEN) > -1


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
