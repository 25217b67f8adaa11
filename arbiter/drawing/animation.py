"""A whole match as one animated SVG: every position for a while, again and again.

Each symbol is drawn once. Each item of a layer (a symbol with its text on a cell) is placed once, too, however many
positions show it: an `animate` element says when it is visible. So the file grows with what changes, and not with the
number of positions times that of pieces. SMIL animation needs no script, and every current browser plays it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from arbiter.drawing.caption import sentence
from arbiter.drawing.contents import Contents, GroupLink
from arbiter.drawing.looks import over, tile_of, under
from arbiter.drawing.palette import LIGHT, Palette, css, seat_classes
from arbiter.drawing.shapes import element, label, number, words
from arbiter.drawing.skeleton import skeleton
from arbiter.drawing.symbols import Placed, Symbol, lettered, symbols
from arbiter.games.contract import AnyGame

STEP_MS: Final = 1_000  #: for which each position is shown
LAST_STEPS: Final = 4  #: times as long the last position is shown
MARGIN: Final = 24.0
HEADER: Final = 66.0  #: pixels above the board
FOOTER: Final = 40.0  #: pixels below it
TEXT: Final = 16.0
LONGEST: Final = 60  #: characters of a line below the board


class Frame(NamedTuple):
    """A position of the animation: what stands on the board, and a line below it."""

    shown: Contents
    words: str


def animated(
    game: AnyGame, players: tuple[str, str], frames: Sequence[Frame], step_ms: int = STEP_MS, palette: Palette = LIGHT
) -> str:
    """Return an animation of some positions in order, the first of which is shown first, as an SVG document.

    players: the names that stand above the board, by seat. Raises ValueError without a position.
    """
    if not frames:
        raise ValueError("an animation needs a position")
    shape, known, times = skeleton(game.board), symbols(game), _Times(len(frames), step_ms)
    width = shape.width + 2 * MARGIN
    title = f"{game.facts.name}: {players[0]} against {players[1]}, {len(frames) - 1} plies"
    return element(
        "svg",
        element("title", words(title)),
        element("style", css(palette)),
        element("defs", *(element("g", each.drawn, id=name) for name, each in known.items() if each.drawn)),
        element("rect", class_="paper", width=width, height=HEADER + shape.height + FOOTER, rx=14.0),
        *_header(game, players, width),
        element("g", *_board(game, frames, times), transform=f"translate({number(MARGIN)} {number(HEADER)})"),
        *_lines(frames, times, (MARGIN, HEADER + shape.height + FOOTER / 2)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(width)} {number(HEADER + shape.height + FOOTER)}",
        width=width,
        height=HEADER + shape.height + FOOTER,
        role="img",
        aria_label=title,
    )


class _Times:
    """When each position is shown, as shares of the whole."""

    def __init__(self, frames: int, step_ms: int) -> None:
        self._frames = frames
        self._steps = frames - 1 + LAST_STEPS
        self._duration = f"{number(self._steps * step_ms / 1000)}s"

    def visible(self, frames: Sequence[int]) -> str:
        """Return the element that shows its parent in these positions alone, in order; '' if in all."""
        if len(frames) == self._frames:
            return ""
        values, keys = [], []
        shown: bool | None = None
        there = set(frames)
        for frame in sorted({0, *frames, *(frame + 1 for frame in frames)}):
            if frame < self._frames and (frame in there) is not shown:
                shown = frame in there
                values.append("inline" if shown else "none")
                keys.append(f"{frame / self._steps:.5f}".rstrip("0").rstrip("."))
        return element(
            "animate",
            attributeName="display",
            calcMode="discrete",
            dur=self._duration,
            repeatCount="indefinite",
            values=";".join(values),
            keyTimes=";".join(keys),
        )


def _board(game: AnyGame, frames: Sequence[Frame], times: _Times) -> Iterator[str]:
    """Yield the layers of the board, from the ground up."""
    shape = skeleton(game.board)
    yield from under(game, shape)
    yield "".join(element("use", href=f"#{tile_of(game, cell)}", x=x, y=y) for cell, (x, y) in enumerate(shape.centres))
    yield from over(game, shape)
    yield from _items(game, [frame.shown.ground for frame in frames], times)
    yield from _items(game, [frame.shown.last for frame in frames], times)
    yield from _ways(frames, times)
    yield from shape.coordinates()
    yield from _items(game, [frame.shown.signs for frame in frames], times)
    yield from _links(game, frames, times)
    yield from _items(game, [frame.shown.pieces for frame in frames], times)
    yield from _items(game, [frame.shown.over for frame in frames], times)


def _items(game: AnyGame, layers: Sequence[Sequence[Placed]], times: _Times) -> Iterator[str]:
    """Yield the items of a layer, given for each position; each is drawn once, with the times at which it is there."""
    shape, known = skeleton(game.board), symbols(game)
    seen: defaultdict[tuple[str, str, int], list[int]] = defaultdict(list)
    for n, layer in enumerate(layers):
        for name, text, cells in layer:
            for cell in cells:
                seen[name, text, cell].append(n)
    for (name, text, cell), shown in seen.items():
        yield element("g", _item(name, known[name], text, shape.centres[cell]), times.visible(shown))


def _ways(frames: Sequence[Frame], times: _Times) -> Iterator[str]:
    for n, frame in enumerate(frames):
        for kind, shaft, head in frame.shown.ways:
            drawn = element("path", class_=kind, d=shaft), element("polygon", class_="head", points=head)
            yield element("g", *drawn, times.visible([n]))


def _links(game: AnyGame, frames: Sequence[Frame], times: _Times) -> Iterator[str]:
    shape, inks = skeleton(game.board), seat_classes(game.facts)
    seen: defaultdict[GroupLink, list[int]] = defaultdict(list)
    for n, frame in enumerate(frames):
        for link in frame.shown.links:
            seen[link].append(n)
    for kind in ("rim", "link"):
        for (owner, first, second), shown in seen.items():
            (x1, y1), (x2, y2) = shape.centres[first], shape.centres[second]
            name = f"{kind}-{inks[owner]}"
            yield element("line", times.visible(shown), class_=name, x1=x1, y1=y1, x2=x2, y2=y2)


def _item(name: str, symbol: Symbol, text: str, at: tuple[float, float]) -> str:
    drawn = element("use", href=f"#{name}", x=at[0], y=at[1]) if symbol.drawn else ""
    return drawn + lettered(symbol, text, at)


def _header(game: AnyGame, players: tuple[str, str], width: float) -> Iterator[str]:
    yield label(game.facts.name, (MARGIN, 22.0), 20.0, "strong", "start")
    for seat, (ink, x, anchor) in enumerate(
        zip(seat_classes(game.facts)[1:], (MARGIN, width - MARGIN), ("start", "end"), strict=True)
    ):
        side = 1 if anchor == "start" else -1
        yield element("circle", class_=ink, cx=x + side * 8, cy=50.0, r=7.0)
        yield label(_short(players[seat], 24), (x + side * 22, 50.0), TEXT, "quiet", anchor)


def _lines(frames: Sequence[Frame], times: _Times, at: tuple[float, float]) -> Iterator[str]:
    for n, frame in enumerate(frames):
        text = label(_short(sentence(frame.words), LONGEST), at, TEXT, "strong", "start")
        yield element("g", text, times.visible([n]))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
