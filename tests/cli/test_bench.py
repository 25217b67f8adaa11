"""`arbiter bench`: tiny runs, to see that every figure is there. Whether a goal is met is not tested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from arbiter.bench.__main__ import main
from tests.cli.command import Arbiter
from tests.clients.toolchains import require
from tests.store.postgres import Cluster

pytestmark = pytest.mark.long

ATTACKS = ("--reading", "3", "--unread", "5", "--watching", "5", "--calling", "5", "--listing", "2", "--rounds", "1")
SHORT = ("--think", "0.05", "--rounds", "1", "--seconds", "1")
TINY = {
    "moves": ("--matches", "2", "--rounds", "1", "--seconds", "0.2", "--only", "thinking"),
    "fanout": ("--observers", "5", "--matches", "2", "--offered", "200", "--seconds", "1"),
    "recovery": ("--matches", "3", "--plies", "4", "--rounds", "1"),
    "metrics": ("--matches", "2", "--rounds", "1", "--seconds", "0.2"),
    "budget": ("--pairs", "2", "--history", "0.3", "--seconds", "0.3", *ATTACKS),
    "web": ("--viewers", "3", "--grid-viewers", "2", "--grid", "2", "--matches", "2", *SHORT),
}
GOALS = {
    "moves": {
        "thinking_beyond_p50_ms": 2,
        "thinking_beyond_p99_ms": 10,
    },
    "fanout": {"deliveries_per_s": 20_000, "delivery_p99_ms": 60},
    "recovery": {"serving_s": 3},
    "metrics": {"more": 3},
    "budget": {
        **dict.fromkeys((f"{attack}_ratio" for attack in ("reading", "unread", "watching")), 2),
        **dict.fromkeys((f"{attack}_ratio" for attack in ("calling", "listing", "looking")), 2),
        "unread_mib": 64,
    },
    "web": {"p50_ratio": 1.1, "p99_ratio": 1.1, "update_p99_ms": 5},
}


@pytest.mark.parametrize("name", TINY)
def test_every_goal_has_its_figure(arbiter: Arbiter, name: str) -> None:
    if name == "web":
        require("chromium", why="a page's update is measured in it")
    ran = arbiter("bench", name, *TINY[name], "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["bench"] == name
    assert {figure["key"]: figure["goal"] for figure in found["figures"] if figure["goal"]} == pytest.approx(
        GOALS[name]
    )
    assert all(
        figure["value"] > 0
        for figure in found["figures"]
        if figure["key"] in ("thinking_moves_per_s", "serving_s", "measured_us")
    )
    assert ran.err  # progress


def test_moves_stand_beside_the_bare_path_and_the_echo_of_the_same_run(arbiter: Arbiter) -> None:
    ran = arbiter("bench", "moves", *TINY["moves"][:-1], "at-once", "--json")
    assert ran.code == 0, ran.err
    found = {figure["key"]: figure for figure in json.loads(ran.out)["figures"]}
    for moves, share in (("moves_per_s", "share_of_echo"), ("bare_moves_per_s", "bare_share_of_echo")):
        assert found[moves]["value"] > 0
        expected = 100 * found[moves]["value"] / found["echo_per_s"]["value"]
        assert found[share]["value"] == pytest.approx(expected)
    assert {key: figure["goal"] for key, figure in found.items() if figure["goal"]} == {
        "moves_per_s": 5_000,
        "share_of_echo": 18,
        "bare_rate_ratio": 0.8,
    }
    assert found["bare_rate_ratio"]["value"] == pytest.approx(
        found["moves_per_s"]["value"] / found["bare_moves_per_s"]["value"]
    )


def test_two_streams_of_many_matches_are_compared_with_the_bare_path(arbiter: Arbiter) -> None:
    ran = arbiter("bench", "moves", *TINY["moves"][:-1], "coalesced", "--json")
    assert ran.code == 0, ran.err
    found = {figure["key"]: figure for figure in json.loads(ran.out)["figures"]}
    assert {key: figure["goal"] for key, figure in found.items() if figure["goal"]} == {"coalesced_us_ratio": 0.65}
    expected = found["coalesced_server_us"]["value"] / found["coalesced_bare_us"]["value"]
    assert found["coalesced_us_ratio"]["value"] == pytest.approx(expected)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.remove()


def test_moves_on_postgresql_have_goals_for_processor_time_and_leave_nothing_there(
    arbiter: Arbiter, cluster: Cluster
) -> None:
    store = ("--store", cluster.url("postgres"))
    before = cluster.ask("SELECT datname FROM pg_database ORDER BY 1")
    ran = arbiter("bench", "moves", *TINY["moves"][:-1], "at-once", *store, "--json")
    assert ran.code == 0, ran.err
    found = {figure["key"]: figure for figure in json.loads(ran.out)["figures"]}
    assert {key: figure["goal"] for key, figure in found.items() if figure["goal"]} == {
        "bare_us_ratio": pytest.approx(1.375)
    }
    assert min(found[key]["value"] for key in ("moves_per_s", "bare_moves_per_s", "bare_us_ratio")) > 0
    assert cluster.ask("SELECT datname FROM pg_database ORDER BY 1") == before


def test_another_store_than_postgresql_is_refused(arbiter: Arbiter) -> None:
    ran = arbiter("bench", "moves", *TINY["moves"], "--store", "sqlite:///arbiter.db")
    assert ran.code == 1
    assert "--store is for postgresql://USER@HOST/DATABASE" in ran.err


def test_offered_loads_are_measured_beside_the_bare_path_and_drawn(arbiter: Arbiter, tmp_path: Path) -> None:
    picture = tmp_path / "loads.svg"
    sizes = ("--matches", "8", "--rounds", "1", "--seconds", "0.2")
    ran = arbiter("bench", "moves", "--offered", "2500,500,1000", *sizes, "--svg", str(picture), "--json")
    assert ran.code == 0, ran.err
    found = {figure["key"]: figure for figure in json.loads(ran.out)["figures"]}
    assert {key: figure["goal"] for key, figure in found.items() if figure["goal"]} == {
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


def test_a_picture_of_what_is_not_measured_and_a_load_that_is_none_are_refused(arbiter: Arbiter) -> None:
    ran = arbiter("bench", "moves", "--only", "many", "--svg", "x.svg")
    assert ran.code == 1
    assert "add --only offered" in ran.err
    for offered in ("many", "0", "500,", "-5"):
        assert arbiter("bench", "moves", "--offered", offered).code == 2


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


def test_one_that_can_not_be_carried_out_says_why_in_one_line_however_it_is_called(
    arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARBITER_LIMITS__OPEN_MATCHES", "many")  # with which no server starts
    ran = arbiter("bench", "clocks", "--matches", "1")
    assert ran.code == 1
    complaint = ran.err.splitlines()[-1]
    assert complaint.startswith("arbiter: arbiter.bench.server ended by itself")
    assert main(["clocks", "--matches", "1"]) == 1
    assert capsys.readouterr().err == f"{complaint}\n"
