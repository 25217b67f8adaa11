"""Simulated matches with faults: every promise is kept, and a seed repeats a run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from arbiter.testing.simulation.plan import Fault, draw
from arbiter.testing.simulation.summary import RunSummary, simulate

pytestmark = pytest.mark.long

MATCHES = 20  #: in a run
ENOUGH = 20  #: runs for every fault and every end to happen

FIXED = [
    # The seed, the number of matches, and what it brought to light.
    # A stream of everything went on past an append that was reported as failed, when that was published late and
    # between the events of other matches: resumed after the earlier ones, it was short of it.
    (75, 40),
    # A move that was decided anew, since another server had begun its turn again, carried the hand-over of the turn
    # before in its ledger.
    (23, 20),
]


@pytest.fixture(scope="module")
def outcomes(seeds: int) -> list[RunSummary]:
    """Return what comes of the seeds that every run of the suite tries."""
    return [simulate(seed, MATCHES) for seed in range(1, seeds + 1)]


def test_every_promise_is_kept(outcomes: list[RunSummary]) -> None:
    assert not [str(outcome) for outcome in outcomes if outcome.violations]


@pytest.mark.parametrize(("seed", "matches"), FIXED)
def test_what_was_fixed_stays_fixed(seed: int, matches: int) -> None:
    assert simulate(seed, matches).violations == ()


def test_everything_happens(outcomes: list[RunSummary]) -> None:
    if len(outcomes) < ENOUGH:
        pytest.skip(f"in fewer than {ENOUGH} runs not everything happens")
    faults = sum((outcome.faults for outcome in outcomes), Counter())
    ends = sum((outcome.ends for outcome in outcomes), Counter())
    assert set(faults) == set(Fault)
    ours = {"resignation", "draw_agreed", "time", "illegal_moves", "no_show", "abandonment", "aborted", "adjudicated"}
    assert ours < set(ends)
    assert len(set(ends) - ours) >= 2  # ends by the rules of the games
    assert sum(ends.values()) == MATCHES * len(outcomes)


def test_a_run_without_faults_has_none(outcomes: list[RunSummary]) -> None:
    fine = [outcome for outcome in outcomes if draw(outcome.seed, MATCHES).calm]
    assert fine
    assert not any(outcome.faults for outcome in fine)


def test_the_same_seed_leaves_the_same_journal_in_any_process() -> None:
    """Two processes hash texts differently, so what depends on the order of a set shows.

    The other process always runs the interpreted modules: where this one runs the compiled ones, both leave the same.
    """
    interpreted = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    ran = subprocess.run(
        [sys.executable, "-m", "arbiter", "simulate", "--seed", "13", "--matches", "12"],
        env={**interpreted, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    outcome = simulate(13, 12)
    assert outcome.faults
    assert f"journals, SHA-256\t{outcome.digest}\n" in ran.stdout


def test_another_seed_leaves_another_journal(outcomes: list[RunSummary]) -> None:
    assert len({outcome.digest for outcome in outcomes}) == len(outcomes)
