"""Opening books: moves from the start of a game that are known beforehand. `clients/README.md` describes the file."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from arbiter_client.errors import ArbiterError, Reason
from arbiter_client.text_files import text_of
from arbiter_client.values.play import Turn

ALLOWED: Final = "GAME MOVE MOVE …"


class OpeningBook:
    """Lines of moves by variant.

    book = OpeningBook.load("openings.txt")
    move = book.move(turn)  # None: think
    """

    def __init__(self, lines: Sequence[tuple[str, tuple[str, ...]]] = ()) -> None:
        self._lines: dict[str, list[tuple[str, ...]]] = {}
        for game, moves in lines:
            self._lines.setdefault(game, []).append(moves)

    @classmethod
    def parse(cls, text: str) -> OpeningBook:
        """Return the book in a text. Raises ArbiterError (PARAMETER_INVALID) for a line without moves."""
        lines = []
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        for number, line in enumerate(text.split("\n"), 1):
            game, *moves = line.split() or ["#"]
            if game.startswith("#"):
                continue
            if not moves:
                message = f"line {number} of the opening book has no move after {game!r}: expected {ALLOWED}"
                facts = {"what": game, "where": f"opening book, line {number}", "allowed": ALLOWED}
                raise ArbiterError(Reason.PARAMETER_INVALID, message, "INVALID_ARGUMENT", facts)
            lines.append((game, tuple(moves)))
        return cls(lines)

    @classmethod
    def load(cls, path: str | Path) -> OpeningBook:
        """Return the book in a file. Raises OSError, ValueError if it is not UTF-8, and what `parse` raises."""
        return cls.parse(text_of(Path(path).read_bytes()))

    def moves(self, game: str, played: Sequence[str]) -> tuple[str, ...]:
        """Return the moves that the book has after those played, each once, in the order of the book."""
        played = tuple(played)
        known = self._lines.get(game, ())
        return tuple(dict.fromkeys(line[len(played)] for line in known if line[: len(played)] == played != line))

    def move(self, turn: Turn, chance: Callable[[], float] = random.random) -> str | None:
        """Return one of the moves for a turn by lot, or None. `chance` returns a number from 0 to 1, without 1.

        A match from a position of its own is in no book.
        """
        known = () if turn.match.start_position else self.moves(turn.game, turn.match.moves)
        return known[int(chance() * len(known))] if known else None
