"""A plug-in game with moves at which its rules do what no rules may: `FAULTS` names them.

Otherwise players take one to three stones from a heap of nine, and the player who takes the last one wins.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from arbiter.boards.squares import squares
from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Basis, EndReason, Facts, Game, Outcome, Piece, Seat, Step

STONES: Final = 9


class Heap(NamedTuple):
    """A heap; `text` replaces its text, and `end` its outcome."""

    stones: Any
    turn: Any = 1
    text: Any = None
    end: Any = None

    @property
    def outcome(self) -> Any:
        """The end of the game."""
        return self.end or (None if self.stones else Outcome(2 if self.turn == 1 else 1, "last_stone"))


def _raises() -> Any:
    raise RuntimeError("boom\n\x1b[2J")


def _loops() -> Any:
    while True:
        pass


def _sleeps_in_c() -> Any:
    ctypes.PyDLL(None).pause()  # with the interpreter's lock, which no other thread gets


def _allocates() -> Any:
    held = []
    while True:
        held.append(bytearray(1 << 24))


def _prints() -> Heap:
    for stream in (sys.stdout, sys.stderr):
        stream.write("a message of the game\n" * 100_000)
        stream.flush()
    os.write(1, b"to the descriptor\n" * 1_000)
    return Heap(STONES)


def _refuses_oddly() -> Any:
    raise Refusal(Reason.DRAINING, "the server is stopping", retry_after_ms=1)


FAULTS: Final[dict[str, tuple[Callable[[], Any], str]]] = {
    "raise": (_raises, r"raised RuntimeError: boom\n\x1b"),
    "loop": (_loops, "no answer within "),
    "pause": (_sleeps_in_c, "no answer within "),
    "abort": (os.abort, "ended during the call"),
    "exit": (lambda: os._exit(0), "ended during the call"),
    "leave": (sys.exit, "raised SystemExit"),
    "memory": (_allocates, "more memory than "),
    "refuse": (_refuses_oddly, "nonsense"),
    "none": (lambda: None, "raised AttributeError"),
    "number": (lambda: Heap(STONES, text=7), "expected a text, not int"),
    "control": (lambda: Heap(STONES, text="9\n1"), "expected a line of printable characters"),
    "surrogate": (lambda: Heap(STONES, text="\ud800"), "expected a line of printable characters"),
    "huge": (lambda: Heap(STONES, text="9" * 300_000), "more than 262,144 characters"),
    "turn": (lambda: Heap(STONES, turn=3), "expected a number from 1 to 2, not 3"),
    "outcome": (lambda: Heap(STONES, end=(1, "of_its_own")), "is none of its end reasons"),
    "winner": (lambda: Heap(STONES, end=(7, "last_stone")), "expected a number from 0 to 2, not 7"),
}
"""What each move does, and what the error says."""


class Mischief(Game[Heap]):
    """The game."""

    facts = Facts(
        id="mischief",
        name="Mischief",
        designer="unknown",
        summary="Take the last stone.",
        seats=("First", "Second"),
        parameters=(),
        reasons=(EndReason("last_stone", "the last stone was taken", Basis.OURS),),
        rulings=(),
    )
    board = squares(1, 1)
    bound = STONES

    def initial(self) -> Heap:
        return Heap(STONES)

    def parse(self, text: str) -> Heap:
        stones, _, turn = text.partition(" ")
        if not (stones.isdecimal() and turn in ("1", "2")):
            raise self.malformed_position(text, "the heap", "STONES SEAT")
        return Heap(int(stones), int(turn))

    def text(self, position: Heap) -> str:
        text: str = f"{position.stones} {position.turn}" if position.text is None else position.text
        return text

    def moves(self, position: Heap) -> Sequence[str]:
        return [str(number) for number in range(1, min(3, position.stones) + 1)]

    def play(self, position: Heap, move: str) -> Heap:
        if move in FAULTS:
            after: Heap = FAULTS[move][0]()
            return after
        if move == "print":
            return _prints()
        if move not in ("1", "2", "3"):
            raise self.malformed_move(move)
        if int(move) > position.stones:
            raise self.illegal_move(position, move, "there are not so many stones")
        turn: Seat = 2 if position.turn == 1 else 1
        return Heap(position.stones - int(move), turn)

    def pieces(self, position: Heap) -> Sequence[Piece]:
        return [Piece(0, "")]

    def steps(self, position: Heap, move: str) -> Sequence[Step]:
        return []
