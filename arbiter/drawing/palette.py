"""The colours of drawings, light and dark, and the CSS that gives them to the classes of the elements.

Colour is never the only difference: seats also differ by lightness, heights by a number and by bricks, territory by the
direction of its hatching, what the last move touched by outlines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from arbiter.games.contract import Facts

FONT: Final = "system-ui,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif"


class Ink(NamedTuple):
    """The colours of a seat's pieces: inside, outline, text."""

    fill: str
    edge: str
    text: str


INKS: Final[Mapping[str, Ink]] = {
    "gold": Ink("#f2b134", "#7a5200", "#33230a"),
    "navy": Ink("#23406e", "#0c1a30", "#ffffff"),
    "white": Ink("#fdfcf8", "#5d686e", "#2b3338"),
    "black": Ink("#24292d", "#000000", "#ffffff"),
    "red": Ink("#c0392b", "#641e16", "#ffffff"),
    "green": Ink("#2e7d4f", "#123d25", "#ffffff"),
    "grey": Ink("#9aa5ab", "#5d686e", "#1d2428"),
}
"""The colours that pieces may have, by the class of their elements."""

DARK_EDGES: Final = {"navy": "#7ea3de", "black": "#97a5ac", "red": "#e58a80", "green": "#6fbf8f"}
"""The outlines of dark pieces on a dark board."""

NAMED: Final = {"yellow": "gold", "blue": "navy"} | {name: name for name in ("white", "black", "red", "green")}
"""The class for a seat that is called like a colour."""


class Palette(NamedTuple):
    """The colours of everything but pieces. ground: of the lowest and the highest height. edges: outlines of pieces.

    Pieces without an entry in `edges` have the outline of `INKS`. squares: light and dark ones. wood, line: of a board
    of points. felt: of Othello. rack: of discs that are dropped.
    """

    paper: str
    text: str
    quiet: str
    tile: str
    accent: str
    leaf: str
    leaf_edge: str
    territory: tuple[str, str]
    ground: tuple[str, str]
    edges: Mapping[str, str]
    squares: tuple[str, str] = ("#e6ecee", "#9fb3bd")
    wood: str = "#e9cf9c"
    line: str = "#6b5430"
    felt: str = "#7fb596"
    rack: str = "#5f8fc9"

    def ink(self, name: str) -> Ink:
        """Return the colours of pieces, with their outline on this board."""
        return INKS[name]._replace(edge=self.edges.get(name, INKS[name].edge))


LIGHT: Final = Palette(
    paper="#fbfaf6",
    text="#2b3338",
    quiet="#5f6d74",
    tile="#dde5e8",
    accent="#b3005e",
    leaf="#b4d9a0",
    leaf_edge="#5c8f45",
    territory=("#f7d48b", "#9db8e0"),
    ground=("#f5eee0", "#54402f"),
    edges={},
)
DARK: Final = Palette(
    paper="#14191c",
    text="#e4e9eb",
    quiet="#97a5ac",
    tile="#2a3439",
    accent="#ff6cae",
    leaf="#3d5f35",
    leaf_edge="#7fb06a",
    territory=("#6b5320", "#34507c"),
    ground=("#3a352d", "#d9bf9a"),
    edges=DARK_EDGES,
    squares=("#5b6c75", "#37464e"),
    wood="#8d7145",
    line="#2b2010",
    felt="#3c6b52",
    rack="#2c4a78",
)

NAMES: Final = 0.7  #: opacity of the names of cells, which stand on tiles and on territories
SHADES: Final = 12  #: heights from here on have the same shade and the same bricks, and differ by their number


def seat_classes(facts: Facts) -> tuple[str, str, str]:
    """Return the class of pieces of nobody, of seat 1 and of seat 2: the colours that the seats are called.

    Seats that are not called like colours are gold and navy.
    """
    first, second = (NAMED.get(name.lower(), "") for name in facts.seats)
    return ("grey", first, second) if first and second and first != second else ("grey", "gold", "navy")


