"""The outlines of the pieces of Pondlife, Hop It!, Elevation and Pods, drawn by us as their rules describe them.

A piece that faces a direction is drawn facing straight up. What it may do with its next move shows: lines go where the
piece slides, hexagons are the cells of a jump from the first to the last.
"""

from __future__ import annotations

from itertools import pairwise
from math import sin
from typing import Final

from arbiter.drawing.outlines import Shape, circle, closed, ellipse, frame, hexagon, limb, towards

_REACH: Final = 32.0  #: pixels from the centre to the end of a line that goes to a side of the tile


def _line(degrees: float, first: float = 4.0, last: float = 2.2, start: float = 0.0, end: float = _REACH) -> str:
    return limb(towards(degrees, start), towards(degrees, end), first, last)


_TADPOLE: Final = (
    "M0 -23C8 -23 13.5 -17 13.5 -9C13.5 -1 8 4 6 9C4 14 7 20 1 32C2 24 -4 20 -5 12"
    "C-6 5 -13.5 -1 -13.5 -9C-13.5 -17 -8 -23 0 -23Z"
)
_TADPOLE_EYES: Final = circle(-5.5, -14.5, 2.9) + circle(5.5, -14.5, 2.9)

_FROG: Final = (
    ellipse(0, 2, 22, 21)
    + circle(-11, -19, 8)
    + circle(11, -19, 8)
    + limb((-17, 12), (-24, 24), 6, 3.5)
    + limb((17, 12), (24, 24), 6, 3.5)
)
_FROG_EYES: Final = circle(-11, -20.5, 3.4) + circle(11, -20.5, 3.4)
_SMALL: Final = 6.6  #: radius of a hexagon on a frog
_HALF: Final = _SMALL * 0.866
_STRAIGHT: Final = hexagon(0, 4 + 2 * _HALF, _SMALL) + frame(0, 4, _SMALL, 1.7) + hexagon(0, 4 - 2 * _HALF, _SMALL)
_DIAGONAL: Final = (
    hexagon(-1.5 * _SMALL, 4, _SMALL)
    + frame(0, 4 - _HALF, _SMALL, 1.7)
    + frame(0, 4 + _HALF, _SMALL, 1.7)
    + hexagon(1.5 * _SMALL, 4, _SMALL)
)

_NEWT: Final = (
    "".join(_line(degrees, 4.6, 3.4, 2.0, 29.0) for degrees in (-60, 60, -120, 120))
    + ellipse(0, -17, 8, 8.5)
    + limb((0, -14), (0, 12), 7, 6.5)
    + limb((0, 12), (0, 32), 6, 1)
)
_NEWT_DETAILS: Final = (
    circle(-3.8, -19.5, 2.3)
    + circle(3.8, -19.5, 2.3)
    + "".join(_line(degrees, 1.2, 1.2, 9.0, 27.0) for degrees in (-60, 60, -120, 120))
)

_SNAKE: Final = "".join(_line(degrees, 5.0, 2.2) for degrees in range(0, 360, 60)) + circle(0, 0, 17)
_COIL: Final = (
    "M-13 0A13 13 0 0 1 13 0A10.5 10.5 0 0 1 -8 0A8 8 0 0 1 8 0L5 0A5 5 0 0 0 -5 0A7.5 7.5 0 0 0 10 0"
    "A10 10 0 0 0 -10 0Z" + ellipse(-11.2, 4, 4, 5.6) + "M-12.6 4a1.4 1.4 0 1 0 2.8 0a1.4 1.4 0 1 0 -2.8 0Z"
)

_ABDOMEN: Final = limb((0, -4), (0, 31), 4.6, 2)
_WINGS: Final = "M2 -1C10 -12 20 -20 30 -20C32 -15 26 -6 4 3ZM-2 -1L-4 3C-26 -6 -32 -15 -30 -20C-20 -20 -10 -12 -2 -1Z"
_DRAGONFLY: Final = _ABDOMEN + _WINGS + circle(0, -6, 6.5) + circle(-5, -14, 5.6) + circle(5, -14, 5.6)
_DRAGONFLY_DETAILS: Final = (
    "".join(_line(degrees, 1.2, 1.2, 9.0, 29.0) for degrees in (-60, 60))
    + circle(-5.4, -14.6, 2.6)
    + circle(5.4, -14.6, 2.6)
    + "".join(closed((-4, y), (4, y), (4, y + 2), (-4, y + 2)) for y in (8.0, 14.0, 20.0))
)
_AHEAD: Final = limb((0, -16), (0, -_REACH), 3.5, 2.2)

