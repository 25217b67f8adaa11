"""The outlines of chessmen, draughtsmen and amazons, drawn by us, and the table of all games whose pieces have some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from arbiter.drawing.animal_shapes import ELEVATION, HOP_IT, PODS, PONDLIFE
from arbiter.drawing.outlines import Shape
from arbiter.games.contract import AnyGame, Piece, value_text

FOOT: Final = "M-20 27V22Q-20 19 -17 19H17Q20 19 20 22V27Z"

CHESS: Final = {
    "P": Shape("M0 -18A8 8 0 0 1 5 -4Q6 8 14 19H-14Q-6 8 -5 -4A8 8 0 0 1 0 -18Z" + FOOT),
    "R": Shape(
        "M-17 -25H-10V-20H-4V-25H4V-20H10V-25H17V-13L11 -8L13 19H-13L-11 -8L-17 -13Z" + FOOT, "M-12 -8H12V-6H-12Z"
    ),
    "N": Shape(
        "M-13 19C-13 8 -4 4 -2 -5C-6 -4 -9 1 -13 3C-16 4 -20 2 -20 -2C-18 -9 -12 -13 -9 -19L-8 -27L-2 -22"
        "C12 -22 19 -8 16 19Z" + FOOT,
        "M-7 -14A2 2 0 1 0 -3 -14A2 2 0 1 0 -7 -14ZM11 14C12 0 9 -10 2 -15C12 -12 16 0 13 14Z",
    ),
    "B": Shape(
        "M0 -29A4 4 0 0 1 3 -22C13 -14 15 0 7 9L11 19H-11L-7 9C-15 0 -13 -14 -3 -22A4 4 0 0 1 0 -29Z" + FOOT,
        "M1 -3L8 -15L10 -12L4 -2ZM-7 9H7V11H-7Z",
    ),
    "Q": Shape(
        "M-24 -16A3 3 0 1 1 -20 -14L-12 3L-12 -19A3 3 0 1 1 -8 -20L-1 0L-2 -22A3 3 0 1 1 2 -22L1 0L8 -20"
        "A3 3 0 1 1 12 -19L12 3L20 -14A3 3 0 1 1 24 -16L15 19H-15Z" + FOOT,
        "M-14 11H14L14 13H-14Z",
    ),
    "K": Shape(
        "M-2 -30H2V-26H6V-22H2V-16C8 -18 20 -16 21 -7C21 2 14 8 14 19H-14C-14 8 -21 2 -21 -7C-20 -16 -8 -18 -2 -16"
        "V-22H-6V-26H-2Z" + FOOT,
        "M-1 -13H1V4H-1ZM-13 11H13V13H-13Z",
    ),
}
"""Pawn, rook, knight, bishop, queen and king."""

_DISC: Final = "M-25 0A25 25 0 1 0 25 0A25 25 0 1 0 -25 0Z"
CHECKERS: Final = {
    "M": Shape(_DISC, "M-18 0A18 18 0 1 0 18 0A18 18 0 1 0 -18 0ZM-16 0A16 16 0 1 1 16 0A16 16 0 1 1 -16 0Z"),
    "K": Shape(_DISC, "M-15 12V-9L-7 -1L0 -14L7 -1L15 -9V12Z"),
}
"""Man, with the groove of a draughtsman, and king, with a crown."""

AMAZONS: Final = {
    "A": Shape("M0 -29A9 9 0 0 1 6 -13C12 -8 13 4 17 19H-17C-13 4 -12 -8 -6 -13A9 9 0 0 1 0 -29Z" + FOOT,
               "M-9 -12C-4 -9 4 -9 9 -12L9 -9C4 -6 -4 -6 -9 -9Z"),
}  # fmt: skip

SHAPES: Final[Mapping[str, Mapping[str, Shape]]] = {
    "chess": CHESS,
    "chess960": CHESS,
    "checkers": CHECKERS,
    "amazons": AMAZONS,
    "elevation": ELEVATION,
    "hop-it": HOP_IT,
    "pods": PODS,
    "pondlife": PONDLIFE,
}
"""By the game's id, then by the name that `shape_name` gives to a piece."""

VARIED: Final[Mapping[str, tuple[str, str]]] = {"pondlife": ("DE", "lines")}
"""By the game's id: letters of pieces whose shape depends on a parameter, and the name of that parameter."""


def shape_name(game: AnyGame, piece: Piece) -> str:
    """Return the name of a piece's shape in `SHAPES`, or '': its letter, with its face, its seat or a parameter."""
    shapes, letter = SHAPES.get(game.facts.id, {}), piece.letter.upper()
    varied, parameter = VARIED.get(game.facts.id, ("", ""))
    if letter and letter in varied:
        return letter + value_text(game.values[parameter])
    names = (letter, f"{letter}{max(piece.facing, 0)}", f"{letter}-{piece.owner}")
    return next((name for name in names if name in shapes), "")


def owners(name: str) -> tuple[int, ...]:
    """Return the seats that have pieces of a shape: both, or the one that its name ends with."""
    return (int(name[2:]),) if name[1:2] == "-" else (1, 2)
