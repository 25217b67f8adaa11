"""The ground of Elevation: stacks of tiles on 6×6 squares, the pieces on them, and the operations of a turn.

`layout()` holds constant tables: for each square, the operations that are possible from it, with their texts. A
`MutableBoard` is a copy of one position, on which the operations of a turn are made one after the other, so that each
is checked at its own moment. Squares are cell numbers of the board; heights are plain ints without a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from arbiter.boards.board import Board
from arbiter.boards.squares import squares
from arbiter.games.contract import Seat

EMPTY = "."
FISH, DRAGON, SAMURAI = KINDS = "FDS"

CLIMB = 1  #: a move to an empty square may rise by at most this
DROP = 2  #: a capture must fall by at least this
DRAGON_CLIMB = 2  #: a dragon's special move must rise by exactly this

PIECES: dict[Seat, str] = {1: KINDS, 2: KINDS.lower()}
"""The letters of a seat's pieces."""


class Operation(NamedTuple):
    """A part of a turn, with its text: a dig moves a tile from a square to another; a move moves the piece.

    `squares` are (taken, put) of a dig and (reached,) of a move.
    """

    letter: str
    squares: tuple[int, ...]


class Forbidden(Exception):
    """The rules forbid an operation at this moment; the message is a clause that says why."""


class Layout(NamedTuple):
    """The board, and for each square the operations that a piece on it may name, with their texts.

    digs: for each adjacent square from which a tile can be taken: (taken, ((taken, put, text), …)).
    steps: (reached, text) for each adjacent square.
    leaps: (middle, reached, text) for each double move in a diagonal direction.
    middles: the middle square of a double move, by its first and last square.
    """

    board: Board
    digs: tuple[tuple[tuple[int, tuple[tuple[int, int, str], ...]], ...], ...]
    steps: tuple[tuple[tuple[int, str], ...], ...]
    leaps: tuple[tuple[tuple[int, int, str], ...], ...]
    middles: dict[tuple[int, int], int]


@cache
def layout() -> Layout:
    """Return the layout, which is built at the first call."""
    board = squares(6, 6)
    names, around = board.names, [board.adjacent(at) for at in range(board.size)]
    diagonals = [number for number, name in enumerate(board.directions) if len(name) == 2]
    beyond = board.neighbours
    middles = {
        (at, to): middle
        for at in range(board.size)
        for d in diagonals
        if (middle := beyond[at][d]) >= 0 and (to := beyond[middle][d]) >= 0
    }
    return Layout(
        board,
        digs=tuple(
            tuple(
                (taken, tuple((taken, put, f"d{names[taken]}{names[put]}") for put in near if put != taken))
                for taken in near
            )
            for near in around
        ),
        steps=tuple(tuple((to, f"m{names[to]}") for to in near) for near in around),
        leaps=tuple(
            tuple((middle, to, f"m{names[to]}") for (left, to), middle in middles.items() if left == at)
            for at in range(board.size)
        ),
        middles=middles,
    )