_BENDS: Final = tuple(
    (3.6 * sin((y + 24) / 7), y + 1, 5.7 - 0.095 * (y + 24))
    for y in (-24.0, -20.0, -16.0, -12.0, -8.0, -4.0, 0.0, 4.0, 8.0, 12.0, 16.0, 20.0)
)
_EEL: Final = "".join(limb((x, y), (to_x, to_y), first, last) for (x, y, first), (to_x, to_y, last) in pairwise(_BENDS))
_EEL_LINES: Final = "".join(_line(degrees, 5.5, 2.2) for degrees in (-120, 120))
_EEL_DETAILS: Final = (
    circle(-2.8, -23, 1.9)
    + circle(3, -23, 1.9)
    + "".join(_line(degrees, 1.2, 1.2, 9.0, 28.0) for degrees in (-120, 120))
)

_SCALE: Final = 4.6  #: radius of a hexagon on a fish
_FISH: Final = (
    ellipse(0, 0, 22, 17)
    + closed((14, -6), (33, -13), (28, 0), (33, 13), (14, 6))
    + "".join(limb(towards(degrees, 10), towards(degrees, 27), 7, 2) for degrees in (-30, 30, -150, 150))
)
_FISH_DETAILS: Final = circle(-15, -4, 2.6) + "".join(
    frame(5 + x * 1.5 * _SCALE, y * 0.866 * _SCALE, _SCALE, 1.2) if x or y else hexagon(5, 0, _SCALE)
    for x, y in ((0, 0), (0, -2), (0, 2), (-1, -1), (-1, 1), (1, -1), (1, 1))
)

_NEST: Final = circle(0, 0, 22)
_NEST_DETAILS: Final = "".join(
    limb(towards(turn, 15.5), towards(turn + 38, 20.3), 1.1, 1.1) for turn in range(0, 360, 24)
) + "".join(ellipse(x, y, 5, 6.5) for x, y in ((-5.8, 4), (5.8, 4), (0, -6)))

PONDLIFE: Final = {
    "N": Shape(_NEST, _NEST_DETAILS),
    "T": Shape(_TADPOLE, _TADPOLE_EYES, turns=True),
    "F3": Shape(_FROG, _FROG_EYES + _STRAIGHT),
    "F4": Shape(_FROG, _FROG_EYES + _DIAGONAL),
    "W": Shape(_NEWT, _NEWT_DETAILS, turns=True),
    "S": Shape(_SNAKE, _COIL),
    "D2": Shape(_DRAGONFLY, _DRAGONFLY_DETAILS, turns=True),
    "D3": Shape(_AHEAD + _DRAGONFLY, _DRAGONFLY_DETAILS, turns=True),
    "E2": Shape(_EEL_LINES + _EEL, _EEL_DETAILS, turns=True),
    "E3": Shape(_line(180, 5.5, 2.2) + _EEL_LINES + _EEL, _EEL_DETAILS + _line(180, 1.2, 1.2, 14.0, 28.0), turns=True),
    "H": Shape(_FISH, _FISH_DETAILS),
}
"""Nest, tadpole, frog with three and four hexagons, newt, snake, dragonfly and eel with two and three lines, fish."""

HOP_IT: Final = {
    "T": Shape(
        "M-12 -8C-4 -13 5 -9 8 -2C10 -8 14 -8 18 -15C22 -22 18 -27 25 -30C29 -22 26 -12 20 -6C15 0 12 2 9 10"
        "C5 19 -5 22 -13 18C-24 12 -23 -2 -12 -8Z",
        circle(-13, -1, 2.8) + circle(-4, 14, 2.8),
    ),
    "F": Shape(
        ellipse(0, 2, 15, 18)
        + circle(-9, -17, 7)
        + circle(9, -17, 7)
        + limb((-10, -4), (-22, -9), 4.5, 3)
        + limb((-22, -9), (-24, -18), 3, 2.6)
        + limb((10, -4), (22, -9), 4.5, 3)
        + limb((22, -9), (24, -18), 3, 2.6)
        + limb((-9, 12), (-24, 3), 6.5, 4)
        + limb((-24, 3), (-22, 20), 3.5, 3)
        + limb((9, 12), (24, 3), 6.5, 4)
        + limb((24, 3), (22, 20), 3.5, 3),
        circle(-9, -18, 3.2) + circle(9, -18, 3.2) + limb((-4, -4), (-4, 12), 1.3, 1) + limb((4, -4), (4, 12), 1.3, 1),
    ),
}
"""Tadpole and frog."""

