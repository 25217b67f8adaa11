"""Animations of matches: at each moment they show exactly the position of that moment."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from arbiter.drawing.animation import LAST_STEPS, Frame, animated
from arbiter.drawing.contents import contents
from arbiter.games import registry
from tests.drawing.test_contents import line
from tests.drawing.test_svg import EACH

SVG = "{http://www.w3.org/2000/svg}"


def visible(part: ElementTree.Element, share: float) -> bool:
    """Return whether an element is visible at a fraction of the animation."""
    animate = part.find(f"{SVG}animate")
    if animate is None:
        return True
    values, keys = animate.attrib["values"].split(";"), [float(key) for key in animate.attrib["keyTimes"].split(";")]
    assert keys[0] == 0
    assert keys == sorted(set(keys))
    return next(value for value, key in reversed(list(zip(values, keys, strict=True))) if key <= share) == "inline"


def items(root: ElementTree.Element, share: float) -> Iterator[tuple[str, str, str, str]]:
    """Yield what is drawn on the board at a moment: symbol, x, y, text."""
    for part in root.iter(f"{SVG}g"):
        use = part.find(f"{SVG}use")
        if use is not None and len(part.findall(f"{SVG}use")) == 1 and visible(part, share):
            yield use.attrib["href"], use.attrib["x"], use.attrib["y"], part.findtext(f"{SVG}text") or ""


@pytest.mark.parametrize("variant", EACH)
def test_each_moment_shows_its_position(variant: str) -> None:
    game = registry.game(variant)
    played = line(game, 2, 25)
    frames = [Frame(contents(game, played[0][0]), "the start")]
    frames += [
        Frame(contents(game, after, game.steps(before, move), before), f"{n}. {move}")
        for n, (before, move, after) in enumerate(played, 1)
    ]
    root = ElementTree.fromstring(animated(game, ("alice", "bob <b>"), frames))
    steps = len(frames) - 1 + LAST_STEPS
    for n, frame in enumerate(frames):
        placed = [
            each for layer in ("ground", "last", "signs", "pieces", "over") for each in getattr(frame.shown, layer)
        ]
        drawn = sum(len(each.cells) for each in placed if not each.symbol.startswith("height"))
        moments = (n + 0.01, n + 0.99) if n < len(frames) - 1 else (n + 0.01, steps - 0.01)
        for moment in moments:
            assert len(list(items(root, moment / steps))) == drawn
        said = [
            part.findtext(f"{SVG}text")
            for part in root.findall(f"{SVG}g")
            if "transform" not in part.attrib and visible(part, (n + 0.5) / steps)
        ]
        assert [each for each in said if each] == [frame.words.capitalize() if n == 0 else frame.words]


def test_a_match_of_one_position_is_a_still_picture() -> None:
    game = registry.game("hop-it")
    drawn = animated(game, ("alice", "bob"), [Frame(contents(game, game.initial()), "the start")])
    assert "<animate" not in drawn
    with pytest.raises(ValueError, match="needs a position"):
        animated(game, ("alice", "bob"), [])


def test_the_size_of_an_animation_depends_on_what_changes() -> None:
    game = registry.game("pods")
    played = line(game, 4, 120)
    frames = [Frame(contents(game, after), move) for _, move, after in played]
    size = len(animated(game, ("alice", "bob"), frames))
    assert size < 250_000, size