class MutableBoard:
    """A mutable copy of a position, from the view of the seat to move. Listing operations does not change it."""

    __slots__ = ("foes", "heights", "layout", "men", "own")

    def __init__(self, heights: Sequence[int], men: str, turn: Seat) -> None:
        self.layout = layout()
        self.heights = list(heights)
        self.men = list(men)
        self.own = PIECES[turn]
        self.foes = PIECES[3 - turn]  # type: ignore[index]

    def may_take(self, taken: int) -> bool:
        """Return whether a dig may take a tile from a square: it has one, and no enemy stands on it."""
        return self.heights[taken] >= 1 and self.men[taken] not in self.foes

    def may_put(self, put: int) -> bool:
        """Return whether a dig may put a tile on a square: no piece stands on it."""
        return self.men[put] == EMPTY

    def may_step(self, left: int, reached: int) -> bool:
        """Return whether a move may go from a square to an adjacent one, which is empty or whose piece is captured."""
        rise = self.heights[reached] - self.heights[left]
        man = self.men[reached]
        return rise <= CLIMB if man == EMPTY else rise <= -DROP and man in self.foes

    def may_climb(self, left: int, reached: int) -> bool:
        """Return whether a dragon may go to an adjacent square as its whole turn."""
        return self.men[reached] == EMPTY and self.heights[reached] - self.heights[left] == DRAGON_CLIMB

    def may_leap(self, left: int, middle: int, reached: int) -> bool:
        """Return whether a fish may move over the middle square, which must be empty, to the square beyond it."""
        return self.men[middle] == EMPTY and self.may_step(left, middle) and self.may_step(middle, reached)

    def dig(self, taken: int, put: int) -> None:
        """Move a tile from one square to another, without a check; the same call with exchanged squares undoes it."""
        self.heights[taken] -= 1
        self.heights[put] += 1

    def move(self, left: int, reached: int) -> str:
        """Move a piece to another square, without a check. Return the target's old content: a piece or EMPTY."""
        captured = self.men[reached]
        self.men[reached] = self.men[left]
        self.men[left] = EMPTY
        return captured

    def unmove(self, left: int, reached: int, captured: str) -> None:
        """Undo a move."""
        self.men[left] = self.men[reached]
        self.men[reached] = captured

    def act(self, at: int, operation: Operation, *, alone: bool) -> str:
        """Check and execute an operation of the piece on a square. Return the captured piece or EMPTY.

        `alone` says that the operation is the whole turn. Raises Forbidden, and then nothing is changed.
        """
        if operation.letter == "d":
            taken, put = operation.squares
            self._judge_dig(at, taken, put)
            self.dig(taken, put)
            return EMPTY
        (reached,) = operation.squares
        self._judge_move(at, reached, alone)
        return self.move(at, reached)

    def _judge_dig(self, at: int, taken: int, put: int) -> None:
        name = self.layout.board.names
        for square in (taken, put):
            if square not in self.layout.board.neighbours[at]:
                raise Forbidden(f"{name[square]} is not adjacent to {name[at]}")
        if taken == put:
            raise Forbidden(f"the tile from {name[taken]} has to go to a different square")
        if not self.may_take(taken):
            raise Forbidden(f"{name[taken]} {'holds an enemy piece' if self.heights[taken] else 'has no tile'}")
        if not self.may_put(put):
            raise Forbidden(f"{name[put]} holds a piece")

    def _judge_move(self, at: int, reached: int, alone: bool) -> None:
        name = self.layout.board.names
        middle = self.layout.middles.get((at, reached)) if self.men[at].upper() == FISH else None
        if middle is None and reached not in self.layout.board.neighbours[at]:
            raise Forbidden(f"{name[reached]} is not adjacent to {name[at]}")
        if alone:
            if not self.may_climb(at, reached):
                raise Forbidden(f"{name[reached]} is not an empty square exactly {DRAGON_CLIMB} higher than {name[at]}")
            return
        if middle is not None and self.men[middle] != EMPTY:
            raise Forbidden(f"{name[middle]}, the middle of the double move, is not empty")
        for left, to in pairwise((at, reached) if middle is None else (at, middle, reached)):
            if not self.may_step(left, to):
                raise Forbidden(self._why_no_step(left, to))

    def _why_no_step(self, left: int, to: int) -> str:
        name = self.layout.board.names
        if self.men[to] in self.own:
            return f"{name[to]} holds an own piece"
        limit = f"a move goes up by at most {CLIMB}"
        if self.men[to] in self.foes:
            limit = f"a capture goes down by at least {DROP}"
        return f"from {name[left]} to {name[to]} the height changes by {self.heights[to] - self.heights[left]}: {limit}"

    def digs(self, at: int) -> list[tuple[int, int, str]]:
        """Return the possible digs of a piece on a square: (taken, put, text)."""
        men = self.men
        return [
            dig for taken, digs in self.layout.digs[at] if self.may_take(taken) for dig in digs if men[dig[1]] == EMPTY
        ]

    def moves(self, at: int, leaping: bool) -> list[tuple[int, str]]:
        """Return the possible moves of a piece on a square, and the double moves of a leaping fish: (reached, text)."""
        heights, men, foes = self.heights, self.men, self.foes
        top, low = heights[at] + CLIMB, heights[at] - DROP
        found = [  # `may_step` inlined: this is the innermost loop of listing
            step
            for step in self.layout.steps[at]
            if (heights[to] <= top if men[to := step[0]] == EMPTY else heights[to] <= low and men[to] in foes)
        ]
        if leaping:
            found += [(to, text) for middle, to, text in self.layout.leaps[at] if self.may_leap(at, middle, to)]
        return found

    def turns(self) -> Iterator[list[str]]:
        """Yield the texts of all legal turns, in lists by piece and first operation; a list may be empty.

        The search is lazy: a few operations are enough to know whether there is any legal turn.
        """
        for at, man in enumerate(list(self.men)):
            if man in self.own:
                kind = man.upper()
                yield from self._digging_first(at, kind)
                yield from self._moving_first(at, kind)
                if kind == DRAGON:
                    head = self.layout.board.names[at] + ":"
                    yield [head + text for to, text in self.layout.steps[at] if self.may_climb(at, to)]

    def _digging_first(self, at: int, kind: str) -> Iterator[list[str]]:
        name = self.layout.board.names
        for taken, put, text in self.digs(at):
            head = f"{name[at]}:{text},"
            self.dig(taken, put)
            turns = [head + text for _, text in self.moves(at, kind == FISH)]
            if kind == DRAGON:
                back = f"d{name[put]}{name[taken]}"  # two digs have no effect only if one undoes the other
                turns += [head + text for _, _, text in self.digs(at) if text != back]
            self.dig(put, taken)
            yield turns

    def _moving_first(self, at: int, kind: str) -> Iterator[list[str]]:
        for reached, text in self.moves(at, kind == FISH):
            head = f"{self.layout.board.names[at]}:{text},"
            captured = self.move(at, reached)
            turns = [head + text for _, _, text in self.digs(reached)]
            if kind == DRAGON:
                # A move there and back has an effect: after a capture, the way back would be too steep.
                turns += [head + text for to, text in self.moves(reached, False) if to != at]
            self.unmove(at, reached, captured)
            yield turns
