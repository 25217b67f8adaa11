"""Charts show the right values at the right places, with any data."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.drawing.chart import MOST_CHARACTERS, MOST_CURVES, AxisTick, Curve, Mark, chart_svg, chart_text

RISING = Curve("orca", [Mark(0, -100, -300, 100), Mark(50, 0, -120, 120), Mark(100, 200, 150, 250)])
FALLING = Curve("seal <1>", [Mark(0, 100, -100, 300), Mark(100, -200, -250, -150)])
TICKS = [AxisTick(0, "Monday"), AxisTick(100, "Friday"), AxisTick(300, "never")]
SVG = "{http://www.w3.org/2000/svg}"

NUMBERS = st.floats(-5_000, 5_000)
MARKS = st.builds(
    lambda at, value, below, above: Mark(at, value, value - below, value + above),
    st.integers(0, 10**13), NUMBERS, st.floats(0, 1e6), st.floats(0, 1e6),
)  # fmt: skip
CURVES = st.lists(st.builds(Curve, st.text(max_size=30), st.lists(MARKS, max_size=5).map(sorted)), max_size=10)


def test_a_chart_describes_in_words_how_its_curves_end() -> None:
    root = ElementTree.fromstring(chart_svg("pods", [RISING, FALLING], TICKS))
    assert root.findtext(f"{SVG}title") == "pods"
    description = root.findtext(f"{SVG}desc")
    assert description == "orca: 200 Elo (150 to 250); seal <1>: -200 Elo (-250 to -150)."
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"orca 200", "seal <1> -200", "Monday", "Friday"} <= set(texts)
    assert "never" not in texts


def test_curves_differ_by_more_than_colour() -> None:
    root = ElementTree.fromstring(chart_svg("pods", [RISING, FALLING]))
    lines = [each for each in root.iter(f"{SVG}path") if each.get("class", "").startswith("curve")]
    assert len({each.get("stroke-dasharray") for each in lines}) == 2


def test_names_at_the_ends_do_not_overlap() -> None:
    curves = [Curve(f"p{n}", [Mark(0, n, n, n), Mark(1, 0, -1, 1)]) for n in range(MOST_CURVES + 2)]
    root = ElementTree.fromstring(chart_svg("pods", curves))
    places = sorted(float(each.get("y", "")) for each in root.iter(f"{SVG}text") if each.get("class") == "name")
    assert len(places) == MOST_CURVES
    assert min(b - a for a, b in pairwise(places)) > 14


def test_on_a_logarithmic_axis_equal_ratios_have_equal_distances() -> None:
    curves = [Curve("p99", [Mark(0, 2, 0.5, 3), Mark(1, 20, 10, 30), Mark(2, 200, 100, 300)])]
    root = ElementTree.fromstring(chart_svg("latency", curves, unit="ms", digits=1, powers=True))
    assert root.findtext(f"{SVG}desc") == "p99: 200.0 ms (100.0 to 300.0)."
    labels = [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "tick"]
    assert labels[:5] == ["0.1", "1", "10", "100", "1000"]
    (path,) = (each.get("d", "") for each in root.iter(f"{SVG}path"))
    heights = [float(point.split()[1]) for point in path.removeprefix("M").split("L")]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.1)
    assert heights[1] < heights[0]


def test_the_text_of_a_chart() -> None:
    flat = [Curve("orca", [Mark(0, 0, 0, 0), Mark(10, 100, 50, 100)]), Curve("seal", [Mark(0, 100, 100, 100)])]
    assert chart_text("pods", flat, [AxisTick(0, "Mon"), AxisTick(10, "Fri")], width=21, height=5) == (
        "pods\n"
        "100 ┤B                 AAA\n"
        " 80 ┤             AAAAA░░░\n"
        " 60 ┤        AAAAA░░░░░░░░\n"
        " 20 ┤   AAAAA░░░░░░░\n"
        "  0 ┤AAA░░░\n"
        "    └─────────────────────\n"
        "     Mon               Fri\n"
        "     A  orca: 100 (50 to 100)\n"
        "     B  seal: 100 (100 to 100)\n"
    )


def test_an_empty_chart_says_so() -> None:
    assert chart_text("pods", [Curve("orca", [])]) == "pods\n  nothing to show yet\n"
    assert "nothing to show yet" in chart_svg("pods", [])


@pytest.mark.long
@given(CURVES, st.integers(10, 100), st.integers(4, 30))
def test_every_chart_is_well_formed_and_inside_its_frame(curves: list[Curve], width: int, height: int) -> None:
    root = ElementTree.fromstring(chart_svg("t", curves))
    for each in root.iter(f"{SVG}circle"):
        assert 0 <= float(each.get("cx", "")) <= 880
        assert 0 <= float(each.get("cy", "")) <= 460
    names = ["".join(each.itertext()) for each in root.iter(f"{SVG}text") if each.get("class") == "name"]
    assert all(len(name) <= MOST_CHARACTERS for name in names)
    lines = chart_text("t", curves, TICKS, width, height).splitlines()
    field = [line for line in lines if "┤" in line or "│" in line]
    assert len(field) in (0, height)
    assert all(len(line.split("┤")[-1].split("│")[-1]) <= width for line in field)
