"""The console of a game: one line of answer for each line of command. Any program can query the rules through it.

    new             the initial position; answers its text
    set TEXT        a position from its text, without history; answers its text
    play MOVE…      one or more moves, all or none of them; answers the text of the position after the last
    moves           the legal moves, sorted bytewise, separated by spaces; an empty line if there are none
    outcome         `none`, or winner and reason: `1 territory`, `draw repetition`
    claim           the reason why the seat to move may claim a draw, or `none`
    turn            the turn of the seat to move, as JSON: the fields of the protocol's `Turn` that follow from the
                    rules (game, seat, ply, position, all moves since `new` or `set`, claim, board, legal moves)
    board           the board as a JSON array: a row for each line of cells in reading order; an empty cell is null,
                    any other the protocol's `CellContent`
    perft N         the number of sequences of N moves

Unknown commands, and commands that the rules refuse, are answered by `error: REASON …` and change nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from arbiter.errors import Refusal, argument_invalid
from arbiter.games.contract import AnyGame, Piece
from arbiter.games.line import follow
from arbiter.games.perft import perft
from arbiter.plain_text import plain

LONGEST_LINE = 65_536  #: maximum characters of a command; whole games of every kind fit
DEEPEST_PERFT = 12  #: maximum depth in moves; it protects the stack, and is far more than can finish on most boards

_DEPTH = re.compile(r"[0-9]{1,9}", re.ASCII)


class Console:
    """One game and its current position. Rules that depend on history use the positions since `new` or `set`."""

    def __init__(self, game: AnyGame) -> None:
        self._game = game
        self._position: Any = game.initial()
        self._played: list[dict[str, Any]] = []

    def answer(self, line: str) -> str:
        """Return the answer to a command: always exactly one line, without its end."""
        line = line.removesuffix("\n").removesuffix("\r")
        try:
            if len(line) > LONGEST_LINE:
                raise argument_invalid(
                    f"a line of {len(line)} characters", "the command", f"at most {LONGEST_LINE} characters"
                )
            return self._execute(line)
        except Refusal as refusal:
            return f"error: {plain(str(refusal))}"

    def _execute(self, line: str) -> str:
        command, _, rest = line.partition(" ")
        if command == "set":
            return self._begin(self._game.parse(rest))
        words = [word for word in rest.split(" ") if word]
        if command == "play":
            return self._play(words)
        if command == "perft":
            return self._perft(words)
        answers: dict[str, Callable[[], str]] = {
            "new": lambda: self._begin(self._game.initial()),
            "moves": lambda: " ".join(sorted(self._game.moves(self._position))),
            "outcome": lambda: str(self._position.outcome or "none"),
            "claim": lambda: self._game.claim(self._position) or "none",
            "turn": lambda: json.dumps(self._turn()),
            "board": lambda: json.dumps(self._board()),
        }
        if command not in answers:
            raise argument_invalid(command, "the command", f"set TEXT, play MOVE…, perft N, {', '.join(answers)}")
        if words:
            raise argument_invalid(rest, f"the command {command}", "nothing after it")
        return answers[command]()

    def _begin(self, position: Any) -> str:
        self._position, self._played = position, []
        return self._game.text(position)

    def _play(self, moves: list[str]) -> str:
        if not moves:
            raise argument_invalid("no move", "the command play", "one or more moves")
        line = follow(self._game, self._position, moves)
        for before, move in zip(line.positions, line.moves, strict=False):  # one position more than moves
            self._played.append({"ply": len(self._played), "seat": before.turn, "move": move})
        self._position = line.final
        return self._game.text(self._position)

    def _turn(self) -> dict[str, Any]:
        game, position = self._game, self._position
        if position.outcome is not None:
            raise argument_invalid("turn", "the command", "a game that goes on; `outcome` has how this one ended")
        legal = sorted(game.moves(position))
        return {
            "game": game.variant,
            "seat": position.turn,
            "ply": len(self._played),
            "position": game.text(position),
            "lastMoves": self._played,
            "drawClaim": game.claim(position) or "",
            "board": [cell for row in self._board() for cell in row if cell is not None],
            "legalMoveCount": str(len(legal)),  # so the protocol's JSON writes numbers of 64 bits
            "legalMoves": [{"text": move} for move in legal],
        }

    def _board(self) -> list[list[dict[str, Any] | None]]:
        names, pieces = self._game.board.names, self._game.pieces(self._position)
        return [[_content(names[cell], pieces[cell]) for cell in line] for line in self._game.board.lines]

    def _perft(self, words: list[str]) -> str:
        if len(words) != 1 or not _DEPTH.fullmatch(words[0]) or int(words[0]) > DEEPEST_PERFT:
            raise argument_invalid(" ".join(words), "the command perft", f"one number from 0 to {DEEPEST_PERFT}")
        return str(perft(self._game, self._position, int(words[0])))


def _content(cell: str, piece: Piece) -> dict[str, Any] | None:
    """Return the content of a cell, None if it is empty."""
    if not (piece.letter or piece.mark or piece.height >= 0):
        return None
    content = {"cell": cell, "owner": piece.owner, "piece": piece.letter, "mark": piece.mark}
    numbers = {"facing": piece.facing, "height": piece.height}
    return content | {name: number for name, number in numbers.items() if number >= 0}


def run(game: AnyGame, read: Iterable[str], write: Callable[[str], object]) -> None:
    """Answer every line of `read` with one call of `write`, including the line end; the caller flushes."""
    console = Console(game)
    for line in read:
        write(console.answer(line) + "\n")
