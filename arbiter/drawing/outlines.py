"""Path data of the parts that outlines of pieces are put together from.

All parts run clockwise, so that parts of one path that overlap make one area.
"""

from __future__ import annotations

from math import cos, hypot, pi, sin
from typing import NamedTuple

from arbiter.drawing.shapes import Point, around, number


class Shape(NamedTuple):
    """An outline of a piece, as path data around (0, 0), in a square of 72 pixels, y down.

    `body` has the colour of its seat, `details` have the colour of texts on it ('' for none). `turns`: it is drawn
    facing straight up, and turned to where the piece faces.
    """

    body: str
    details: str = ""
    turns: bool = False


def circle(x: float, y: float, radius: float) -> str:
    """Return a circle."""
    return ellipse(x, y, radius, radius)


def ellipse(x: float, y: float, across: float, down: float) -> str:
    """Return an ellipse with its two radii."""
    a, b, whole = number(across), number(down), number(2 * across)
    return f"M{number(x - across)} {number(y)}a{a} {b} 0 1 1 {whole} 0a{a} {b} 0 1 1 -{whole} 0Z"


def limb(start: Point, end: Point, first: float, last: float) -> str:
    """Return a bar with round ends, which have the radii `first` and `last`."""
    length = hypot(end[0] - start[0], end[1] - start[1])
    across = ((end[1] - start[1]) / length, (start[0] - end[0]) / length)
    corners = [
        f"{number(x + side * across[0])} {number(y + side * across[1])}"
        for (x, y), side in ((start, first), (end, last), (end, -last), (start, -first))
    ]
    near, far = number(first), number(last)
    return f"M{corners[0]}L{corners[1]}A{far} {far} 0 0 1 {corners[2]}L{corners[3]}A{near} {near} 0 0 1 {corners[0]}Z"


def closed(*points: Point) -> str:
    """Return a polygon; its corners are given clockwise."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) + "Z"


def hexagon(x: float, y: float, radius: float) -> str:
    """Return a hexagon with its flat sides above and below."""
    return closed(*reversed(around((x, y), radius, 6, 0.0)))


def frame(x: float, y: float, radius: float, line: float) -> str:
    """Return the line around such a hexagon."""
    return hexagon(x, y, radius) + closed(*around((x, y), radius - line, 6, 0.0))


def towards(degrees: float, distance: float) -> Point:
    """Return the point at a distance from the centre, at an angle that is counted clockwise from straight up."""
    turn = degrees * pi / 180
    return distance * sin(turn), -distance * cos(turn)
