"""The start positions of Chess960 by their numbers: an engine that speaks UCI needs them, a match only names one."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Final

GAME: Final = "chess960"
CHESS: Final = 518  #: the number of the start position of chess

_START: Final = re.compile(r"\bstart=(\d+)")


def start_fen(variant: str) -> str:
    """Return the FEN of a variant's start position: `chess960(start=17)`, or that of chess for `chess960`.

    The number is taken apart as Reinhard Scharnagl did: by 4 for the bishop on a light square, by 4 for that on a dark
    one, by 6 for the queen, and the rest is the knights' places among the five squares that are left.
    """
    found = _START.search(variant)
    number, light = divmod(int(found[1]) if found else CHESS, 4)
    number, dark = divmod(number, 4)
    knights, queen = divmod(number, 6)
    files = [""] * 8
    files[2 * light + 1] = files[2 * dark] = "B"
    files[_free(files)[queen]] = "Q"
    first, second = list(combinations(_free(files), 2))[knights]
    files[first] = files[second] = "N"
    for file, piece in zip(_free(files), "RKR", strict=True):
        files[file] = piece
    row = "".join(files)
    return f"{row.lower()}/pppppppp/8/8/8/8/PPPPPPPP/{row} w KQkq - 0 1"


def _free(files: list[str]) -> list[int]:
    return [file for file, piece in enumerate(files) if not piece]
