"""Natal Seas: Pods, by Dale Walton: place where your pods outnumber the others, dive along pods, fence off the sea.

Every rule is whole-board arithmetic on the boards of `pods_grid`. The migrations of all pods are computed at once, each
in a lane of its own, and the reach of both players is computed at once, in two lanes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from arbiter.games.contract import (
    Basis,
    EndReason,
    Facts,
    Game,
    Outcome,
    Piece,
    Region,
    Ruling,
    Seat,
    Step,
    Value,
    number_parameter,
)
from arbiter.games.pods_grid import Grid, along, either, exceeds, grid, led, plus_one, tally

if TYPE_CHECKING:
    from arbiter.games.pods_texts import MigrationTexts

LETTERS: Final = "Pp"  #: the pods of seat 1 and seat 2
LONGEST: Final = 2_000  #: plies after which the game is a draw
REPEATS: Final = 3  #: occurrences of a position that make a draw
MOST_PLIES: Final = 999_999_999  #: maximum of nine digits

OPPONENT: Final[dict[Seat, Seat]] = {1: 2, 2: 1}

REASONS = (
    EndReason(
        "territory", "A player's territory is more than half of the board's cells: that player wins.", Basis.TEXT
    ),
    EndReason("blocked", "The player to move has no legal move: a draw. Only set positions come to it.", Basis.OURS),
    EndReason("repetition", "The same board with the same player to move for the third time: a draw.", Basis.OURS),
    EndReason("length", "2,000 plies have been played: a draw.", Basis.OURS),
)

RULINGS = (
    Ruling("board", "A hexagon of side 7, 127 cells.", Basis.SOURCE),
    Ruling("setup", "Each player's first turn places a pod on any empty cell but the centre cell.", Basis.TEXT),
    Ruling("dive", "The pod that neighbours both cells of a dive may be of either colour.", Basis.SOURCE),
    Ruling("migration", "A migration may not end where it began.", Basis.SOURCE),
    Ruling(
        "territory",
        "A player's territory is its pods and the empty cells that its own reach holds and the opponent's does not. "
        "Each of these is a cell that the opponent could never enter, however many turns in a row it were given "
        "while the player stands still; in rare positions there are further such cells, which do not count. Reach "
        "is the least set that holds the player's pods and each empty cell with more neighbours in the reach than "
        "neighbouring enemy pods, or as many of both (at least one) if a neighbour in the reach has in common with "
        "the cell a neighbour that is occupied or in the reach. A cell that neither side can ever enter belongs to "
        "nobody.",
        Basis.OURS,
    ),
    Ruling("blocked", "A player to move who has no legal move ends the game as a draw.", Basis.OURS),
    Ruling("repetition", "The third occurrence of a board with the same player to move is a draw.", Basis.OURS),
    Ruling("length", "The game is a draw after 2,000 plies.", Basis.OURS),
)

_PLIES = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


class PodsPosition(NamedTuple):
    """A position: the pods of both seats as boards of `pods_grid`, the seat to move, and the plies played so far.

    `earlier` holds the positions that could occur again, as numbers (see `Pods._key`): those since the last placement.
    A placement adds a pod and pods never leave, so no position from before it can occur again. The same holds for
    positions of the setup, where every turn places a pod.
    """

    pods: tuple[int, int]
    turn: Seat
    plies: int
    earlier: tuple[int, ...]
    outcome: Outcome | None


class Sea(NamedTuple):
    """Empty cells by friends − enemies among the neighbouring pods: at least 1, at least 0, at least −1."""

    placeable: int
    level: int
    calm: int


class Pods(Game[PodsPosition]):
    """Pods on a hexagon of a given size."""

    facts = Facts(
        id="pods",
        name="Natal Seas: Pods",
        designer="Dale Walton",
        summary="Place pods where yours outnumber the others, or dive along pods; fence off more than half of the sea.",
        seats=("Orca", "Humpback"),
        parameters=(number_parameter("size", 7, 3, 10, "cells along a side of the board"),),
        reasons=REASONS,
        rulings=RULINGS,
        letters={"P": "pod"},
    )

    # Length is tested after every turn once two pods are placed, so the 2,000th ply ends a game at the latest.
    bound = LONGEST

    def __init__(self, **values: Value) -> None:
        super().__init__(**values)
        size = int(self.values["size"])
        self._grid = grid(size)
        self.board = self._grid.board
        self._half = self.board.size // 2
        self._longest_text = self.board.size + len(self.board.lines) - 1 + len(" 1 ") + len(str(MOST_PLIES))

    def initial(self) -> PodsPosition:
        """Return the empty board, seat 1 to move."""
        return PodsPosition((0, 0), 1, 0, (), None)

    # --- legal moves ---------------------------------------------------------------------------------------------

    def moves(self, position: PodsPosition) -> Sequence[str]:
        """Return the placements in the order of the cells, then the migrations by start and by end."""
        if position.outcome is not None:
            return []
        own, other = _sides(position)
        if _in_setup(own | other):
            return self._grid.listed(self._setup_cells(own | other))
        sea = self._survey(own, other)
        movers = self._grid.numbers(self._movers(own, other, sea))
        ends = self._migrations(own, other, sea, movers)
        return self._grid.listed(sea.placeable) + _migration_texts(self._grid).listed(movers, ends)

    def placements(self, position: PodsPosition) -> Sequence[str]:
        """Return the legal moves that place a pod, in the order of the cells."""
        if position.outcome is not None:
            return []
        own, other = _sides(position)
        if _in_setup(own | other):
            return self._grid.listed(self._setup_cells(own | other))
        return self._grid.listed(self._survey(own, other).placeable)

    def _setup_cells(self, pods: int) -> int:
        """Return the cells allowed for a setup pod."""
        return self._grid.cells & ~(pods | self._grid.centre)

    def _survey(self, own: int, other: int) -> Sea:
        """Return the empty cells by the balance of the neighbouring pods."""
        around = self._grid.around
        empty = self._grid.cells & ~(own | other)
        friends, enemies = tally(around(own)), tally(around(other))
        return Sea(
            empty & exceeds(friends, enemies),
            empty & ~exceeds(enemies, friends),
            empty & ~exceeds(enemies, plus_one(friends)),
        )

    def _movers(self, own: int, other: int, sea: Sea) -> int:
        """Return the pods that have a first dive.

        A first dive goes to a neighbour of the pod. That cell loses this one friend when the pod is lifted, and must be
        level before.
        """
        near, open_ways = self._grid.around(own | other), self._grid.around(sea.level)
        return own & along(near, open_ways)

    def _migrations(self, own: int, other: int, sea: Sea, movers: Sequence[int], goal: int = 0) -> int:
        """Return where each pod of a list of bit numbers may end its migration, one lane of the result per pod.

        In its lane the pod is lifted. This takes away a friend from its six neighbours only, and the pod cannot lead a
        dive any more. Its own cell need not be open to it: a return there leads nowhere new. If a goal is given, the
        search may stop once it has found it.
        """
        board = self._grid
        lifted = 0
        for lane, mover in enumerate(movers):
            lifted |= 1 << lane * board.lane + mover
        copies = board.copies(len(movers))
        e, ne, nw, w, sw, se = board.around(lifted)
        havens = copies * sea.calm & ~(copies * (sea.calm ^ sea.level) & (e | ne | nw | w | sw | se))
        near = board.around(copies * (own | other) ^ lifted)
        return board.flood(lifted, led(near, board.around(havens)), goal) ^ lifted

    # --- play ----------------------------------------------------------------------------------------------------

    def play(self, position: PodsPosition, move: str) -> PodsPosition:
        """Return the position after a placement or a migration."""
        start, end = self._read(move)
        why = self._objection(position, start, end)
        if why:
            raise self.illegal_move(position, move, why)
        turn = position.turn
        pods = list(position.pods)
        pods[turn - 1] ^= 1 << end if start is None else 1 << end | 1 << start
        earlier = () if start is None else (*position.earlier, self._key(position.pods, turn))
        # Only in the setup of a set position can the plies reach the maximum of nine digits; then they stay there.
        return self._position((pods[0], pods[1]), OPPONENT[turn], min(position.plies + 1, MOST_PLIES), earlier)

    def _read(self, move: str) -> tuple[int | None, int]:
        """Return the bit numbers of start (None for a placement) and end. Raises MOVE_MALFORMED."""
        start, dash, end = move.rpartition("-")
        bit = self._grid.bit
        if end not in bit or (dash and start not in bit):
            raise self.malformed_move(move)
        return bit[start] if dash else None, bit[end]

    def _objection(self, position: PodsPosition, start: int | None, end: int) -> str:
        """Return why the rules forbid a move, or ''."""
        if position.outcome is not None:
            return "the game is over"
        own, other = _sides(position)
        name = self._grid.names[end]
        if start is None:
            return self._objection_to_place(own, other, end)
        if _in_setup(own | other):
            return "the first turn of each player places a pod"
        if not own >> start & 1:
            return f"no pod of the player to move is on {self._grid.names[start]}"
        if start == end:
            return "a migration may not end where it began"
        if (own | other) >> end & 1:
            return f"{name} is not empty"
        if not self._migrations(own, other, self._survey(own, other), [start], 1 << end) >> end & 1:
            return f"no series of dives leads the pod to {name}"
        return ""

    def _objection_to_place(self, own: int, other: int, end: int) -> str:
        name = self._grid.names[end]
        if (own | other) >> end & 1:
            return f"{name} is not empty"
        if _in_setup(own | other):
            return "" if self._setup_cells(own | other) >> end & 1 else "the first pod may not stand on the centre cell"
        if not self._survey(own, other).placeable >> end & 1:
            return f"beside {name} the pods of the player to move do not outnumber the opponent's"
        return ""

    def _key(self, pods: tuple[int, int], turn: Seat) -> int:
        """Return a board and a seat to move as one number."""
        return (pods[0] | pods[1] << self._grid.lane) * 2 + turn - 1

    # --- the end -------------------------------------------------------------------------------------------------

    def _position(self, pods: tuple[int, int], turn: Seat, plies: int, earlier: tuple[int, ...]) -> PodsPosition:
        return PodsPosition(pods, turn, plies, earlier, self._outcome(pods, turn, plies, earlier))

    def _outcome(self, pods: tuple[int, int], turn: Seat, plies: int, earlier: tuple[int, ...]) -> Outcome | None:
        """Return the end of the game, tested in the order of the rules; None during setup."""
        if _in_setup(pods[0] | pods[1]):
            return None
        reaches = self._reaches(pods, self._half)
        for seat, reach in enumerate(reaches, 1):
            if (reach & ~reaches[2 - seat]).bit_count() > self._half:
                return Outcome(seat, "territory")
        own, other = pods[turn - 1], pods[2 - turn]
        sea = self._survey(own, other)
        if not sea.placeable and not self._movers(own, other, sea):
            return Outcome(0, "blocked")
        if earlier and earlier.count(self._key(pods, turn)) >= REPEATS - 1:
            return Outcome(0, "repetition")
        return Outcome(0, "length") if plies >= LONGEST else None

    def territory(self, position: PodsPosition) -> tuple[int, int]:
        """Return the number of cells in the territory of each seat."""
        first, second = self._reaches(position.pods, self.board.size)
        return (first & ~second).bit_count(), (second & ~first).bit_count()

    def _reaches(self, pods: tuple[int, int], enough: int) -> tuple[int, int]:
        """Return Reach(seat 1) and Reach(seat 2), grown from the pods by one ring of cells per pass.

        The pods of a player are always in its own reach and never in the other one, so territory is reach minus reach.
        The loop stops early once both hold more than `enough` cells: with half of the board each, nobody can win any
        more.
        """
        board = self._grid
        lane = board.lane
        reach = pods[0] | pods[1] << lane
        enemies = tally(board.around(pods[1] | pods[0] << lane))
        e1, e2, e4 = enemies
        occupied = board.copies(2) * (pods[0] | pods[1])
        empty = board.copies(2) * board.cells & ~occupied
        contested = empty & (e1 | e2 | e4)
        beside = board.around(occupied)
        while True:
            near = board.around(reach)
            count = tally(near)
            grown = reach | empty & exceeds(count, enemies)
            ties = contested & ~(grown | count[0] ^ e1 | count[1] ^ e2 | count[2] ^ e4)
            if ties:
                grown |= ties & along(either(near, beside), near)
            first, second = grown & board.cells, grown >> lane
            if grown == reach or (first.bit_count() > enough and second.bit_count() > enough):
                return first, second
            reach = grown

    # --- notation ------------------------------------------------------------------------------------------------

    def parse(self, text: str) -> PodsPosition:
        """Parse a position: board, seat to move, plies."""
        if len(text) > self._longest_text:
            raise self.malformed_position(text, "the text", f"at most {self._longest_text} characters")
        fields = text.split(" ")
        if len(fields) != 3:
            raise self.malformed_position(text, "the fields", "board, seat and plies, with one space between them")
        board, turn, plies = fields
        pods = self._read_board(board)
        if turn not in ("1", "2"):
            raise self.malformed_position(turn, "the seat to move", "1 or 2")
        if not _PLIES.fullmatch(plies):
            raise self.malformed_position(plies, "the plies", "a number of at most nine digits, no leading zeros")
        return self._position(pods, 1 if turn == "1" else 2, int(plies), ())

    def _read_board(self, text: str) -> tuple[int, int]:
        lines, texts = self.board.lines, text.split("/")
        if len(texts) != len(lines):
            raise self.malformed_position(text, "the board", f"{len(lines)} rows with / between them")
        pods = {".": 0, LETTERS[0]: 0, LETTERS[1]: 0}
        bits = self._grid.bits
        for line, cells in zip(lines, texts, strict=True):
            row = f"row {self.board.names[line[0]][0]}"
            if len(cells) != len(line):
                raise self.malformed_position(cells, row, f"{len(line)} cells")
            for cell, letter in zip(line, cells, strict=True):
                if letter not in pods:
                    raise self.malformed_position(letter, row, f"., {LETTERS[0]} or {LETTERS[1]}")
                pods[letter] |= 1 << bits[cell]
        return pods[LETTERS[0]], pods[LETTERS[1]]

    def text(self, position: PodsPosition) -> str:
        """Return the rows from the top, the seat to move and the plies."""
        letters = self._letters(position)
        rows = ["".join(letters[row]) for row in self._grid.rows]
        return f"{'/'.join(rows)} {position.turn} {position.plies}"

    def _letters(self, position: PodsPosition) -> list[str]:
        """Return the text's character for each bit of a board, including the border."""
        letters = ["."] * self._grid.lane
        for pods, letter in zip(position.pods, LETTERS, strict=True):
            for bit in self._grid.numbers(pods):
                letters[bit] = letter
        return letters

    def pieces(self, position: PodsPosition) -> Sequence[Piece]:
        """Return the pods on the cells."""
        kinds = {".": Piece(0, ""), LETTERS[0]: Piece(1, LETTERS[0]), LETTERS[1]: Piece(2, LETTERS[1])}
        letters = self._letters(position)
        return [kinds[letters[bit]] for bit in self._grid.bits]

    def steps(self, position: PodsPosition, move: str) -> Sequence[Step]:
        """Return one step: a pod placed, or a pod moved from start to end (the path does not matter)."""
        start, end = self._read(move)
        names, letter = self._grid.names, LETTERS[position.turn - 1]
        if start is None:
            return [Step("place", "", names[end], letter)]
        return [Step("move", names[start], names[end], letter)]

    def regions(self, position: PodsPosition) -> Sequence[Region]:
        """Return the territory of each seat, once both setup pods are down."""
        if _in_setup(position.pods[0] | position.pods[1]):
            return ()
        first, second = self._reaches(position.pods, self.board.size)
        held = ((1, first & ~second), (2, second & ~first))
        return [
            Region("territory", seat, tuple([cell for cell, bit in enumerate(self._grid.bits) if mask >> bit & 1]))
            for seat, mask in held
        ]

    def counters(self, position: PodsPosition) -> Mapping[str, int]:
        """Return the plies, and the territories once both setup pods are down."""
        if _in_setup(position.pods[0] | position.pods[1]):
            return {"plies": position.plies}
        first, second = self.territory(position)
        return {"territory of seat 1": first, "territory of seat 2": second, "plies": position.plies}


def _sides(position: PodsPosition) -> tuple[int, int]:
    """Return the pods of the seat to move and of the opponent."""
    return position.pods[position.turn - 1], position.pods[2 - position.turn]


def _in_setup(pods: int) -> bool:
    """Return whether fewer than two pods are on the board."""
    return not pods & (pods - 1)


@cache
def _migration_texts(board: Grid) -> MigrationTexts:
    # Imported by the first listing: numpy takes too long to load for a command that never lists moves.
    from arbiter.games.pods_texts import MigrationTexts

    return MigrationTexts(board)
