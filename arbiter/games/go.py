"""Go by the rules of Tromp and Taylor: area scoring, no position of the board twice, and two passes end the game.

With `scoring=agreed` the players first try to agree on the dead stones, as rules 9 and 10 of the American Go
Association (1991) have it: if they do not agree, the opponent of the last to pass plays on, and what stands on the
board after two more passes is alive. There the players may agree again after moves; here they try once.

| what is agreed | the passes just before | `agreement` |
| --- | --- | --- |
| nothing yet | 0 or 1 | 0 |
| the seat to move marks stones, agrees, or disputes | 2; 3 if the other has agreed to these marks | who plays on |
| the dead stones: the game is over | 4 | who would have played on |
| that there is no agreement: play goes on | 0 or 1; 2 at the end | 3 |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from arbiter.boards.squares import squares
from arbiter.errors import Refusal
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
from arbiter.games.go_board import GoBoard
from arbiter.games.rows import Rows, other, read_fields, read_number, read_seat

REASONS = (
    EndReason("area", "Both players have passed, and the one with more area, with komi, wins.", Basis.TEXT),
    EndReason("equal_area", "Both players have passed, and their areas, with komi, are equal: a draw.", Basis.TEXT),
    EndReason("length", "Four plies for each intersection have been played; the larger area wins.", Basis.OURS),
    EndReason("equal_length", "Four plies for each intersection, and equal areas: a draw.", Basis.OURS),
)
RULINGS = (
    Ruling("dead stones", "All stones on the board count as alive: capture those that are not before you pass. With "
           "`scoring=agreed` the players may agree after two passes which are dead.", Basis.TEXT),
    Ruling("no agreement", "Whoever did not pass last moves, and after two more passes all stones count as alive: the "
           "players do not try to agree again.", Basis.SOURCE),
    Ruling("superko", "A move may not bring back any earlier position of the board, whoever is to move. Passing may. "
           "A position that was set has no earlier ones.", Basis.TEXT),
    Ruling("suicide", "Own stones without a liberty are taken off too, after the opponent's. A single stone that does "
           "this brings back the position, which is forbidden.", Basis.TEXT),
)  # fmt: skip

PASS: Final = "pass"
AGREE: Final = "agree"
DISPUTE: Final = "dispute"
MARKS: Final = {"dead": "mark", "alive": "unmark"}  #: the actions of `dead-d4` and `alive-d4`
PLAYED_ON: Final = 3  #: in place of the seat that moves if there is no agreement: there was none
AGREED: Final = 4  #: passes in a row, of which the last two were agreements
LETTERS: Final = "abcdefghjklmnopqrst"  #: of the columns: there is no `i`
NOTHING: Final = Piece(0, "")
STONES: Final = (Piece(1, "S"), Piece(2, "s"))


class GoPosition(NamedTuple):
    """A position.

    stones: the masks of seat 1 and seat 2. passes: how many turns in a row were passed. plies: stones and passes played
    so far. stood: the keys of all positions of the board so far. outcome: the end of the game, or None. agreement, dead
    and marks: see the table above, the stones that are marked as dead, and how many marks were set or taken back.
    """

    stones: tuple[int, int]
    turn: Seat
    passes: int
    plies: int
    stood: frozenset[int]
    outcome: Outcome | None
    agreement: int = 0
    dead: int = 0
    marks: int = 0


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
            choice_parameter("scoring", ("area", "agreed"), "whether the players may agree on dead stones"),
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
        self._agrees = self.values["scoring"] == "agreed"
        self._longest = 4 * size * size  # stones and passes
        # Between two agreements that do not end the game there is a mark.
        self.bound = self._longest + (2 * size * size + 3 if self._agrees else 0)
        self._rows = Rows(self.board, "SsXx." if self._agrees else "Ss.")
        self._stones = GoBoard(size)
        self._bits = self._stones.bits
        self._names = dict(zip(self._bits, self.board.names, strict=True))

    def initial(self) -> GoPosition:
        """Return the empty board."""
        return GoPosition((0, 0), 1, 0, 0, frozenset((0,)), None)

    def moves(self, position: GoPosition) -> Sequence[str]:
        """Return the intersections to play on, in the order of the board's cells, and the pass."""
        if position.outcome is not None:
            return []
        if position.passes >= 2:
            return [*self._marks(position), AGREE, DISPUTE]
        found: list[str] = []
        own, others = position.stones if position.turn == 1 else position.stones[::-1]
        empty = self._stones.full & ~(own | others)
        quiet = self._stones.quiet(own, others, empty)
        for bit, name in self._names.items():
            if not empty & bit:
                continue
            mine, theirs = (own | bit, others) if quiet & bit else self._stones.placed(own, others, bit)
            key = self._stones.key(mine, theirs) if position.turn == 1 else self._stones.key(theirs, mine)
            if key not in position.stood:
                found.append(name)
        return [*found, PASS]

    def _marks(self, position: GoPosition) -> Iterator[str]:
        """Yield the marks that may be set or taken back, in the order of the chains' first cells."""
        if position.marks == self.board.size:
            return
        chains = [chain for stones in position.stones for chain in self._stones.groups(stones)]
        for bit in sorted([chain & -chain for chain in chains]):
            yield f"{'alive' if position.dead & bit else 'dead'}-{self._names[bit]}"

    def play(self, position: GoPosition, move: str) -> GoPosition:
        """Place a stone and take off what has no liberty, or pass; after two passes mark dead stones, or answer."""
        if position.passes >= 2 and position.outcome is None:
            return self._answered(position, move)
        if move == PASS:
            if position.outcome is not None:
                raise self.illegal_move(position, move, "the game is over")
            plies, passes = position.plies + 1, position.passes + 1
            return self._settled(
                position.stones, other(position.turn), passes, plies, position.stood, position.agreement
            )
        cell = self.board.index.get(move)
        if cell is None:
            raise self._no_stone(position, move)
        first, second = position.stones
        bit = self._bits[cell]
        if position.outcome is not None:
            raise self.illegal_move(position, move, "the game is over")
        if (first | second) & bit:
            raise self.illegal_move(position, move, f"{move} is taken")
        if position.turn == 1:
            first, second = self._stones.placed(first, second, bit)
        else:
            second, first = self._stones.placed(second, first, bit)
        key = self._stones.key(first, second)
        if key in position.stood:
            raise self.illegal_move(position, move, "it would bring back an earlier position of the board")
        plies, stood = position.plies + 1, position.stood | {key}
        return self._settled((first, second), other(position.turn), 0, plies, stood, position.agreement)

    def _no_stone(self, position: GoPosition, move: str) -> Refusal:
        """Return the refusal for a text that is neither a stone nor a pass, while no agreement is tried."""
        if not self._is_answer(move):
            return self.malformed_move(move)
        return self.illegal_move(position, move, "the game is over" if position.outcome else "two passes come first")

    def _is_answer(self, move: str) -> bool:
        """Return whether a text is a move of an agreement."""
        word, _, name = move.partition("-")
        return self._agrees and (move in (AGREE, DISPUTE) or (word in MARKS and name in self.board.index))

    def _answered(self, position: GoPosition, move: str) -> GoPosition:
        """Mark a chain as dead or take its mark back; agree, which ends the game if both have; or play on."""
        if not self._is_answer(move):
            if move != PASS and move not in self.board.index:
                raise self.malformed_move(move)
            raise self.illegal_move(position, move, "both have passed: mark dead stones, agree or dispute")
        stones, agreement = position.stones, position.agreement
        if move == AGREE and position.passes < AGREED - 1:
            return position._replace(turn=other(position.turn), passes=position.passes + 1)
        if move == AGREE:
            stones = stones[0] & ~position.dead, stones[1] & ~position.dead
            return self._settled(
                stones, other(position.turn), AGREED, position.plies, position.stood, agreement, position.marks
            )
        if move == DISPUTE:
            turn: Seat = 1 if agreement == 1 else 2
            return self._settled(stones, turn, 0, position.plies, position.stood, PLAYED_ON)
        chain = self._named(position, move)
        dead, marks = position.dead ^ chain, position.marks + 1
        return position._replace(passes=2, dead=dead, marks=marks)

    def _named(self, position: GoPosition, move: str) -> int:
        """Return the chain of a mark. Raises Refusal MOVE_ILLEGAL if it can't be set or taken back."""
        word, _, name = move.partition("-")
        bit = self._bits[self.board.index[name]]
        if position.marks == self.board.size:
            raise self.illegal_move(position, move, f"{position.marks} marks are enough: agree or dispute")
        stones = next((each for each in position.stones if each & bit), 0)
        if not stones:
            raise self.illegal_move(position, move, f"{name} is empty")
        chain = self._stones.group(bit, stones)
        if chain & -chain != bit:
            raise self.illegal_move(position, move, f"this chain has the name {self._names[chain & -chain]}")
        if bool(position.dead & bit) == (word == "dead"):
            raise self.illegal_move(position, move, f"{name} counts as {word} already")
        return chain

    def _settled(
        self,
        stones: tuple[int, int],
        turn: Seat,
        passes: int,
        plies: int,
        stood: frozenset[int],
        agreement: int = 0,
        marks: int = 0,
    ) -> GoPosition:
        outcome: Outcome | None = None
        if passes >= 2 and (passes == AGREED or not self._agrees or agreement == PLAYED_ON):
            outcome = self._judged(stones, "area", "equal_area")
        elif passes >= 2:
            agreement = turn
        elif plies >= self._longest:
            outcome = self._judged(stones, "length", "equal_length")
        return GoPosition(stones, turn, passes, plies, stood, outcome, agreement, 0, marks)

    def _judged(self, stones: tuple[int, int], won: str, drawn: str) -> Outcome:
        first, second = (area.bit_count() for area in self._stones.areas(*stones))
        lead = first - second - self._komi
        return Outcome(1 if lead > 0 else 2, won) if lead else Outcome(0, drawn)

    def canonical(self, move: str) -> str:
        """Return a move in lower case."""
        text = move.lower() if len(move) <= len("alive-t19") and move.isascii() else move
        return text if text == PASS or text in self.board.index or self._is_answer(text) else move

    def notation(self, position: GoPosition, move: str) -> str:
        """Return a move as people write it: `D4`, `pass`, `dead-D4`."""
        self.play(position, move)
        word, dash, name = move.rpartition("-")
        return word + dash + name.upper() if name in self.board.index else move

    def task(self, position: GoPosition) -> str:
        """Return what the seat to move has to do, in words."""
        return "mark dead stones, agree or dispute" if position.passes >= 2 else super().task(position)

    def text(self, position: GoPosition) -> str:
        """Return the text: the board, the seat to move, the passes just before, and the plies played.

        With `scoring=agreed` the marked stones have letters of their own, and agreement and marks follow.
        """
        (first, second), dead = position.stones, position.dead
        cells = bytes(
            [
                (88 if dead & bit else 83) if first & bit else (120 if dead & bit else 115) if second & bit else 46
                for bit in self._bits
            ]
        )
        text = f"{self._rows.write(cells)} {position.turn} {position.passes} {position.plies}"
        return f"{text} {position.agreement} {position.marks}" if self._agrees else text

    def parse(self, text: str) -> GoPosition:
        """Parse a position; every stone must have a liberty."""
        refuse = self.malformed_position
        tries = self._agrees and text.count(" ") != 3  # a position without agreement may leave out its fields
        names = "board, seat to move, passes, plies" + (", agreement, marks" if tries else "")
        longest = self.board.size + len(self.board.lines) + 30
        rows, seat, passed, played, *tried = read_fields(text, longest, names, refuse)
        cells, turn = self._rows.read(rows, refuse), read_seat(seat, refuse)
        first, second, dead = (self._mask(cells, signs) for signs in (b"SX", b"sx", b"Xx"))
        for chain in (*self._stones.groups(first), *self._stones.groups(second)):
            name = self._names[chain & -chain]
            if not self._stones.around(chain) & ~(first | second):
                raise refuse(name, "the board", "no stones without a liberty")
            if chain & dead not in (0, chain):
                raise refuse(name, "the board", "chains of which all stones are marked, or none")
        passes = read_number(passed, "the passes just before", AGREED if self._agrees else 2, refuse)
        plies = read_number(played, "the plies played", self._longest, refuse)
        stood = frozenset((self._stones.key(first, second),))
        if not self._agrees:
            return self._settled((first, second), turn, passes, plies, stood)
        agreement = read_number(tried[0], "the agreement", PLAYED_ON, refuse) if tries else 0
        marks = read_number(tried[1], "the marks", self.board.size, refuse) if tries else 0
        if passes not in ((0, 1), (2, 3, AGREED), (2, 3, AGREED), (0, 1, 2))[agreement]:
            raise refuse(passed, "the passes just before", f"such a number with agreement {agreement}")
        if (agreement in (0, PLAYED_ON) and (marks or dead)) or (passes == AGREED and dead):
            raise refuse(f"{marks} marks", "the marks", "no marks but while players agree")
        if agreement in (1, 2) and passes < AGREED:
            return GoPosition((first, second), turn, passes, plies, stood, None, agreement, dead, marks)
        return self._settled((first, second), turn, passes, plies, stood, agreement, marks)

    def _mask(self, cells: bytes, signs: bytes) -> int:
        return sum(bit for bit, sign in zip(self._bits, cells, strict=True) if sign in signs)

    def pieces(self, position: GoPosition) -> Sequence[Piece]:
        """Return the stones, by cell."""
        first, second = position.stones
        return [STONES[0] if first & bit else STONES[1] if second & bit else NOTHING for bit in self._bits]

    def steps(self, position: GoPosition, move: str) -> Sequence[Step]:
        """Return the single step of a move, or one for each stone of a chain that is marked."""
        if move in self.board.index:
            return [Step("place", "", move, "Ss"[position.turn - 1])]
        if move == PASS or (move in (AGREE, DISPUTE) and self._agrees):
            return [Step(move, "", "")]
        if not self._is_answer(move):
            raise self.malformed_move(move)
        word, _, name = move.partition("-")
        bit = self._bits[self.board.index[name]]
        chain = self._stones.group(bit, next((each for each in position.stones if each & bit), bit))
        return [Step(MARKS[word], "", each) for mine, each in self._names.items() if mine & chain]

    def counters(self, position: GoPosition) -> Mapping[str, int]:
        """Return the area of each seat, without komi and without the stones that are marked as dead."""
        first, second = self._areas(position)
        return {"Black area": first.bit_count(), "White area": second.bit_count()}

    def _areas(self, position: GoPosition) -> tuple[int, int]:
        first, second = position.stones
        return self._stones.areas(first & ~position.dead, second & ~position.dead)

    def regions(self, position: GoPosition) -> Sequence[Region]:
        """Return the areas at the end of a game and while players agree, and the stones that are marked as dead."""
        if position.outcome is None and position.passes < 2:
            return ()
        found = [self._region("territory", owner, area) for owner, area in enumerate(self._areas(position), 1) if area]
        for owner, stones in enumerate(position.stones, 1):
            if stones & position.dead:
                dead = self._region("threat", owner, stones & position.dead)
                found.append(dead._replace(sign="×", name="marked as dead"))
        return found

    def _region(self, kind: Literal["territory", "threat"], owner: int, mask: int) -> Region:
        return Region(kind, owner, tuple(cell for cell, bit in enumerate(self._bits) if mask & bit))