ELEVATION: Final = {
    "F": Shape(
        "M20 -17C20 -4 14 10 0 15C-4 17 -8 16 -10 15L-12 26L-17 20L-25 20L-15 12C-17 6 -14 -2 -8 -8"
        "C0 -16 12 -18 20 -17Z",
        circle(12, -10, 2.6) + "M-1 -9C5 -6 8 -2 9 4L7 5C5 0 2 -4 -3 -7ZM-8 -2C-3 0 0 4 1 10L-1 11C-3 6 -5 2 -10 0Z",
    ),
    "D": Shape(
        "M0 -18L4 -14L9 -17L8 -11L10 -5L5 -1L7 3C10 -3 15 -8 22 -10C20 -4 22 1 21 6C18 5 15 7 14 11"
        "C11 10 8 12 6 16C4 21 6 24 10 24L9 20L17 26L9 31L9 28C1 29 -3 23 -4 16C-8 12 -11 10 -14 11"
        "C-15 7 -18 5 -21 6C-22 1 -20 -4 -22 -10C-15 -8 -10 -3 -7 3L-5 -1L-10 -5L-8 -11L-9 -17L-4 -14Z",
        circle(-4, -8, 1.9) + circle(4, -8, 1.9) + "M-3 5H3V7H-3ZM-3 10H3V12H-3ZM-3 15H3V17H-3Z",
    ),
    "S": Shape(
        "M0 -13L7 -24L5 -9L8 -8C11 -10 14 -11 13 -15C17 -11 18 -8 15 -4C17 -1 18 3 18 7L24 17L13 16L12 21L6 29H-6"
        "L-12 21L-13 16L-24 17L-18 7C-18 3 -17 -1 -15 -4C-18 -8 -17 -11 -13 -15C-14 -11 -11 -10 -8 -8"
        "L-5 -9L-7 -24Z",
        "M-17 5C-8 2 8 2 17 5L17 8C8 5 -8 5 -17 8ZM-9 11L-3 13V16L-9 15ZM9 11L3 13V16L9 15ZM-6 22C-2 20 2 20 6 22"
        "L5 24C2 22 -2 22 -5 24Z",
    ),
}
"""Fish, dragon and samurai."""

_POD: Final = circle(0, 0, 24)
_ORCA: Final = (
    "M-21 6C-17 -4 -10 -8 -3 -9C-2 -15 1 -20 6 -22C5 -16 6 -11 8 -7C13 -4 16 0 17 5L23 3C22 8 20 10 17 11"
    "C15 14 13 15 9 16L13 10C8 11 3 12 -2 12C0 15 2 17 2 19C-3 19 -7 16 -9 12C-14 12 -19 10 -21 6Z"
    "M-12 1C-10 -2 -6 -3 -4 -1C-6 2 -10 3 -12 1Z"
)
_FLUKE: Final = (
    "M0 -8C3 -14 9 -18 21 -17C20 -10 14 -5 5 -2C5 3 7 8 10 11H-10C-7 8 -5 3 -5 -2C-14 -5 -20 -10 -21 -17"
    "C-9 -18 -3 -14 0 -8Z"
    "M-18 14C-14 11 -10 11 -6 14C-2 17 2 17 6 14C10 11 14 11 18 14L17 17C13 14 10 14 7 17C3 20 -3 20 -7 17"
    "C-10 14 -13 14 -17 17Z"
)
PODS: Final = {"P-1": Shape(_POD, _ORCA), "P-2": Shape(_POD, _FLUKE)}
"""A pod of orcas, one of which shows its fin, and a pod of humpbacks, one of which shows its fluke."""
