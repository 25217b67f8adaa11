"""`arbiter bench`: short runs show that every figure is printed. The tests do not check whether a goal is met."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest

from arbiter.bench.plans import Attack
from arbiter.bench.report import ratio
from tests.cli.command import Arbiter, clean_environment
from tests.clients.toolchains import require
from tests.documents import ROOT
from tests.store.postgres import Cluster

pytestmark = pytest.mark.long

ATTACKS = (
    *("--reading", "3", "--unread", "5", "--watching", "5", "--calling", "5", "--listing", "2"),
    *("--opening", "3", "--playing", "2"),
    *("--visiting", "3", "--flooding", "3", "--rounds", "1"),
)
LOADED = ("--loaded", "100")
SHORT = ("--think", "0.05", "--rounds", "1", "--seconds", "1")
TINY = {
    "moves": ("--matches", "2", "--rounds", "1", "--seconds", "0.2", "--only", "thinking"),
    "recovery": ("--matches", "3", "--plies", "4", "--rounds", "1"),
    "growth": ("--live", "4,8", "--ladders", "20,40", "--offered", "50", "--rounds", "1", "--seconds", "0.5"),
    "metrics": ("--matches", "2", "--starts", "1", "--rounds", "1", "--seconds", "0.2"),
    "budget": ("--pairs", "2", "--history", "0.3", "--seconds", "0.3", *ATTACKS),
    "cluster": ("--replicas", "1,2", "--pairs", "4", "--rounds", "1", "--seconds", "0.5", "--offered", "20", *LOADED),
    "tournament": ("--at-once", "2", "--rounds", "1", "--seconds", "0.5", "--uci", "stockfish"),
    "web": ("--viewers", "3", "--grid-viewers", "2", "--grid", "2", "--matches", "2", *SHORT),
}
IN_SHORT = ("moves",)  #: the others are tested by `make soak`
GOALS = {
    "moves": {
        "thinking_beyond_p50_ms": 2,
        "thinking_beyond_p99_ms": 10,
    },
    "recovery": {"serving_s": 1},
    "growth": {"us_ratio_8": 1.25},
    "metrics": {"more": 3, "traced": 3},
    "budget": {
        **dict.fromkeys((f"{attack}_ratio" for attack in get_args(Attack)), 2),
        **dict.fromkeys(("flooding_mib", "unread_mib"), 64),
    },
    "cluster": {"replicas_1_us_ratio": 1.25}
    | {f"replicas_{size}_us_ratio": 1.25 for size in ("2", "2_bus")}
    | {f"replicas_{size}_us_loaded_ratio": 1.25 for size in ("1", "2", "2_bus")}
    | {f"replicas_{size}_rate_ratio": 1 for size in ("2", "2_bus")}
    | {f"replicas_{size}_seen_p50_ms": 5 for size in ("2", "2_bus")},
    "tournament": {"share_2": 0.5, "move_ms_2": 0.35, "game_ms_2": 3},
    "web": {"p50_ratio": 1.1, "p99_ratio": 1.1, "update_p50_ms": 5, "update_p99_ms": 5},
}
SERVERS = ("single", "replicas_2", "replicas_2_bus")
CLUSTER = {
    *(f"{servers}_moves_per_s" for servers in SERVERS),
    *(f"{servers}_{part}_us" for servers in SERVERS for part in ("replicas", "drivers")),
    *(f"{servers}_postgres_us" for servers in SERVERS[1:]),
    *(f"{servers}_{what}_p{percent}_ms" for servers in SERVERS for what in ("ack", "seen") for percent in (50, 99)),
    *(f"{servers}_loaded_us" for servers in SERVERS),
}
"""Figures of two servers that share a store, beside one that does not."""


Bench = Callable[..., dict[str, Any]]


@pytest.fixture
def bench(arbiter: Arbiter, tmp_path: Path) -> Bench:
    """Run a benchmark; return the JSON that it writes."""

    def run(name: str, *options: str) -> dict[str, Any]:
        kept = tmp_path / f"{name}.json"
        ran = arbiter("bench", name, *options, "--json", str(kept))
        assert ran.code == 0, ran.err
        assert ran.err  # progress
        found: dict[str, Any] = json.loads(kept.read_text())
        assert found["bench"] == name
        titles = [line.partition("\t")[0] for line in ran.out.splitlines()[2:]]
        assert titles == [figure["title"] for figure in found["figures"]]
        return found

    return run


def by_key(found: dict[str, Any]) -> dict[str, Any]:
    return {figure["key"]: figure for figure in found["figures"]}


def goals(found: dict[str, Any]) -> dict[str, float]:
    return {figure["key"]: figure["goal"] for figure in found["figures"] if figure["goal"]}


@pytest.mark.parametrize(
    "name", [name if name in IN_SHORT else pytest.param(name, marks=pytest.mark.soak) for name in TINY]
)
def test_every_goal_has_its_figure(
    bench: Bench, name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "web":
        require("chromium-headless-shell", why="a page's update is measured in it")
    if name == "tournament":
        require("/usr/games/stockfish", why="two of it play each other")
    if name == "cluster":  # it runs a PostgreSQL and a NATS of its own
        require("nats-server", why="it is the bus of servers that are measured")
        monkeypatch.setenv("ARBITER_POSTGRES_PROGRAMS", str(request.getfixturevalue("cluster").programs))
    found = bench(name, *TINY[name])
    assert goals(found) == pytest.approx(GOALS[name])
    assert all(
        figure["value"] > 0
        for figure in found["figures"]
        if figure["key"] in ("thinking_moves_per_s", "serving_s", "measured_us")
    )


@pytest.mark.soak
def test_two_servers_on_one_store_have_every_figure_of_each_part(
    bench: Bench, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("nats-server", why="it is the bus of servers that are measured")
    monkeypatch.setenv("ARBITER_POSTGRES_PROGRAMS", str(cluster.programs))
    size = ("--replicas", "2", "--pairs", "2", "--rounds", "1", "--seconds", "1", "--offered", "50", *LOADED)
    found = by_key(bench("cluster", *size))
    assert {key for key in CLUSTER if found[key]["value"] <= 0} == set()
    assert "replicas_2_bus_nats_us" in found, "so few moves may cost less than a tick of the system's clock"


def test_moves_are_compared_with_the_bare_path_and_the_echo_of_the_same_run(bench: Bench) -> None:
    kept = bench("moves", "--matches", "2", "--rounds", "1", "--seconds", "2", "--only", "at-once")
    found = by_key(kept)
    for moves, share in (("moves_per_s", "share_of_echo"), ("bare_moves_per_s", "bare_share_of_echo")):
        assert found[moves]["value"] > 0
        expected = 100 * found[moves]["value"] / found["echo_per_s"]["value"]
        assert found[share]["value"] == pytest.approx(expected)
    assert goals(kept) == {
        "moves_per_s": 5_000,
        "share_of_echo": 18,
        "bare_rate_ratio": 0.8,
    }
    assert found["bare_rate_ratio"]["value"] == pytest.approx(
        found["moves_per_s"]["value"] / found["bare_moves_per_s"]["value"]
    )


def test_the_fan_out_is_compared_with_the_bare_server_and_with_no_observers_round_by_round(bench: Bench) -> None:
    size = ("--observers", "5", "--matches", "2", "--offered", "200", "--rounds", "2", "--seconds", "0.5")
    kept = bench("fanout", *size)
    assert goals(kept) == {
        "deliveries_per_s": 20_000,
        "delivery_p99_ms": 60,
        "delivery_paced_p50_ratio": 1.25,
        "delivery_paced_p99_ratio": 1.25,
        "delivery_single_p50_ratio": 1.25,
        "delivery_single_p99_ratio": 1.25,
    }
    found = by_key(kept)
    deliveries = (("delivery", "bare_paced", "delivery_paced"), ("delivery", "bare_single", "delivery_single"))
    for percent in ("p50", "p99"):
        for whose, other, key in (*deliveries, ("ack", "alone_ack", "ack")):
            ours, least = (found[f"{each}_{percent}_ms"] for each in (whose, other))
            pairs = list(zip(ours["rounds"], least["rounds"], strict=True))
            assert len(pairs) == 2
            assert min(ms for pair in pairs for ms in pair) > 0
            times = found[f"{key}_{percent}_ratio"]
            assert times["rounds"] == pytest.approx([this / that for this, that in pairs])
            assert times["value"] == pytest.approx(sum(times["rounds"]) / 2)
        later = found[f"ack_{percent}_more_ms"]
        assert later["rounds"] == pytest.approx([this - that for this, that in pairs])


@pytest.mark.soak
def test_two_streams_are_compared_with_the_bare_path_by_rounds_in_one_table(arbiter: Arbiter, tmp_path: Path) -> None:
    moves, recovery = tmp_path / "moves.json", tmp_path / "recovery.json"
    size = ("--matches", "2", "--rounds", "3", "--seconds", "0.1", "--only", "coalesced")
    ran = arbiter("bench", "moves", *size, "--json", str(moves))
    assert ran.code == 0, ran.err
    assert "processor time a move over two streams, of the bare path's" in ran.out
    kept = json.loads(moves.read_text())
    assert goals(kept) == {"coalesced_us_ratio": 0.65}
    ours, least, times = (by_key(kept)[f"coalesced_{key}"] for key in ("server_us", "bare_us", "us_ratio"))
    pairs = zip(ours["rounds"], least["rounds"], strict=True)
    assert times["rounds"] == pytest.approx([ratio(this, that) for this, that in pairs])
    assert len(times["rounds"]) == 3
    assert times["value"] == sorted(times["rounds"])[1]
    assert arbiter("bench", "recovery", *TINY["recovery"], "--json", str(recovery)).code == 0
    ran = arbiter("bench", "ratios", str(moves), str(recovery))
    assert ran.code == 0, ran.err
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert rows[0] == ["benchmark", "what", "figure", "unit", "goal"]
    assert [(row[0], row[1], row[3], row[4].partition("  ")[0]) for row in rows[1:]] == [
        ("moves", "processor time a move over two streams, of the bare path's", "times", "≤ 0.65"),
        ("moves", "the machine's steal", "%", ""),
        ("recovery", "from the start until all matches are served", "s", "≤ 1.00"),
        ("recovery", "the machine's steal", "%", ""),
    ]


STAND_IN = """
import json, sys
from pathlib import Path
from arbiter.__main__ import main
from arbiter.bench.report import TIMES, Bound, Report

