"""Hop It!, by Cameron Browne (2009): frogs hop, tadpoles mature when hopped over, and enemy frogs leave the pond.

Sets of cells are bit masks of the pond (`hop_it_pond`). A path of hops is a walk on a graph that the walk itself does
not change (see `hunters`), so the duty to hop over enemies is tested without listing paths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

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
    choice_parameter,
)
from arbiter.games.hop_it_pond import CELL, Paths, can_swim, hoppers, hunters, pond, prey_in_reach

PASS = "pass"

REASONS = (
    EndReason(
        "extinction",
        "During a move, as soon as the opponent has one piece left the mover wins, and the move goes no further. After "
        "the lily rule, if the mover has one piece left or none, the opponent wins.",
        Basis.TEXT,
    ),
    EndReason("blocked", "Neither player has a move other than `pass`: a draw.", Basis.OURS),
    EndReason("repetition", "The same board with the same player to move for the third time: a draw.", Basis.OURS),
    EndReason("no_progress", "100 plies without a piece maturing or leaving the board: a draw.", Basis.OURS),
)
"""The end reasons, in the order in which they are asked."""

RULINGS = (
    Ruling(
        "board",
        "Seven rows of 6 and 7 cells, in turns; the first and last cell of every row is a lily. By inference: nine "
        "pieces a side fill two rows of 4 and 5.",
        Basis.OURS,
    ),
    Ruling(
        "start",
        "White has frogs on a2–a5 and tadpoles on b2–b6, Black frogs on g2–g5 and tadpoles on f2–f6. The text implies "
        "that some pieces start as frogs, since only frogs hop and only hopping makes frogs.",
        Basis.OURS,
    ),
    Ruling(
        "scope of the duty",
        "If any move that the player could make hops over at least one enemy piece, only such moves are legal.",
        Basis.OURS,
    ),
    Ruling(
        "no legal move",
        "A player with no legal move passes; the lily rule applies to that turn.",
        Basis.OURS,
    ),
    Ruling("repetition", "The third time of a board with the same player to move is a draw.", Basis.OURS),
    Ruling("no progress", "100 plies without a piece maturing or leaving are a draw.", Basis.OURS),
)

STARTS = {
    "frogs-behind": "_ffff_/_ttttt_/_...._/_....._/_...._/_TTTTT_/_FFFF_ 1 0",
    "frogs-ahead": "_tttt_/_fffff_/_...._/_....._/_...._/_FFFFF_/_TTTT_ 1 0",
    "frogs": "_ffff_/_fffff_/_...._/_....._/_...._/_FFFFF_/_FFFF_ 1 0",
}
"""The texts of the initial positions, by the parameter `start`."""

SIGNS = {"T": (1, False), "t": (2, False), "F": (1, True), "f": (2, True)}
"""The pieces as they stand in a text: their seat, and whether they are frogs."""

QUIET = 100  #: plies without progress after which the game is a draw
OCCURRENCES = 3  #: occurrences of a board with the same player to move that make a draw
LONGEST_TEXT = 63  #: characters in a position's text: 51 for the board, 1 for the seat, 9 for the count, 2 spaces
LONGEST_MOVE = 134  #: characters in a move's text: a cell, and three for a hop over each of the 44 other cells

_HOPS = re.compile(rf"{CELL}(?:x{CELL})+", re.ASCII)
_SWIM = re.compile(rf"{CELL}-{CELL}", re.ASCII)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


class HopPosition(NamedTuple):
    """A position.

    pieces: masks of the pieces of seat 1 and seat 2.
    frogs: mask of the frogs of both; the other pieces are tadpoles.
    turn: the seat to move.
    quiet: plies since a piece last matured or left the board.
    history: keys of the positions since then, this one included; earlier positions cannot occur again.
    bound: mask of the frogs of the seat to move that can hop over an enemy, if the variant makes that a duty.
    outcome: the end of the game, or None.
    """

    pieces: tuple[int, int]
    frogs: int
    turn: Seat
    quiet: int
    history: tuple[int, ...]
    bound: int
    outcome: Outcome | None


class HopIt(Game[HopPosition]):
    """The rules of Hop It!."""

    facts = Facts(
        id="hop-it",
        name="Hop It!",
        designer="Cameron Browne, 2009",
        summary="Hop over tadpoles to make frogs of them, and over enemy frogs to remove them from the pond.",
        seats=("White", "Black"),
        parameters=(
            choice_parameter(
                "duty",
                ("player", "frog", "none"),
                "whom the duty to hop over enemies binds: the player, each frog that could do so, or nobody",
            ),
            choice_parameter("start", tuple(STARTS), "which pieces start as frogs: back rows, front rows or all"),
        ),
        reasons=REASONS,
        rulings=RULINGS,
        letters={"T": "tadpole", "F": "frog"},
        material="pieces left",
    )

    def __init__(self, **values: Value) -> None:
        super().__init__(**values)
        self._pond = pond()
        self.board = self._pond.board
        self._duty = self.values["duty"]
        self._start = self.parse(STARTS[str(self.values["start"])])
        # At most QUIET plies pass from a ply that matures or removes a piece to the next such ply or the game's end.
        # A tadpole matures once, and each seat can lose all its pieces but two before the game is over.
        pieces = [mask.bit_count() for mask in self._start.pieces]
        tadpoles = sum(pieces) - self._start.frogs.bit_count()
        self.bound = QUIET * (tadpoles + sum(count - 2 for count in pieces) + 1)

    def initial(self) -> HopPosition:
        """Return the start position of the variant."""
        return self._start

    # Legal moves

    def moves(self, position: HopPosition) -> Sequence[str]:
        """Return the moves, piece by piece in the order of the cells: swims first, then paths of hops, depth first.

        A set position can have up to about four million paths; all of them are listed.
        """
        if position.outcome is not None:
            return []
        own, foes = position.pieces[position.turn - 1], position.pieces[2 - position.turn]
        everyone = own | foes
        free = self._pond.cells & ~everyone
        open_water = free & self._pond.water
        hopping = hoppers(own & position.frogs, everyone, free)
        bound = position.bound
        starts = self._pond.starts
        found: list[str] = []
        # A duty allows only the frogs that can fulfil it to move.
        rest = bound if bound and self._duty == "player" else own
        while rest:
            piece = rest & -rest
            rest ^= piece
            start = starts[piece]
            if not piece & bound:
                found += start.swims[start.near & open_water]
            if piece & hopping:
                paths = Paths(found, starts, free | piece, foes, foes & position.frogs)
                paths.extend(piece, start.name, everyone, foes.bit_count() - 1, bool(piece & bound))
        return found or [PASS]

    def _can_move(self, pieces: int, frogs: int, everyone: int) -> bool:
        """Return whether the pieces of a seat have a move other than `pass`."""
        free = self._pond.cells & ~everyone
        return can_swim(pieces, free & self._pond.water) or bool(hoppers(pieces & frogs, everyone, free))

    # Playing

    def play(self, position: HopPosition, move: str) -> HopPosition:
        """Play a swim, a path of hops or `pass`."""
        source, target, hopped = self._read(position, move)
        turn = position.turn
        own, foes = position.pieces[turn - 1], position.pieces[2 - turn]
        if position.bound and not hopped & foes and (self._duty == "player" or source & position.bound):
            raise self.illegal_move(position, move, "a move that hops over an enemy piece has to be made")
        frogs = position.frogs
        gone = hopped & foes & frogs
        matured = hopped & ~frogs
        wilted = own & self._pond.lilies & ~source
        if source & frogs:
            frogs = frogs & ~source | target
        frogs = (frogs | matured) & ~gone
        own = own & ~source | target
        if gone:
            foes &= ~gone
            if foes.bit_count() <= 1:  # the lily rule is not applied
                return self._after(turn, own, foes, frogs, 0, ())
        if wilted:
            own, frogs = own & ~wilted, frogs & ~wilted
        if gone or matured or wilted:
            return self._after(turn, own, foes, frogs, 0, ())
        return self._after(turn, own, foes, frogs, position.quiet + 1, position.history)

    def _after(self, mover: Seat, own: int, foes: int, frogs: int, quiet: int, history: tuple[int, ...]) -> HopPosition:
        """Return the position after the turn of `mover`, whose pieces are `own`, with its outcome."""
        turn: Seat = 2 if mover == 1 else 1
        pieces = (own, foes) if mover == 1 else (foes, own)
        key = _key(pieces, frogs, turn)
        history = (*history, key)
        outcome: Outcome | None = None
        if foes.bit_count() <= 1:
            outcome = Outcome(mover, "extinction")
        elif own.bit_count() <= 1:
            outcome = Outcome(turn, "extinction")
        elif not self._can_move(foes, frogs, own | foes) and not self._can_move(own, frogs, own | foes):
            outcome = Outcome(0, "blocked")
        elif quiet and history.count(key) >= OCCURRENCES:
            outcome = Outcome(0, "repetition")
        elif quiet >= QUIET:
            outcome = Outcome(0, "no_progress")
        bound = 0 if outcome else self._bound(foes & frogs, own, own | foes)
        return HopPosition(pieces, frogs, turn, quiet, history, bound, outcome)

    def _bound(self, frogs: int, foes: int, everyone: int) -> int:
        """Return the mask of the frogs that must hop over an enemy, by the variant's duty."""
        free = self._pond.cells & ~everyone
        hopping = hoppers(frogs, everyone, free)
        return hunters(hopping, foes, everyone, free) if hopping and self._duty != "none" else 0

    def _read(self, position: HopPosition, move: str) -> tuple[int, int, int]:
        """Parse a move: return the masks of the cells left, reached and hopped over; all 0 for a pass.

        Raises MOVE_MALFORMED, and MOVE_ILLEGAL for every reason except the duty.
        """
        swim = self._pond.swims.get(move)
        if swim is None and not self._well_formed(move):
            raise self.malformed_move(move)
        if position.outcome is not None:
            raise self.illegal_move(position, move, "the game is over")
        own, foes = position.pieces[position.turn - 1], position.pieces[2 - position.turn]
        if move == PASS:
            if self._can_move(own, position.frogs, own | foes):
                raise self.illegal_move(position, move, "only a player with no other move passes")
            return 0, 0, 0
        if swim is None:
            return self._walk(position, move)
        source, target = swim
        if not source & own:
            raise self.illegal_move(position, move, f"no piece of the seat to move stands on {move[:2]}")
        if target & (own | foes):
            raise self.illegal_move(position, move, f"{move[3:]} is not empty")
        return source, target, 0

    def _walk(self, position: HopPosition, move: str) -> tuple[int, int, int]:
        """Return the same as `_read`, for a path of hops or a swim that is not in the tables."""
        if move[2] == "-":
            raise self.illegal_move(position, move, f"{move[3:]} is no water cell next to {move[:2]}")
        own, foes = position.pieces[position.turn - 1], position.pieces[2 - position.turn]
        start = self._pond.bits[self.board.index[move[:2]]]
        if not start & own & position.frogs:
            raise self.illegal_move(position, move, f"no frog of the seat to move stands on {move[:2]}")
        left = everyone = own | foes
        free = self._pond.cells & ~everyone | start
        spare, target = foes.bit_count() - 1, start
        for at in range(0, len(move) - 2, 3):
            here, there = move[at : at + 2], move[at + 3 : at + 5]
            hop = self._pond.hops.get(move[at : at + 5])
            if hop is None:
                raise self.illegal_move(position, move, f"{there} is not two cells from {here} in a straight line")
            if not spare:
                raise self.illegal_move(position, move, f"the game is over at {here}, and the move goes no further")
            _, over, target = hop
            if not over & left:
                why = "was hopped over before" if over & everyone else "is empty"
                raise self.illegal_move(position, move, f"the cell between {here} and {there} {why}")
            if not target & free:
                raise self.illegal_move(position, move, f"{there} is not empty")
            left ^= over
            if over & foes & position.frogs:
                spare -= 1
        return start, target, everyone ^ left

    def _well_formed(self, move: str) -> bool:
        return move == PASS or bool(len(move) <= LONGEST_MOVE and (_HOPS.fullmatch(move) or _SWIM.fullmatch(move)))

    # Notation

    def text(self, position: HopPosition) -> str:
        """Return the text: the board, the seat to move, the plies since a piece last matured or left."""
        signs = self._signs(position)
        rows = "/".join(["".join([signs[cell] for cell in line]) for line in self.board.lines])
        return f"{rows} {position.turn} {position.quiet}"

    def _signs(self, position: HopPosition) -> list[str]:
        """Return the character of every cell, in the order of the board's names."""
        (first, second), frogs, lilies = position.pieces, position.frogs, self._pond.lilies
        signs = []
        for bit in self._pond.bits:
            if first & bit:
                signs.append("F" if frogs & bit else "T")
            elif second & bit:
                signs.append("f" if frogs & bit else "t")
            else:
                signs.append("_" if lilies & bit else ".")
        return signs

    def parse(self, text: str) -> HopPosition:
        """Parse a position. Malformed: a tadpole on a lily, and `.` for a lily or `_` for water."""
        if len(text) > LONGEST_TEXT:
            raise self.malformed_position(f"{len(text)} characters", "the text", f"at most {LONGEST_TEXT}")
        fields = text.split(" ")
        if len(fields) != 3:
            raise self.malformed_position(text, "the fields", "board, seat to move and count, one space between")
        rows, seat, count = fields
        first, second, frogs = self._parse_board(rows)
        if seat not in ("1", "2"):
            raise self.malformed_position(seat, "the seat to move", "1 or 2")
        if not _NUMBER.fullmatch(count):
            allowed = "a number of at most nine digits, no leading zeros"
            raise self.malformed_position(count, "the plies without progress", allowed)
        # The outcome follows from the text, with the other seat as the one that moved last.
        if seat == "1":
            return self._after(2, second, first, frogs, int(count), ())
        return self._after(1, first, second, frogs, int(count), ())

    def _parse_board(self, field: str) -> tuple[int, int, int]:
        """Return the masks of the pieces of seat 1, of the pieces of seat 2, and of the frogs."""
        rows = field.split("/")
        if len(rows) != len(self.board.lines):
            raise self.malformed_position(field, "the board", f"{len(self.board.lines)} rows with / between them")
        masks, frogs = [0, 0], 0
        for row, line in zip(rows, self.board.lines, strict=True):
            name = f"row {self.board.names[line[0]][0]}"
            if len(row) != len(line):
                raise self.malformed_position(row, name, f"{len(line)} cells")
            for sign, cell in zip(row, line, strict=True):
                bit = self._pond.bits[cell]
                allowed = "_Ff" if bit & self._pond.lilies else ".TtFf"
                if sign not in allowed:
                    where = f"cell {self.board.names[cell]}"
                    raise self.malformed_position(sign, where, f"one of {' '.join(allowed)}")
                if sign in SIGNS:
                    seat, frog = SIGNS[sign]
                    masks[seat - 1] |= bit
                    frogs |= bit if frog else 0
        return masks[0], masks[1], frogs

    # For drawing

    def pieces(self, position: HopPosition) -> Sequence[Piece]:
        """Return frogs, tadpoles and lilies, by cell."""
        found = []
        for sign, bit in zip(self._signs(position), self._pond.bits, strict=True):
            mark = "lily" if bit & self._pond.lilies else ""
            found.append(Piece(SIGNS[sign][0], sign, mark=mark) if sign in SIGNS else Piece(0, "", mark=mark))
        return found

    def steps(self, position: HopPosition, move: str) -> Sequence[Step]:
        """Return the swim, the hops one by one, or the pass. `piece` is the letter of the piece that moves."""
        if not self._well_formed(move):
            raise self.malformed_move(move)
        if move == PASS:
            return [Step("pass", "", "")]
        sign = self._signs(position)[self.board.index[move[:2]]]
        letter = sign if sign in SIGNS else ""
        action = "move" if move[2] == "-" else "hop"
        return [Step(action, move[at : at + 2], move[at + 3 : at + 5], letter) for at in range(0, len(move) - 2, 3)]

    def material(self, position: HopPosition) -> tuple[int, int]:
        """Return how many pieces each seat has left."""
        first, second = position.pieces
        return first.bit_count(), second.bit_count()

    def counters(self, position: HopPosition) -> Mapping[str, int]:
        """Return the number of plies without progress."""
        return {"plies without progress": position.quiet}

    def regions(self, position: HopPosition) -> Sequence[Region]:
        """Return the frogs that the next move may cost: enemy frogs in reach, and own ones that stand on a lily."""
        if position.outcome is not None:
            return ()
        seat = position.turn
        own, foes = position.pieces[seat - 1], position.pieces[2 - seat]
        everyone, prey = own | foes, foes & position.frogs
        # One enemy piece that is left ends the game. A duty to hop over enemies holds for no move that does so.
        reached = prey_in_reach(
            own & position.frogs, prey, everyone & ~prey, self._pond.cells & ~everyone, foes.bit_count() - 1
        )
        other: Seat = 2 if seat == 1 else 1
        found = (
            Region("threat", other, self._cells(reached), "!", "a frog that can be hopped over now"),
            Region(
                "threat", seat, self._cells(own & self._pond.lilies), "?", "a frog on a lily: it moves now or leaves"
            ),
        )
        return [region for region in found if region.cells]

    def _cells(self, mask: int) -> tuple[int, ...]:
        return tuple([cell for cell, bit in enumerate(self._pond.bits) if bit & mask])


def _key(pieces: tuple[int, int], frogs: int, turn: Seat) -> int:
    """Return a number that is unique for a board and the seat to move."""
    return ((pieces[0] << 64 | pieces[1]) << 64 | frogs) << 2 | turn