def css(palette: Palette) -> str:
    """Return the rules of a palette.

    Each selector is one class or element: what a `use` element shows is matched without what it stands in.
    """
    first, second = palette.territory
    inks = {name: palette.ink(name) for name in INKS}
    rules = {
        "text": f"font-family:{FONT};fill:{palette.text}",
        ".paper": f"fill:{palette.paper}",
        ".tile": f"fill:{palette.tile};stroke:{palette.paper};stroke-width:3;stroke-linejoin:round",
        ".pale": f"fill:{palette.squares[0]}",
        ".dark": f"fill:{palette.squares[1]}",
        ".wood": f"fill:{palette.wood};stroke:{palette.wood};stroke-width:1",
        ".felt": f"fill:{palette.felt};stroke:{palette.paper};stroke-width:2",
        ".rack": f"fill:{palette.rack};stroke:{palette.rack};stroke-width:1",
        ".fresh": f"fill:none;stroke:{palette.accent};stroke-width:5",
        ".shut": f"fill:none;stroke:{palette.text};stroke-width:7;stroke-linecap:round;opacity:.75",
        ".line": f"fill:none;stroke:{palette.line};stroke-width:1.5",
        ".star": f"fill:{palette.line}",
        ".quiet": f"fill:{palette.quiet}",
        ".name": f"fill:{palette.text};fill-opacity:{NAMES}",
        ".mark": f"fill:{palette.leaf};stroke:{palette.leaf_edge};stroke-width:2;stroke-linejoin:round",
        ".land1": f"fill:{first}",
        ".land2": f"fill:{second}",
        ".hatch": f"stroke:{palette.paper};stroke-width:3;opacity:.55",
        ".from,.to,.changed": f"fill:none;stroke:{palette.accent};stroke-width:3.5;stroke-linejoin:round",
        ".from": "stroke-dasharray:7 6",
        ".changed": "stroke-width:3;stroke-dasharray:2 4",
        ".taken": f"fill:none;stroke:{palette.accent};stroke-width:4;stroke-linecap:round",
        ".target": f"fill:{palette.accent};opacity:.6",
        ".threat": f"fill:{palette.accent};stroke:{palette.paper};stroke-width:1.5",
        ".warning": f"fill:{palette.paper};font-weight:700",
        ".way,.dig": f"fill:none;stroke:{palette.accent};stroke-width:5;stroke-linecap:round;opacity:.75",
        ".dig": "stroke-dasharray:1 9",
        ".head": f"fill:{palette.accent};opacity:.85",
        ".piece": f"stroke:{palette.paper}",
        ".letter,.strong": "font-weight:700",
        ".height": f"fill:{_text_on(palette.ground[0])};font-weight:700",
        ".height.deep": f"fill:{_text_on(palette.ground[1])}",
        ".brick": f"fill:{_text_on(palette.ground[0])};opacity:.6",
        ".brick.deep": f"fill:{_text_on(palette.ground[1])}",
        **{f".h{n}": f"fill:{shade}" for n, shade in enumerate(_shades(palette.ground))},
        **{f".{name}": f"fill:{ink.fill};stroke:{ink.edge};stroke-width:2.5" for name, ink in inks.items()},
        ".shape": "stroke-width:4;stroke-linejoin:round;paint-order:stroke",
        **{f".rim-{name}": f"fill:none;stroke:{ink.edge};stroke-width:15" for name, ink in inks.items()},
        **{f".link-{name}": f"fill:none;stroke:{ink.fill};stroke-width:10" for name, ink in inks.items()},
        **{
            f".side-{name}": f"fill:none;stroke:{shade};stroke-width:9;stroke-linejoin:round"
            for name, shade in ({name: ink.fill for name, ink in inks.items()} | {**palette.edges}).items()
        },
        **{f".on-{name}": f"fill:{ink.text}" for name, ink in inks.items()},
    }
    return "\n".join(f"{selector}{{{rule}}}" for selector, rule in rules.items())


def is_deep(height: int) -> bool:
    """Say whether a height's shade is on the far half of the scale, where text has the other colour."""
    return height > SHADES // 2


def _shades(ground: tuple[str, str]) -> Sequence[str]:
    low, high = (_channels(colour) for colour in ground)
    return [
        "#" + "".join(f"{round(a + (b - a) * n / SHADES):02x}" for a, b in zip(low, high, strict=True))
        for n in range(SHADES + 1)
    ]


def _text_on(ground: str) -> str:
    return "#2b2118" if sum(_channels(ground)) > 3 * 128 else "#ffffff"


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