_, command, name, *options = sys.argv
if name == "ratios":
    main()  # ends the process
report = Report(name, "about", stolen=3.5)
report.median("ratio", f"of what {name} is compared with", (1.0, 3.0, 2.0), TIMES, 1.25, Bound.MOST)
report.add("rate", "no ratio", 5.0, "moves/s")
Path(options[options.index("--json") + 1]).write_text(json.dumps(report.json()))
"""
"""Instead of `arbiter`: it measures nothing, and keeps one ratio for each benchmark. `arbiter bench ratios` is real."""


def test_make_bench_ends_with_the_ratios_and_the_steal_of_everything_that_it_has_kept(tmp_path: Path) -> None:
    require("make", why="it runs the benchmarks")
    programs, kept = tmp_path / "venv" / "bin", tmp_path / "kept"
    programs.mkdir(parents=True)
    ready, stand_in = programs.parent / ".ready", tmp_path / "stand_in.py"
    ready.touch()
    stand_in.write_text(STAND_IN)
    for program, line in (("arbiter", f'exec {sys.executable} {stand_in} "$@"'), ("python", 'echo "$@"')):
        (programs / program).write_text(f"#!/bin/sh\n{line}\n")
        (programs / program).chmod(0o755)
    ran = subprocess.run(
        ["make", "--silent", "-o", str(ready), "bench", "NATIVE=", f"VENV={programs.parent}", f"BENCH={kept}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={
            name: value
            for name, value in clean_environment(PYTHONPATH=str(ROOT)).items()
            if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
        },
    )
    assert ran.returncode == 0, ran.stderr
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    table = rows[rows.index(["benchmark", "what", "figure", "unit", "goal"]) + 1 :]
    names = list(dict.fromkeys(row[0] for row in table))
    assert table == [
        row
        for name in names
        for row in (
            [name, f"of what {name} is compared with", "2.000", "times", "≤ 1.25  not met"],
            [name, "the machine's steal", "3.5", "%", ""],
        )
    ]
    assert {"moves", "fanout", "recovery", "growth"} <= set(names)
    assert {file.name for file in kept.iterdir()} == {f"{name}.json" for name in names}
    for file in kept.iterdir():
        assert by_key(json.loads(file.read_text()))["ratio"]["rounds"] == [1, 3, 2]


def test_a_missing_or_unwritable_file_is_named(arbiter: Arbiter, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    for text in ("{", "[]", '{"bench": "moves", "figures": [{}], "machine": {"stolen": 0}}'):
        other.write_text(text)
        ran = arbiter("bench", "ratios", str(other))
        assert ran.code == 1
        assert ran.complaint == f"{other} is not what `arbiter bench … --json FILE` keeps: measure again"
    ran = arbiter("bench", "ratios", str(tmp_path / "none.json"))
    assert (ran.code, ran.complaint) == (1, f"{tmp_path}/none.json can't be read: No such file or directory")
    ran = arbiter("bench", "recovery", "--json", str(tmp_path / "none" / "here.json"))
    assert ran.code == 1
    assert "can't be written: No such file or directory" in ran.err


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.remove()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("section", "goal"),
    [
        pytest.param(("--offered", "500"), {"small_us_ratio": 2.2}, id="offered"),
        pytest.param(("--only", "at-once"), {"bare_us_ratio": 1.375}, id="at-once"),
        pytest.param(("--only", "coalesced"), {"coalesced_us_ratio": 0.715}, id="coalesced"),
    ],
)
def test_moves_on_postgresql_have_goals_for_processor_time_and_leave_no_tables(
    bench: Bench, cluster: Cluster, section: tuple[str, ...], goal: dict[str, float]
) -> None:
    before = cluster.ask("SELECT datname FROM pg_database ORDER BY 1")
    kept = bench("moves", *TINY["moves"][:-2], *section, "--store", cluster.url("postgres"))
    assert goals(kept) == pytest.approx(goal)
    found = by_key(kept)
    assert min(found[key]["value"] for key in goal) > 0
    assert cluster.ask("SELECT datname FROM pg_database ORDER BY 1") == before


def test_another_store_than_postgresql_is_refused(arbiter: Arbiter) -> None:
    ran = arbiter("bench", "moves", *TINY["moves"], "--store", "sqlite:///arbiter.db")
    assert ran.code == 1
    assert "--store is for postgresql://USER@HOST/DATABASE" in ran.err


@pytest.mark.soak
def test_offered_loads_are_measured_beside_the_bare_path_and_drawn(bench: Bench, tmp_path: Path) -> None:
    picture = tmp_path / "loads.svg"
    sizes = ("--matches", "8", "--rounds", "1", "--seconds", "0.2")
    kept = bench("moves", "--offered", "2500,500,1000", *sizes, "--svg", str(picture))
    found = by_key(kept)
    assert goals(kept) == {
        **{f"offered_{load}_commit_p50_ms": 1 for load in (500, 1_000, 2_500)},
        "offered_1000_ack_p50_ms": 1.5,
        "offered_1000_ack_p99_ms": 6,
        "offered_2500_beyond_p50_ms": 1.5,
        "offered_2500_beyond_p99_ms": 5,
        "small_us_ratio": 2,
    }
    measured = ("moves_per_s", "ack_p50_ms", "commit_p50_ms", "us_per_move")
    keys = [f"offered_{load}_{whose}{what}" for load in (500, 2_500) for whose in ("", "bare_") for what in measured]
    assert all(found[key]["value"] > 0 for key in (*keys, "saturation_us", "bare_saturation_us", "flush_p50_ms"))
    root = ElementTree.fromstring(picture.read_text())
    curves = [each for each in root.iter() if each.get("class", "").startswith("curve")]
    assert len(curves) == 4
    assert {"500/s", "1,000/s", "2,500/s"} <= {each.text for each in root.iter()}


def test_wrong_pictures_and_wrong_loads_are_refused(arbiter: Arbiter) -> None:
    ran = arbiter("bench", "moves", "--only", "many", "--svg", "x.svg")
    assert ran.code == 1
    assert "add --only offered" in ran.err
    for numbers in ("many", "0", "500,", "²"):
        assert arbiter("bench", "moves", "--offered", numbers).code == 2
        assert arbiter("bench", "growth", "--live", numbers).code == 2


@pytest.mark.soak
def test_growth_measures_processor_time_memory_and_start_for_each_number_of_live_matches(bench: Bench) -> None:
    found = by_key(bench("growth", *TINY["growth"]))
    assert {"start_s_0", "memory_mib_0", "match_kib_4", "match_kib_8"} <= set(found)
    expected = found["us_8"]["value"] / found["us_4"]["value"]
    assert found["us_ratio_8"]["value"] == pytest.approx(expected)
    assert min(found[f"{key}_{count}"]["value"] for key in ("us", "start_s") for count in (4, 8)) > 0


def test_matches_that_would_be_over_too_soon_are_refused(arbiter: Arbiter) -> None:
    ran = arbiter("bench", "growth", "--live", "1,10", "--offered", "1000")
    assert ran.code == 1
    assert ran.complaint == "1 live matches are over before 2400 moves: offer fewer, or play shorter"


@pytest.mark.soak
def test_a_profile_says_where_the_time_of_a_move_goes_as_a_table(arbiter: Arbiter) -> None:
    ran = arbiter("bench", "moves", "--profile", *TINY["moves"])
    assert ran.code == 0, ran.err
    rows = [line.split("\t") for line in ran.out.splitlines() if line.startswith("· ")]
    stages = {row[0].removeprefix("· ").partition(":")[0]: float(row[1].replace(",", "")) for row in rows}
    assert {"decide", "rules", "seal", "evolve", "make the messages", "commit thread"} <= set(stages)
    assert all(spent > 0 for spent in stages.values())


def test_compiled_stages_are_not_profiled(arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbiter.runtime.build.is_compiled", lambda: True)
    ran = arbiter("bench", "moves", "--profile", *TINY["moves"])
    assert (ran.code, ran.out) == (1, "")
    assert "run this on the interpreted modules" in ran.err


def test_sizes_that_make_no_sense_are_refused(arbiter: Arbiter) -> None:
    assert arbiter("bench", "moves", "--matches", "0").code == 2
    assert arbiter("bench", "fanout", "--seconds", "-1").code == 2


def test_a_benchmark_that_fails_says_why_in_one_line(arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARBITER_LIMITS__OPEN_MATCHES", "many")  # no server starts with this
    ran = arbiter("bench", "clocks", "--matches", "1")
    assert ran.code == 1
    complaint = ran.err.splitlines()[-1]
    assert complaint.startswith("arbiter: arbiter.bench.measured_server ended by itself")


@pytest.mark.soak
def test_the_cost_of_a_record_is_what_a_start_takes_more_than_one_with_one_match(bench: Bench) -> None:
    found = by_key(bench("recovery", "--matches", "20", "--plies", "10", "--rounds", "2"))
    assert found["record_us"]["title"] == "processor time for each of 276 records more than with one match"
    rounds = zip(found["server_s"]["rounds"], found["least_server_s"]["rounds"], strict=True)
    assert found["record_us"]["rounds"] == pytest.approx([1e6 * (full - least) / 276 for full, least in rounds])
