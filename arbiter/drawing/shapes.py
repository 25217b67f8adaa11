"""The graphic elements of drawings: escaped XML elements, polygons, texts and arrows, in pixels with y down."""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, cos, hypot, pi, sin
from xml.sax.saxutils import escape, quoteattr

from arbiter.plain_text import plain

Point = tuple[float, float]


def number(value: float) -> str:
    """Return a coordinate with at most one decimal, so that drawings are small and identical on every machine."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def element(name: str, *children: str, **attributes: str | float) -> str:
    """Return an element. Children are already XML; attributes are escaped here, and `_` in their names becomes `-`."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(plain(value) if isinstance(value, str) else number(value))}"
        for key, value in attributes.items()
    )
    return f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>"


def words(text: str) -> str:
    """Return a text as XML. Characters that can't be printed are escaped: XML does not allow all of them."""
    return escape(plain(text))


def label(text: str, at: Point, size: float, class_: str, anchor: str = "middle") -> str:
    """Return a text of a given size, vertically centred at a point; `anchor` is start, middle or end."""
    x, y = at
    return element("text", words(text), class_=class_, x=x, y=y + 0.35 * size, font_size=size, text_anchor=anchor)


def around(centre: Point, radius: float, corners: int, turn: float) -> list[Point]:
    """Return the corners of a regular polygon; `turn`: the angle of the first, in radians, anticlockwise from east."""
    x, y = centre
    angles = [turn + 2 * pi * corner / corners for corner in range(corners)]
    return [(x + radius * cos(angle), y - radius * sin(angle)) for angle in angles]


def polygon(points: Sequence[Point], **attributes: str | float) -> str:
    """Return a closed polygon."""
    return element("polygon", points=corners(points), **attributes)


def corners(points: Sequence[Point]) -> str:
    """Return points as the attribute `points` has them."""
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)


def drop(centre: Point, radius: float, tip: float, angle: float, **attributes: str | float) -> str:
    """Return a disc with a pointed beak at an angle: the outline of a piece that has a facing.

    `tip` is the distance of the beak's point from the centre; its sides meet the disc 0.7 rad beside it.
    """
    x, y = centre
    left, right = [(x + radius * cos(angle + side), y - radius * sin(angle + side)) for side in (0.7, -0.7)]
    r = number(radius)
    path = (
        f"M{number(left[0])} {number(left[1])}A{r} {r} 0 1 0 {number(right[0])} {number(right[1])}"
        f"L{number(x + tip * cos(angle))} {number(y - tip * sin(angle))}Z"
    )
    return element("path", d=path, **attributes)


def arrow(start: Point, end: Point, gaps: tuple[float, float], bend: float, head: float) -> tuple[str, str]:
    """Return the shaft (path data) and the head (corners of a polygon) of an arrow between two points.

    It keeps a gap to each point and is bent sideways by a fraction of its length.
    """
    length = hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    across = ((start[1] - end[1]) / length, (end[0] - start[0]) / length)
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    control = (middle[0] - across[0] * bend * length, middle[1] - across[1] * bend * length)
    tail, tip = _towards(start, control, gaps[0]), _towards(end, control, gaps[1])
    neck = _towards(tip, control, head)
    angle = atan2(tip[1] - neck[1], tip[0] - neck[0])
    wings = [(tip[0] - head * cos(angle + side), tip[1] - head * sin(angle + side)) for side in (0.5, -0.5)]
    curve = (
        f"M{number(tail[0])} {number(tail[1])}"
        f"Q{number(control[0])} {number(control[1])} {number(neck[0])} {number(neck[1])}"
    )
    return curve, corners([tip, *wings])


def _towards(start: Point, end: Point, distance: float) -> Point:
    length = hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    part = min(distance / length, 1.0)
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part
