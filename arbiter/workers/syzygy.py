"""Syzygy tables: files that say which positions of chess with few pieces are won, drawn and lost.

python-chess reads them, an extra of the package with a licence of its own. It is loaded in a worker process alone.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from arbiter.errors import OperatorError

if TYPE_CHECKING:
    from chess.syzygy import Tablebase

_NAME: Final = re.compile(r"K[QRBNP]*vK[QRBNP]*")
_WORDS: Final = ("lost", "lost", "drawn", "won", "won")  #: for the player to move, by a value of the tables from -2 on


class TableFolder(NamedTuple):
    """A folder with tables, those in folders within included: how many endings, and of how many pieces at most."""

    path: Path
    endings: int
    pieces: int


def table_folder(path: Path) -> TableFolder:
    """Return a folder with tables. Raises OperatorError if it has none, or if they can't be read."""
    if find_spec("chess") is None:
        raise OperatorError(
            "Syzygy tables need python-chess, which is not installed: install the package with its extra, "
            "game-arbiter[syzygy]"
        )
    names = {file.stem for file in path.rglob("*.rtbw") if _NAME.fullmatch(file.stem)}
    if not names:
        raise OperatorError(
            f"there are no Syzygy tables in {path}: name a folder with files such as KQvK.rtbw, or with folders of them"
        )
    return TableFolder(path, len(names), max(map(len, names)) - 1)


def verdict(folder: Path, position: str, ignore_50: bool) -> tuple[int, str] | None:
    """Return the seat that the tables say wins a position, 0 for a draw, with the reason; None if they don't say.

    See `arbiter.service.tournaments.adjudicators.Adjudicators.by_tables`.
    """
    import chess
    from chess.syzygy import calc_key

    board = chess.Board(position)
    value = _tables(folder).get_wdl(board)
    if value is None:
        return None
    wins = abs(value) == 2 or (ignore_50 and value != 0)
    if wins and board.halfmove_clock and not ignore_50:
        return None
    seat = 1 if board.turn else 2
    but = ", but for the 50-move rule" if abs(value) == 1 else ""
    note = f"{calc_key(board)} is {_WORDS[value + 2]} for {'White' if seat == 1 else 'Black'}, who is to move{but}"
    return (0 if not wins else seat if value > 0 else 3 - seat), note


@cache
def _tables(folder: Path) -> Tablebase:
    from chess.syzygy import Tablebase

    tables = Tablebase()
    for place in {file.parent for file in folder.rglob("*.rtbw")}:
        tables.add_directory(str(place), load_dtz=False)
    return tables
