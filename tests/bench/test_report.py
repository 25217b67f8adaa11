"""How benchmarks print figures and goals: as text and as JSON."""

from __future__ import annotations

import pytest

from arbiter.bench.report import TIMES, Bound, Figure, Report, percentile, shown, stolen_s


@pytest.mark.parametrize(
    ("value", "goal", "bound", "verdict", "met"),
    [
        (5_001, 5_000, Bound.LEAST, "≥ 5,000  met", True),
        (4_999, 5_000, Bound.LEAST, "≥ 5,000  not met", False),
        (2.0, 2, Bound.MOST, "≤ 2.00  met", True),
        (2.1, 2, Bound.MOST, "≤ 2.00  not met", False),
        (7, None, Bound.MOST, "", None),
    ],
)
def test_a_goal_stands_beside_its_figure(
    value: float, goal: float | None, bound: Bound, verdict: str, met: bool | None
) -> None:
    figure = Figure("key", "title", value, "ms", goal, bound)
    assert (figure.verdict, figure.met) == (verdict, met)


def test_programs_get_the_same_figures_and_the_machine() -> None:
    report = Report("moves", "about", stolen=1.5)
    report.add("rate", "how many", 12_345.6, "moves/s", 5_000)
    assert report.rows() == [("how many", "12,346", "moves/s", "≥ 5,000  met")]
    found = report.json()
    assert found["figures"] == [
        {
            "key": "rate",
            "title": "how many",
            "value": 12_345.6,
            "unit": "moves/s",
            "goal": 5_000,
            "bound": "least",
            "met": True,
            "rounds": (),
        }
    ]
    assert found["machine"]["processors"] >= 1
    assert found["machine"]["stolen"] == 1.5


def test_a_median_keeps_the_value_of_each_round() -> None:
    report = Report("moves", "about")
    report.median("ratio", "how much", (each for each in (3.0, 1.0, 2.0)), "times", 2, Bound.MOST)
    (figure,) = report.json()["figures"]
    assert (figure["value"], figure["rounds"], figure["met"]) == (2, (3, 1, 2), True)


def test_a_multiple_just_below_its_goal_does_not_look_like_it() -> None:
    report = Report("cluster", "about", plan={"pairs": 64})
    report.add("ratio", "moves of two", 0.998, TIMES, 1)
    assert report.rows() == [("moves of two", "0.998", "times", "≥ 1.00  not met")]
    assert report.json()["plan"] == {"pairs": 64}


def test_the_time_stolen_by_the_host_only_grows() -> None:
    assert 0 <= stolen_s() <= stolen_s()


def test_percentiles_are_of_the_nearest_rank() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert [percentile(values, percent) for percent in (0, 50, 99, 100)] == [1, 50, 99, 100]
    assert percentile([3.0], 99) == 3
    assert percentile([], 50) == 0


def test_numbers_are_shown_with_three_digits_or_whole() -> None:
    assert [shown(value) for value in (0, 1.234, 12.34, 123.4, 12_345.6)] == ["0", "1.23", "12.3", "123", "12,346"]
