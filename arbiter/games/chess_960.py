"""Fischer random chess, or Chess960, by the guidelines II of the FIDE Laws of Chess of 2023.

Only what differs from `chess` is here. Start positions have the numbers that Reinhard Scharnagl gave them. A move of
castling names the rook's cell (`e1h1`), as engines with the option `UCI_Chess960` write it. Positions are X-FEN.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import ClassVar, Final

from arbiter.games.chess import RULINGS, Chess, ChessPosition
from arbiter.games.chess_board import NOWHERE
from arbiter.games.contract import Basis, Ruling, word_parameter

STARTS: Final = 960
CHESS: Final = 518  #: the number of the start position of chess
LOT: Final = "lot"

_NUMBER = re.compile(r"0|[1-9][0-9]{0,2}", re.ASCII)


def back_rank(number: int) -> str:
    """Return the pieces of a start position on the first rank, from file a: `RNBQKBNR` for 518.

    The number is taken apart: by 4 the bishop on a light cell, by 4 that on a dark one, by 6 the queen's place among
    the free cells, and then the knights' two among the five that are left. The king goes between the rooks.
    """
    files = [""] * 8
    number, light = divmod(number, 4)
    number, dark = divmod(number, 4)
    knights, queen = divmod(number, 6)
    files[2 * light + 1] = files[2 * dark] = "B"
    files[_free(files)[queen]] = "Q"
    first, second = list(combinations(_free(files), 2))[knights]
    files[first] = files[second] = "N"
    for file, letter in zip(_free(files), "RKR", strict=True):
        files[file] = letter
    return "".join(files)


def _free(files: list[str]) -> list[int]:
    return [file for file, letter in enumerate(files) if not letter]


class Chess960(Chess):
    """Chess from one of 960 start positions."""

    facts = replace(
        Chess.facts,
        id="chess960",
        name="Chess960",
        designer="Bobby Fischer",
        summary="Chess with the pieces behind the pawns in one of 960 orders.",
        parameters=(
            word_parameter(
                "start",
                LOT,
                f"{LOT}, or a number from 0 to {STARTS - 1}",
                lambda word: word == LOT or (bool(_NUMBER.fullmatch(word)) and int(word) < STARTS),
                f"The number of the start position, by Scharnagl. With `{LOT}` a tournament draws one for each pair of "
                f"games, and a match that names no position starts from number {CHESS}, that of chess.",
            ),
        ),
        rulings=(
            *RULINGS,
            Ruling(
                "castling",
                "The king goes to file g or c, and the rook to its other side, from wherever they stand. The cells "
                "that both pass and reach are empty but for the two, and none that the king leaves, passes or reaches "
                "is attacked.",
                Basis.TEXT,
            ),
            Ruling("castling moves", "A move of castling names the king's cell and the rook's.", Basis.OURS),
        ),
        position_text=Chess.facts.position_text + " Castling rights are KQkq for the outermost rook on a king's side, "
        "and the letter of the rook's file where another rook stands farther out (X-FEN); letters of files alone "
        "(Shredder-FEN) are read too.",
    )
    onto_rook: ClassVar[bool] = True

    def initial(self) -> ChessPosition:
        """Return the start position of the variant's number."""
        start = self.values["start"]
        pieces = back_rank(CHESS if start == LOT else int(start))
        board = "".join(f"{piece}P....p{piece.lower()}" for piece in pieces).encode()
        rooks = sum(1 << file for file, piece in enumerate(pieces) if piece == "R")
        return self._settled(board, 1, rooks | rooks << 8, NOWHERE, 0, 1, ())

    def starts(self) -> Sequence[str]:
        """Return all start positions, if the variant leaves its own to a lot."""
        return _starts() if self.values["start"] == LOT else ()


@cache
def _starts() -> tuple[str, ...]:
    ranks = map(back_rank, range(STARTS))
    return tuple(f"{rank.lower()}/pppppppp/8/8/8/8/PPPPPPPP/{rank} w KQkq - 0 1" for rank in ranks)
