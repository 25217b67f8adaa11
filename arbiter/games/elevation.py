"""Elevation, by Steve Baker: fish, dragons and samurai dig the ground away under each other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from arbiter.games.contract import (
    Basis,
    EndReason,
    Facts,
    Game,
    Outcome,
    Piece,
    Ruling,
    Seat,
    Step,
    Value,
    number_parameter,
    word_parameter,
)
from arbiter.games.elevation_ground import EMPTY, KINDS, PIECES, Forbidden, MutableBoard, Operation, layout

PATIENCE = 200  #: plies without a capture after which the game is a draw
RECURRENCE = 3  #: number of the occurrence of a position that makes the game a draw

TILES = number_parameter("tiles", 3, 0, 20, "the height of every square at the start")
START = word_parameter(
    "start",
    "FDSSDF",
    "the letters FFDDSS in any order",
    lambda word: sorted(word) == sorted(2 * KINDS),
    "seat 1's pieces on a1 to f1, and seat 2's on a6 to f6: F fish, D dragon, S samurai",
)

REASONS = (
    EndReason("all_captured", "The opponent has no pieces: the player who moved last wins.", Basis.TEXT),
    EndReason("no_moves", "The opponent has no legal turn: the player who moved last wins.", Basis.SOURCE),
    EndReason(
        "repetition",
        "The same heights and pieces with the same player to move for the third time: a draw.",
        Basis.OURS,
    ),
    EndReason("no_progress", f"{PATIENCE} plies without a capture: a draw.", Basis.OURS),
)

RULINGS = (
    Ruling("start height", "Every square starts with three tiles.", Basis.SOURCE),
    Ruling("set-up", "Seat 2's pieces stand on a6 to f6 in the same order as seat 1's on a1 to f1.", Basis.OURS),
    Ruling("first turn", "Seat 1 moves first.", Basis.OURS),
    Ruling("capture", "The square left is at least 2 higher than the square of the captured piece.", Basis.SOURCE),
    Ruling("one piece", "One piece makes both operations of a turn.", Basis.SOURCE),
    Ruling(
        "double move",
        "The middle square must be empty, each half keeps the climbing limit, and only the second half may capture, "
        "judged from the middle square.",
        Basis.OURS,
    ),
    Ruling("no change", "A turn that leaves heights and pieces exactly as they were is illegal.", Basis.OURS),
    Ruling("no moves", "A player without a legal turn loses (a later revision by the designer).", Basis.SOURCE),
    Ruling(
        "repetition",
        "“Undo three times in a row” is read as: the third time that heights, pieces and player to move are the same.",
        Basis.OURS,
    ),
    Ruling("no progress", f"{PATIENCE} plies without a capture are a draw.", Basis.OURS),
)

NAMES = {"F": "fish", "D": "dragon", "S": "samurai"}

ORDERS = {"F": ("dm", "md"), "D": ("dm", "md", "dd", "mm", "m"), "S": ("dm", "md")}
"""The operations that make a turn, by piece: d a dig, m a move."""

_SQUARE = "[a-f][1-6]"
_OPERATION = f"d{_SQUARE}{_SQUARE}|m{_SQUARE}"
_MOVE = re.compile(f"({_SQUARE}):({_OPERATION})(?:,({_OPERATION}))?", re.ASCII)
_NUMBER = "0|[1-9][0-9]{0,8}"
_CELL = re.compile(f"({_NUMBER})([{KINDS}{KINDS.lower()}]?)", re.ASCII)
_PLIES = re.compile(_NUMBER, re.ASCII)
_LONGEST = 36 * len("999999999F,") + len(" 1 999999999")

Look = tuple[Seat, str, tuple[int, ...]]
"""What repetition compares: the seat to move, the pieces, the heights."""


class ElevationPosition(NamedTuple):
    """A position. `heights` and `men` (a letter or `.`) are in the order of the board's cells.

    `past` holds the earlier positions since the start or the last capture. A captured piece never returns, so no
    position from before a capture can occur again.
    """

    turn: Seat
    men: str
    heights: tuple[int, ...]
    plies: int  #: since the last capture
    past: tuple[Look, ...] = ()
    outcome: Outcome | None = None

    @property
    def look(self) -> Look:
        """The part of a position that the repetition rule compares."""
        return self.turn, self.men, self.heights

    def __hash__(self) -> int:
        return hash((self.look, self.plies))  # without the past, which is long


class Elevation(Game[ElevationPosition]):
    """Elevation on 6×6 squares. Parameters: `tiles`, the height at the start; `start`, the order of the pieces."""

    facts = Facts(
        id="elevation",
        name="Elevation",
        designer="Steve Baker",
        summary="Dig the ground and move over it; pounce on enemies that stand two tiles lower.",
        seats=("1", "2"),
        parameters=(TILES, START),
        reasons=REASONS,
        rulings=RULINGS,
        draw_offers=True,
        letters=NAMES,
        material="pieces left",
    )

    # At most 11 of 12 pieces are captured: the sixth loss of a seat ends the game. Before each of these captures, and
    # after the last one that does not end the game, fewer than PATIENCE plies pass without one, or it is a draw.
    bound = (2 * 2 * len(KINDS) - 1) * PATIENCE

    def __init__(self, **values: Value) -> None:
        super().__init__(**values)
        self.board = layout().board

    def initial(self) -> ElevationPosition:
        """Return the position that a game starts from."""
        start = str(self.values["start"])
        men = "".join(letter + 4 * EMPTY + letter.lower() for letter in start)
        tiles = int(self.values["tiles"])
        return _with_outcome(ElevationPosition(1, men, (tiles,) * self.board.size, 0))

    def moves(self, position: ElevationPosition) -> Sequence[str]:
        """Return every legal turn once: by square of the acting piece, then first operation, then second."""
        return [] if position.outcome else list(chain.from_iterable(_ground(position).turns()))

    def play(self, position: ElevationPosition, move: str) -> ElevationPosition:
        """Return the position after a move; each operation is checked at the moment at which it is made.

        Raises Refusal MOVE_MALFORMED or MOVE_ILLEGAL.
        """
        at, operations = self._read(move)
        if position.outcome:
            raise self.illegal_move(position, move, "the game is over")
        ground = _ground(position)
        man = ground.men[at]
        if man not in ground.own:
            raise self.illegal_move(position, move, f"no piece of seat {position.turn} stands on {move[:2]}")
        kind = man.upper()
        if "".join(letter for letter, _ in operations) not in ORDERS[kind]:
            raise self.illegal_move(position, move, f"these operations do not make a turn of a {NAMES[kind]}")
        captured = False
        try:
            for operation in operations:
                captured |= ground.act(at, operation, alone=len(operations) == 1) != EMPTY
                if operation.letter == "m":
                    (at,) = operation.squares
        except Forbidden as why:
            raise self.illegal_move(position, move, str(why)) from None
        men, heights = "".join(ground.men), tuple(ground.heights)
        if men == position.men and heights == position.heights:
            raise self.illegal_move(position, move, "the turn leaves everything as it was")
        turn: Seat = 2 if position.turn == 1 else 1
        if captured:
            return _with_outcome(ElevationPosition(turn, men, heights, 0))
        return _with_outcome(ElevationPosition(turn, men, heights, position.plies + 1, (*position.past, position.look)))

    def parse(self, text: str) -> ElevationPosition:
        """Parse a position, which then has no history. Raises Refusal POSITION_MALFORMED."""
        if len(text) > _LONGEST:
            raise self.malformed_position(text, "the text", f"at most {_LONGEST} characters")
        fields = text.split(" ")
        if len(fields) != 3:
            raise self.malformed_position(text, "the text", "three fields: board, seat to move, plies without capture")
        rows = fields[0].split("/")
        if len(rows) != len(self.board.lines):
            raise self.malformed_position(fields[0], "the board", "6 rows separated by slashes")
        men, heights = [EMPTY] * self.board.size, [0] * self.board.size
        for row, line in zip(rows, self.board.lines, strict=True):
            cells = row.split(",")
            if len(cells) != len(line):
                raise self.malformed_position(row, f"row {self.board.names[line[0]][1]}", "6 cells separated by commas")
            for word, cell in zip(cells, line, strict=True):
                found = _CELL.fullmatch(word)
                if not found:
                    raise self.malformed_position(
                        word,
                        self.board.names[cell],
                        "a height of at most nine digits, then F, D, S, f, d, s or nothing",
                    )
                heights[cell], men[cell] = int(found[1]), found[2] or EMPTY
        if fields[1] not in ("1", "2"):
            raise self.malformed_position(fields[1], "the seat to move", "1 or 2")
        if not _PLIES.fullmatch(fields[2]):
            raise self.malformed_position(fields[2], "the plies without capture", "a number of at most nine digits")
        turn: Seat = 1 if fields[1] == "1" else 2
        return _with_outcome(ElevationPosition(turn, "".join(men), tuple(heights), int(fields[2])))

    def text(self, position: ElevationPosition) -> str:
        """Return the position's text, without its history."""
        cells = [str(height) + man.strip(EMPTY) for height, man in zip(position.heights, position.men, strict=True)]
        board = "/".join(",".join(cells[cell] for cell in line) for line in self.board.lines)
        return f"{board} {position.turn} {position.plies}"

    def pieces(self, position: ElevationPosition) -> Sequence[Piece]:
        """Return the content of each cell; every cell has a height."""
        return [
            Piece(0, "", height=height) if man == EMPTY else Piece(1 if man in PIECES[1] else 2, man, height=height)
            for height, man in zip(position.heights, position.men, strict=True)
        ]

    def steps(self, position: ElevationPosition, move: str) -> Sequence[Step]:
        """Return the digs and moves of a legal move; a double move is two. Raises Refusal MOVE_MALFORMED."""
        at, operations = self._read(move)
        names, middles = self.board.names, layout().middles
        found = []
        for operation in operations:
            if operation.letter == "d":
                taken, put = operation.squares
                found.append(Step("dig", names[taken], names[put]))
                continue
            (reached,) = operation.squares
            stops = (middles[at, reached], reached) if (at, reached) in middles else (reached,)
            for stop in stops:
                found.append(Step("move", names[at], names[stop]))
                at = stop
        return found

    def actor(self, move: str) -> str:
        """Return the square of the acting piece, which its digs do not show. Raises Refusal MOVE_MALFORMED."""
        return self.board.names[self._read(move)[0]]

    def material(self, position: ElevationPosition) -> tuple[int, int]:
        """Return how many pieces each seat has left."""
        men = position.men
        first, second = (sum(map(men.count, PIECES[seat])) for seat in (1, 2))
        return first, second

    def counters(self, position: ElevationPosition) -> Mapping[str, int]:
        """Return the number of plies since the last capture."""
        return {"plies without capture": position.plies}

    def _read(self, move: str) -> tuple[int, list[Operation]]:
        """Parse a move: return the acting piece's square and the operations."""
        found = _MOVE.fullmatch(move)
        if not found:
            raise self.malformed_move(move)
        index = self.board.index
        return index[found[1]], [
            Operation(word[0], tuple(index[word[k : k + 2]] for k in range(1, len(word), 2)))
            for word in found.group(2, 3)
            if word
        ]


def _ground(position: ElevationPosition) -> MutableBoard:
    return MutableBoard(position.heights, position.men, position.turn)


def _with_outcome(position: ElevationPosition) -> ElevationPosition:
    """Return a position with its outcome. The seat to move is the opponent of the player who moved last."""
    own = PIECES[position.turn]
    winner = 3 - position.turn
    if not any(letter in position.men for letter in own):
        return position._replace(outcome=Outcome(winner, "all_captured"))
    if not any(_ground(position).turns()):
        return position._replace(outcome=Outcome(winner, "no_moves"))
    if position.past.count(position.look) >= RECURRENCE - 1:
        return position._replace(outcome=Outcome(0, "repetition"))
    if position.plies >= PATIENCE:
        return position._replace(outcome=Outcome(0, "no_progress"))
    return position
