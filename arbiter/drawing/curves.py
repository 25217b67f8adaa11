"""Small charts of one match as elements of a page: what each side expected, and the time that each move took.

Their style is the page's: the classes are `expected`, `spent`, `axis`, `cursor`, and `of1`, `of2` for the seats. Curves
of seat 2 are dashed, and its bars hang down from the middle, so colour is never the only difference. A line with the
class `cursor` stands at the ply that is looked at; `data-left` and `data-step` say where each ply is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter.drawing.shapes import element, label, number

WIDTH: Final = 640.0
HEIGHT: Final = 120.0
LEFT: Final = 56.0  #: pixels for the labels of the axis
RIGHT: Final = 8.0
MARGIN: Final = 8.0  #: pixels above and below
TEXT: Final = 12.0
EVEN: Final = 1_000  #: permille that both seats expect together
GAP: Final = 0.8  #: share of a ply's width that its bar takes


class Expectation(NamedTuple):
    """What the player of a seat expected of its move at a ply (0 is the first), in permille for itself."""

    ply: int
    seat: int
    permille: int


class Spent(NamedTuple):
    """How long the move at a ply took, in ms."""

    ply: int
    seat: int
    ms: int


def expectation_chart(said: Sequence[Expectation], plies: int, at: int, described: str) -> str:
    """Return the curves of what each side expected, as seat 1's share: 100 % at the top.

    plies: of the match. at: where the cursor stands, in plies played.
    """
    middle = HEIGHT / 2
    curves = []
    for seat in (1, 2):
        points = [
            (_x(each.ply + 1, plies), _y(each.permille if seat == 1 else EVEN - each.permille))
            for each in said
            if each.seat == seat
        ]
        if points:
            path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
            curves.append(element("path", class_=f"expected of{seat}", d=path))
            curves += [element("circle", class_=f"dot of{seat}", cx=x, cy=y, r=1.8) for x, y in points]
    return _chart(
        element("line", class_="axis", x1=LEFT, x2=WIDTH - RIGHT, y1=middle, y2=middle),
        *(label(f"{share} %", (LEFT - 6, _y(share * 10)), TEXT, "quiet", "end") for share in (0, 50, 100)),
        *curves,
        plies=plies,
        at=at,
        described=described,
    )


def time_chart(spent: Sequence[Spent], plies: int, at: int, described: str) -> str:
    """Return the time of each move as bars, those of seat 1 upwards and those of seat 2 downwards, to one scale."""
    middle, longest = HEIGHT / 2, max((each.ms for each in spent), default=0)
    half = middle - MARGIN
    wide = max(_step(plies) * GAP, 0.6)
    bars = []
    for seat, upward in ((1, -1), (2, 1)):
        path = "".join(
            f"M{number(_x(each.ply + (1 - GAP) / 2, plies))} {number(middle)}"
            f"h{number(wide)}v{number(upward * half * each.ms / max(longest, 1))}h{number(-wide)}z"
            for each in spent
            if each.seat == seat and each.ms
        )
        bars.append(element("path", class_=f"spent of{seat}", d=path))
    return _chart(
        *bars,
        element("line", class_="axis", x1=LEFT, x2=WIDTH - RIGHT, y1=middle, y2=middle),
        *(label(_seconds(longest), (LEFT - 6, y), TEXT, "quiet", "end") for y in (MARGIN, HEIGHT - MARGIN)),
        plies=plies,
        at=at,
        described=described,
    )


def _chart(*parts: str, plies: int, at: int, described: str) -> str:
    x = _x(at, plies)
    return element(
        "svg",
        *parts,
        element("line", class_="cursor", x1=x, x2=x, y1=0.0, y2=HEIGHT),
        class_="curves",
        viewBox=f"0 0 {number(WIDTH)} {number(HEIGHT)}",
        role="img",
        aria_label=described,
        data_left=str(LEFT),
        data_step=f"{_step(plies):.4f}",
    )


def _step(plies: int) -> float:
    return (WIDTH - LEFT - RIGHT) / max(plies, 1)


def _x(ply: float, plies: int) -> float:
    return LEFT + ply * _step(plies)


def _y(permille: float) -> float:
    return MARGIN + (HEIGHT - 2 * MARGIN) * (1 - permille / EVEN)


def _seconds(ms: int) -> str:
    if ms < 1_000:
        return f"{ms} ms"
    return f"{ms / 1000:.1f} s" if ms < 60_000 else f"{ms // 60_000}:{ms // 1000 % 60:02d}"
