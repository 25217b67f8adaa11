"""Several drawings in one SVG document, in rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from arbiter.drawing.shapes import element, number, words

GAP: Final = 18.0  #: pixels between two drawings

_SIZE: Final = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_OUTER_SIZE: Final = re.compile(r'(<svg [^>]*?) width="[\d.]+" height="[\d.]+"')


def sheet(drawings: Sequence[str], columns: int, cell: float, title: str) -> str:
    """Return one document with all drawings, `columns` in a row, each fitted into a square of `cell` pixels.

    drawings: SVG documents as `arbiter.drawing.svg.svg` returns them. Raises ValueError for one without a viewBox.
    """
    rows = -(-len(drawings) // columns)
    width = columns * cell + (columns + 1) * GAP
    height = rows * cell + (rows + 1) * GAP
    placed = []
    for place, drawing in enumerate(drawings):
        row, column = divmod(place, columns)
        in_row = min(columns, len(drawings) - row * columns)
        left = (width - in_row * cell - (in_row - 1) * GAP) / 2 + column * (cell + GAP)
        placed.append(_placed(drawing, left, GAP + row * (cell + GAP), cell))
    return element(
        "svg",
        element("title", words(title)),
        *placed,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
    )


def _placed(drawing: str, left: float, top: float, cell: float) -> str:
    if not _SIZE.search(drawing):
        raise ValueError("a drawing needs a viewBox that begins at 0 0")
    size = f'x="{number(left)}" y="{number(top)}" width="{number(cell)}" height="{number(cell)}"'
    return _OUTER_SIZE.sub(rf"\1 {size}", drawing, count=1)
