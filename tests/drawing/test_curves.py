"""The small charts of a match: where they show values, and that bars and curves stay inside."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from arbiter.drawing.curves import HEIGHT, LEFT, RIGHT, WIDTH, Expectation, Spent, expectation_chart, time_chart

PLIES = 12
SAID = st.lists(st.builds(Expectation, st.integers(0, PLIES - 1), st.sampled_from((1, 2)), st.integers(0, 1_000)))
TIMES = st.lists(st.builds(Spent, st.integers(0, PLIES - 1), st.sampled_from((1, 2)), st.integers(0, 10**7)))


def numbers(path: str) -> list[float]:
    return [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", path)]


def test_seat_2_is_drawn_from_its_own_side() -> None:
    chart = ElementTree.fromstring(
        expectation_chart([Expectation(0, 1, 900), Expectation(1, 2, 100)], 2, 2, "what was expected")
    )
    dots = {each.attrib["class"]: float(each.attrib["cy"]) for each in chart.iter("circle")}
    assert dots["dot of1"] == dots["dot of2"] < HEIGHT / 2  # both expect seat 1 to score 90 %
    assert chart.attrib["aria-label"] == "what was expected"


@given(SAID, st.integers(0, PLIES))
def test_curves_and_cursor_stay_inside(said: list[Expectation], at: int) -> None:
    chart = ElementTree.fromstring(expectation_chart(said, PLIES, at, ""))
    for each in chart.iter("circle"):
        assert LEFT <= float(each.attrib["cx"]) <= WIDTH - RIGHT
        assert 0 <= float(each.attrib["cy"]) <= HEIGHT
    (cursor,) = [each for each in chart.iter("line") if each.attrib["class"] == "cursor"]
    left, step = float(chart.attrib["data-left"]), float(chart.attrib["data-step"])
    assert abs(float(cursor.attrib["x1"]) - (left + at * step)) < 0.1


@given(TIMES, st.integers(0, PLIES))
def test_bars_have_one_scale(spent: list[Spent], at: int) -> None:
    chart = ElementTree.fromstring(time_chart(spent, PLIES, at, ""))
    longest = max((each.ms for each in spent), default=0)
    for seat, upward in ((1, -1), (2, 1)):
        (path,) = [each.get("d", "") for each in chart.iter("path") if each.attrib["class"] == f"spent of{seat}"]
        bars = [numbers(each) for each in path.split("M")[1:]]
        own = [each.ms for each in spent if each.seat == seat and each.ms]
        assert len(bars) == len(own)
        for ms, (x, y, wide, high, _) in zip(own, bars, strict=True):
            assert LEFT <= x <= x + wide <= WIDTH - RIGHT + 0.1
            assert y == HEIGHT / 2
            assert abs(high - upward * (HEIGHT / 2 - 8) * ms / longest) < 0.06
