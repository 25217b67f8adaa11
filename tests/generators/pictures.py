"""The pictures of the README: `python -m tests.generators.pictures FOLDER` writes them (`make golden` does)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from arbiter.drawing.svg import svg
from arbiter.games import registry
from tests.generators.sheet import sheet

COLUMNS: Final = 3
CELL: Final = 420.0  #: pixels of one board

POSITIONS: Final = {
    "circle-of-life": "f3 c3 i3 g3 f2 a5 c1 g3 a1 a3 g4 g7 c2 f7 c6 e4 h3 c5 b6 e1 f8 d6",
    "elevation": "c1:md2,dc2d3 d6:md5,dc4d6 e1:df1e2,df1f2 e6:de5f5,de5d6 b1:mb2,da3c1 d5:md4,dd5e5 b2:db3b1,db1c2 "
    "b6:mb5,mc5 b2:dc1c2,db3c2 c5:dc4b4,dc6b4",
    "hop-it": "a3xa1xc2xa3 g3xg1xe2xg3 b3xb1 f2-e2 b4-b3 f5-e4 a4xc5xa6xa4 e2-f2 b2xb4 f3xf5xf7 a4xc3 f7xf5xf3",
    "pods": "k7 h5 l6 g5 l6-l7 h5-g4 l6 g5-f4 k7-l5 f4-h4 l7-m5 g5 l5-l7 h4-g3",
    "pondlife": "e1-e2=W4 e9-e8=W0 e2-d2=D0 f8-f7 d2-c2=W5 e8-f8=D5 d2-f3 d8-d7 f3-f2 e9-d8 i1-i2 f8-e9=S f2-a3 f7-f6",
}
"""A line of play of each bundled game; the position at its end is drawn."""


def boards() -> Iterator[str]:
    """Yield a drawing of each bundled game in the middle of a match, the last move marked."""
    for name, moves in POSITIONS.items():
        game = registry.game(name)
        position, before = game.initial(), game.initial()
        played = moves.split()
        for move in played:
            before, position = position, game.play(position, move)
        yield svg(game, position, game.steps(before, played[-1]), before)


def games_sheet() -> str:
    """Return the picture of all bundled games."""
    return sheet(list(boards()), COLUMNS, CELL, "The five games that come with Arbiter, each in the middle of a match")


def main(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "games.svg").write_text(games_sheet() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
