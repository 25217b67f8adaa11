"""`arbiter simulate` prints a table, and the seed of a failed run."""

from __future__ import annotations

import re

import pytest

from arbiter.matches.requests import Requests
from tests.cli.command import Arbiter


@pytest.mark.long
def test_a_table_of_results_is_printed(arbiter: Arbiter) -> None:
    ran = arbiter("simulate", "--seed", "3", "--matches", "5")
    assert (ran.code, ran.err) == (0, "")
    rows = dict(line.split("\t") for line in ran.out.splitlines() if "\t" in line)
    assert rows["matches"] == "5"
    assert int(rows["matches a minute"]) > 0
    assert len(rows["journals, SHA-256"]) == 64
    assert ran.out.endswith("Every promise was kept, in 1 run.\n")


@pytest.mark.long
def test_no_run_begins_after_the_time_is_up(arbiter: Arbiter) -> None:
    ran = arbiter("simulate", "--seeds", "3", "--matches", "1", "--minutes", "0.0001")
    assert ran.code == 0
    assert ran.out.endswith("Every promise was kept, in 1 run.\n")


@pytest.mark.long
def test_as_many_seeds_are_run_as_the_option_says(arbiter: Arbiter) -> None:
    ran = arbiter("simulate", "--seed", "3", "--seeds", "2", "--matches", "1")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "Every promise was kept, in 2 runs.")


@pytest.mark.long
def test_a_violated_invariant_is_printed_with_its_seed(arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Requests, "find", lambda self, caller, request: None)
    ran = arbiter("simulate", "--seeds", "4", "--matches", "10")
    assert ran.code == 1
    assert "promises; again: arbiter simulate --seed " in ran.out
    assert "--matches 10\n  Exactly once: request " in ran.out


@pytest.mark.long
def test_the_command_that_repeats_a_run_names_its_servers(arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Requests, "find", lambda self, caller, request: None)
    ran = arbiter("simulate", "--seed", "4", "--seeds", "4", "--matches", "8", "--replicas", "2")
    assert ran.code == 1  # most seeds repeat a request; which ones changes with the simulation
    assert re.search(r"again: arbiter simulate --seed \d+ --matches 8 --replicas 2\n", ran.out)


def test_numbers_have_limits(arbiter: Arbiter) -> None:
    for option, wrong in (
        ("--seed", "-1"),
        ("--seeds", "0"),
        ("--matches", "0"),
        ("--matches", "2001"),
        ("--replicas", "0"),
        ("--replicas", "17"),
        ("--minutes", "0"),
    ):
        ran = arbiter("simulate", option, wrong)
        assert ran.code == 2
        assert option in ran.complaint
