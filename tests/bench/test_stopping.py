"""How many games each stopping rule needs: the page for organisers has the same numbers as the code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from arbiter.ratings import evidence, sprt
from arbiter.ratings.difference import difference
from arbiter.ratings.pairs import SCORES, Pairs, expected_score
from tests.studies.__main__ import main
from tests.studies.coverage import CONDITIONS
from tests.studies.stopping import (
    DIFFERENCES,
    FORMULAS,
    StoppingPlan,
    bench_stopping,
    deviation,
    every_look,
    fixed,
    log_capitals,
    plan_of,
    ratios,
    sequential,
    shares,
    simulated,
)
from tests.studies.stopping_pictures import runs, two_intervals

DEPLOY = Path(__file__).parents[2] / "deploy"
PAGE = "".join((DEPLOY / f"{name}.md").read_text(encoding="utf-8") for name in ("CHOOSING", "RESULTS"))


def _cells(name: str) -> list[str]:
    """Return the cells of a row of the page."""
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in row.strip("|").split("|")[1:]]


@pytest.mark.parametrize("name", FORMULAS)
def test_the_page_has_the_numbers_of_the_formulas(name: str) -> None:
    assert _cells(name) == [f"{FORMULAS[name](elo):,}" for elo in DIFFERENCES]


@pytest.mark.long
def test_the_page_has_every_row_that_the_command_prints() -> None:
    lines: list[str] = []
    bench_stopping(lines.append, trials=1, differences=(100.0,))
    rows = [line.split(" | ")[0] for line in lines if line.startswith("| ") and not line.startswith("| --")]
    assert len(rows) == 12
    assert all(f"\n{row} |" in PAGE for row in rows)


@pytest.mark.long
def test_the_page_has_the_simulated_numbers() -> None:
    for name, truth, rule in (
        ("sequential test, A and B equal", 0, sequential(100)),
        ("sequential test, A better by that", 100, sequential(100)),
        ("valid at every look, A better by that", 100, every_look),
    ):
        said = float(_cells(name)[-1].split(" ")[0].replace(",", ""))
        assert simulated(truth, 100, rule, trials=300).mean == pytest.approx(said, rel=0.15)


@pytest.mark.long
@pytest.mark.parametrize(("name", "drawn"), [("test-runs", runs), ("two-intervals", two_intervals)])
def test_the_pictures_of_the_page_are_fresh(name: str, drawn: Callable[[], str]) -> None:
    fresh = "run python -m tests.studies stopping --svg deploy/pictures"
    assert (DEPLOY / "pictures" / f"{name}.svg").read_text(encoding="utf-8") == drawn() + "\n", fresh
    assert f"pictures/{name}.svg" in PAGE


def test_the_command_measures_every_condition_of_the_page() -> None:
    table = PAGE.partition("| condition | all players |")[2]
    named = {line.split("|")[1].strip() for line in table.splitlines()[2:] if line.startswith("| ")}
    assert named < {condition.name for condition in CONDITIONS}


def test_many_trials_at_once_have_the_ratios_and_capitals_of_one() -> None:
    counts = np.random.default_rng(5).multinomial(60, shares(30), 50)
    hypotheses = sprt.Hypotheses(0, 20)
    one = [Pairs(*row) for row in counts.tolist()]
    at_once = counts.astype(float)
    assert ratios(at_once, hypotheses) == pytest.approx([sprt.log_likelihood_ratio(p, hypotheses) for p in one])
    assert log_capitals(at_once) == pytest.approx([evidence.log_capital(pairs, 0.5) for pairs in one])


@pytest.mark.parametrize("elo", [-300, 0, 5, 100])
def test_pairs_score_as_their_difference_says(elo: float) -> None:
    assert shares(elo).sum() == pytest.approx(1)
    assert shares(elo) @ SCORES == pytest.approx(expected_score(elo))


def test_the_fixed_number_has_the_errors_that_it_promises() -> None:
    rng, pairs = np.random.default_rng(2), fixed(20) // 2
    border = 0.5 + 1.6449 * deviation(0) / pairs**0.5
    for elo, share in ((0, 0.05), (20, 0.95)):
        scores = rng.multinomial(pairs, shares(elo), 5_000) @ SCORES / pairs
        assert (scores > border).mean() == pytest.approx(share, abs=0.01)


def test_an_interval_of_that_many_games_is_as_wide_as_the_table_says() -> None:
    games = FORMULAS["fixed number, interval of ± that many Elo"](20)
    found = difference(Pairs(*np.round(shares(0) * games / 2).astype(int).tolist()))
    # One more pair at each end, which the formula leaves out, is two thirds of an Elo point.
    assert found.high - found.low == pytest.approx(40, rel=0.05)


def test_the_command_line_is_checked() -> None:
    assert plan_of(["--trials", "3", "--svg", "here"]) == StoppingPlan(3, Path("here"))
    with pytest.raises(SystemExit):
        main(["stopping", "--trials", "0"])
