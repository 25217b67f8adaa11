"""Several drawings in one document; and the picture of the README, which must be fresh."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from arbiter.games import registry
from tests.generators.pictures import COLUMNS, POSITIONS, boards, games_sheet
from tests.generators.sheet import GAP, sheet

PICTURES = Path(__file__).parents[2] / "deploy" / "pictures"
SVG = "{http://www.w3.org/2000/svg}"


def test_every_bundled_game_is_drawn_and_none_overlaps_another() -> None:
    assert set(POSITIONS) == set(registry.SEED)
    root = ElementTree.fromstring(sheet(list(boards()), COLUMNS, 100.0, "all"))
    places = [
        tuple(float(inner.attrib[name]) for name in ("x", "y", "width", "height"))
        for inner in root.iter(f"{SVG}svg")
        if inner is not root
    ]
    assert len(places) == len(POSITIONS)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for n, (x, y, w, h) in enumerate(places):
        assert GAP <= x <= width - GAP - w
        assert GAP <= y <= height - GAP - h
        assert all(abs(x - x2) >= w + GAP or abs(y - y2) >= h + GAP for x2, y2, _, _ in places[n + 1 :])


def test_a_drawing_without_a_size_is_refused() -> None:
    with pytest.raises(ValueError, match="viewBox"):
        sheet(["<svg></svg>"], 1, 100.0, "none")


def test_the_picture_of_the_readme_is_fresh() -> None:
    assert (PICTURES / "games.svg").read_text(encoding="utf-8") == games_sheet() + "\n", "run make golden"
