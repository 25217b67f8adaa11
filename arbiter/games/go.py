"""Go by the rules of Tromp and Taylor: area scoring, no position of the board twice, and two passes end the game.

The board is two masks, one for each seat. Each column has one bit more than the board has rows, which is never set, so
that shifting a mask never carries a stone from one column to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from arbiter.boards.squares import squares
from arbiter.games.contract import (
    Basis,
    EndReason,
    Facts,
    Game,
    Look,
    Outcome,
    Piece,
    Region,
    Ruling,
    Seat,
    Step,
    Value,
    choice_parameter,
    decimal_parameter,
)
from arbiter.games.rows import Rows, other, read_fields, read_number, read_seat

REASONS = (
    EndReason("area", "Both players have passed, and the one with more area, with komi, wins.", Basis.TEXT),
    EndReason("equal_area", "Both players have passed, and their areas, with komi, are equal: a draw.", Basis.TEXT),
    EndReason("length", "Four plies for each intersection have been played; the larger area wins.", Basis.OURS),
    EndReason("equal_length", "Four plies for each intersection, and equal areas: a draw.", Basis.OURS),
)
RULINGS = (
    Ruling("dead stones", "All stones on the board count as alive: capture those that are not before you pass.",
           Basis.TEXT),
    Ruling("superko", "A move may not bring back any earlier position of the board, whoever is to move. Passing may. "
           "A position that was set has no earlier ones.", Basis.TEXT),
    Ruling("suicide", "Own stones without a liberty are taken off too, after the opponent's. A single stone that does "
           "this brings back the position, which is forbidden.", Basis.TEXT),
)  # fmt: skip

PASS: Final = "pass"
LETTERS: Final = "abcdefghjklmnopqrst"  #: of the columns: there is no `i`
NOTHING: Final = Piece(0, "")
STONES: Final = (Piece(1, "S"), Piece(2, "s"))


class GoPosition(NamedTuple):
    """A position.

    stones: the masks of seat 1 and seat 2. passes: how many turns in a row were passed. plies: played so far. stood:
    the keys of all positions of the board so far. outcome: the end of the game, or None.
    """

    stones: tuple[int, int]
    turn: Seat
    passes: int
    plies: int
    stood: frozenset[int]
    outcome: Outcome | None


class Go(Game[GoPosition]):
    """The rules of Go."""

    facts = Facts(
        id="go",
        name="Go",
        designer="",
        summary="Surround more of the board than the other.",
        seats=("Black", "White"),
        parameters=(
            choice_parameter("size", ("9", "13", "19"), "intersections on a side"),
            decimal_parameter("komi", "7.5", "-100", "100", "points for White, who moves second"),
        ),
        reasons=REASONS,
        rulings=RULINGS,
        look=Look.POINTS,
        letters={"S": "stone"},
        aliases=(("D4", "d4"), ("PASS", "pass")),
        cell_text="Columns have letters, `a` is at the left, and there is no `i`; rows have numbers, 1 is at the "
        "bottom: `a1` is the lower left corner.",
    )

    def __init__(self, **values: Value) -> None:
        super().__init__(**values)
        size = int(str(self.values["size"]))
        self._komi = Decimal(str(self.values["komi"]))
        self.board = squares(size, size, LETTERS)
        self.bound = 4 * size * size
        self._rows = Rows(self.board, "Ss.")
        self._stride = size + 1
        self._width = size * (size + 1)
        self._bits = [1 << file * (size + 1) + rank for file in range(size) for rank in range(size)]  # by cell
        self._full = sum(self._bits)
        self._names = dict(zip(self._bits, self.board.names, strict=True))

    def initial(self) -> GoPosition:
        """Return the empty board."""
        return GoPosition((0, 0), 1, 0, 0, frozenset((0,)), None)

    def _around(self, stones: int) -> int:
        """Return the intersections next to stones, some of which may be stones of the set."""
        stride = self._stride
        return (stones << 1 | stones >> 1 | stones << stride | stones >> stride) & self._full

    def _group(self, some: int, stones: int) -> int:
        """Return the stones that are joined to some of them."""
        grown = some
        while True:
            wider = (grown | self._around(grown)) & stones
            if wider == grown:
                return grown
            grown = wider

    def _key(self, first: int, second: int) -> int:
        return first | second << self._width

    def _placed(self, own: int, others: int, bit: int) -> tuple[int, int]:
        """Return both masks after a stone: the opponent's stones without a liberty go first, then one's own."""
        own |= bit
        left = self._around(bit) & others
        while left:
            group = self._group(left & -left, others)
            left &= ~group
            if not self._around(group) & ~(own | others):
                others &= ~group
        group = self._group(bit, own)
        if not self._around(group) & ~(own | others):
            own &= ~group
        return own, others

    def moves(self, position: GoPosition) -> Sequence[str]:
        """Return the intersections to play on, in the order of the board's cells, and the pass."""
        if position.outcome is not None:
            return []
        found: list[str] = []
        own, others = position.stones if position.turn == 1 else position.stones[::-1]
        empty = self._full & ~(own | others)
        quiet = self._quiet(own, others, empty)
        for bit, name in self._names.items():
            if not empty & bit:
                continue
            mine, theirs = (own | bit, others) if quiet & bit else self._placed(own, others, bit)
            key = self._key(mine, theirs) if position.turn == 1 else self._key(theirs, mine)
            if key not in position.stood:
                found.append(name)
        return [*found, PASS]

    def _quiet(self, own: int, others: int, empty: int) -> int:
        """Return the empty intersections on which a stone takes no stones off the board."""
        taking = 0
        left = others
        while left:
            group = self._group(left & -left, others)
            left &= ~group
            liberties = self._around(group) & empty
            if liberties & liberties - 1 == 0:
                taking |= liberties
        free = self._around(empty) & empty
        left = own
        while left:
            group = self._group(left & -left, own)
            left &= ~group
            liberties = self._around(group) & empty
            if liberties & liberties - 1:
                free |= liberties
        return free & ~taking

    def play(self, position: GoPosition, move: str) -> GoPosition:
        """Place a stone and take off what has no liberty, or pass."""
        if move == PASS:
            if position.outcome is not None:
                raise self.illegal_move(position, move, "the game is over")
            plies, passes = position.plies + 1, position.passes + 1
            return self._settled(position.stones, other(position.turn), passes, plies, position.stood)
        cell = self.board.index.get(move)
        if cell is None:
            raise self.malformed_move(move)
        first, second = position.stones
        bit = self._bits[cell]
        if position.outcome is not None:
            raise self.illegal_move(position, move, "the game is over")
        if (first | second) & bit:
            raise self.illegal_move(position, move, f"{move} is taken")
        if position.turn == 1:
            first, second = self._placed(first, second, bit)
        else:
            second, first = self._placed(second, first, bit)
        key = self._key(first, second)
        if key in position.stood:
            raise self.illegal_move(position, move, "it would bring back an earlier position of the board")
        return self._settled((first, second), other(position.turn), 0, position.plies + 1, position.stood | {key})

    def _settled(
        self, stones: tuple[int, int], turn: Seat, passes: int, plies: int, stood: frozenset[int]
    ) -> GoPosition:
        outcome: Outcome | None = None
        if passes >= 2:
            outcome = self._judged(stones, "area", "equal_area")
        elif plies >= self.bound:
            outcome = self._judged(stones, "length", "equal_length")
        return GoPosition(stones, turn, passes, plies, stood, outcome)

    def _judged(self, stones: tuple[int, int], won: str, drawn: str) -> Outcome:
        first, second = (area.bit_count() for area in self._areas(stones))
        lead = first - second - self._komi
        return Outcome(1 if lead > 0 else 2, won) if lead else Outcome(0, drawn)

    def _areas(self, stones: tuple[int, int]) -> tuple[int, int]:
        """Return the area of each seat: its stones, and the empty intersections that reach only them."""
        first, second = stones
        left = self._full & ~(first | second)
        empty = left
        areas = [first, second]
        while left:
            region = self._group(left & -left, empty)
            left &= ~region
            edge = self._around(region)
            if bool(edge & first) != bool(edge & second):
                areas[0 if edge & first else 1] |= region
        return areas[0], areas[1]

    def canonical(self, move: str) -> str:
        """Return a move in lower case."""
        text = move.lower() if len(move) <= 4 and move.isascii() else move
        return text if text == PASS or text in self.board.index else move

    def notation(self, position: GoPosition, move: str) -> str:
        """Return a move as people write it: `D4`, `pass`."""
        self.play(position, move)
        return move if move == PASS else move.upper()

    def text(self, position: GoPosition) -> str:
        """Return the text: the board, the seat to move, the passes just before, and the plies played."""
        first, second = position.stones
        cells = bytes([83 if first & bit else 115 if second & bit else 46 for bit in self._bits])
        return f"{self._rows.write(cells)} {position.turn} {position.passes} {position.plies}"

    def parse(self, text: str) -> GoPosition:
        """Parse a position; every stone must have a liberty."""
        refuse = self.malformed_position
        longest = self.board.size + self._stride + 20
        rows, seat, passed, played = read_fields(text, longest, "board, seat to move, passes, plies", refuse)
        cells, turn = self._rows.read(rows, refuse), read_seat(seat, refuse)
        first, second = (sum(self._bits[cell] for cell, sign in enumerate(cells) if sign == mine) for mine in b"Ss")
        left = first | second
        while left:
            bit = left & -left
            group = self._group(bit, first if first & bit else second)
            left &= ~group
            if not self._around(group) & ~(first | second):
                raise refuse(self._names[bit], "the board", "no stones without a liberty")
        passes = read_number(passed, "the passes just before", 2, refuse)
        plies = read_number(played, "the plies played", self.bound, refuse)
        return self._settled((first, second), turn, passes, plies, frozenset((self._key(first, second),)))

    def pieces(self, position: GoPosition) -> Sequence[Piece]:
        """Return the stones, by cell."""
        first, second = position.stones
        return [STONES[0] if first & bit else STONES[1] if second & bit else NOTHING for bit in self._bits]

    def steps(self, position: GoPosition, move: str) -> Sequence[Step]:
        """Return the single step of a move: a stone is placed, or a pass."""
        if move == PASS:
            return [Step("pass", "", "")]
        if move not in self.board.index:
            raise self.malformed_move(move)
        return [Step("place", "", move, "Ss"[position.turn - 1])]

    def counters(self, position: GoPosition) -> Mapping[str, int]:
        """Return the area of each seat, without komi."""
        first, second = self._areas(position.stones)
        return {"Black area": first.bit_count(), "White area": second.bit_count()}

    def regions(self, position: GoPosition) -> Sequence[Region]:
        """Return the areas at the end of a game."""
        if position.outcome is None:
            return ()
        return [
            Region("territory", owner, tuple(cell for cell, bit in enumerate(self._bits) if area & bit))
            for owner, area in enumerate(self._areas(position.stones), 1)
            if area
        ]
