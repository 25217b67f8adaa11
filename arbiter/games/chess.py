"""Chess, by the FIDE Laws of Chess of 2023: rules, notation, and positions as FEN.

Moves are written as in the Universal Chess Interface (`e2e4`, `e7e8q`, castling as the king's move `e1g1`). Inside, and
in Fischer random (`chess_960`), castling is the king's move onto its rook (`e1h1`). A position
holds the keys of the positions since the last capture or pawn move, which is all that repetition can use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from arbiter.errors import Refusal
from arbiter.games.chess_board import (
    A1,
    BOARD,
    C1,
    E1,
    G1,
    H1,
    KEPT,
    KEPT_OF_KING,
    KINGS,
    NOWHERE,
    PROMOTIONS,
    SEAT,
    START,
    START_RIGHTS,
    can_be_taken,
    castled,
    has_move,
    in_check,
    is_dead,
    is_safe,
    moved,
    targets,
)
from arbiter.games.chess_fen import Fields, read_any_rooks, read_fen, read_rights, written
from arbiter.games.chess_san import read_san, told_apart
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
)

REASONS = (
    EndReason("checkmate", "The player to move is in check and has no legal move, and loses.", Basis.TEXT),
    EndReason("stalemate", "The player to move is not in check and has no legal move: a draw.", Basis.TEXT),
    EndReason("dead_position", "Neither side has the material for any mate: a draw.", Basis.TEXT),
    EndReason("fivefold_repetition", "The same position has occurred five times: a draw.", Basis.TEXT),
    EndReason("seventy_five_moves", "75 moves of each side without capture or pawn move: a draw.", Basis.TEXT),
    EndReason(
        "threefold_repetition", "The player to move claims a position that has occurred three times.", Basis.TEXT
    ),
    EndReason(
        "fifty_moves", "The player to move claims 50 moves of each side without capture or pawn move.", Basis.TEXT
    ),
)
"""The end reasons, in the order in which they are asked; the last two by claim."""

RULINGS = (
    Ruling(
        "claims",
        "A draw can be claimed by the player to move, for the position that stands on the board, and not with a move "
        "that is yet to be played.",
        Basis.OURS,
    ),
    Ruling(
        "dead positions",
        "Only the material is looked at: kings alone, one bishop or knight, bishops on one colour.",
        Basis.OURS,
    ),
    Ruling("same position", "An en passant cell counts only if a pawn may legally capture on it.", Basis.TEXT),
)

FIVE_TIMES, THREE_TIMES = 5, 3
CLAIMED, ENDED = 100, 150  #: plies without capture or pawn move
VALUES = {"P": 1, "N": 3, "B": 3, "R": 5, "Q": 9}
# At most 96 pawn moves and 30 captures, and after each, and before the first, at most 149 other plies.
MOST_PLIES = (96 + 30 + 1) * ENDED

_MOVE = re.compile(r"([a-h][1-8])([a-h][1-8])([qrbn]?)", re.ASCII)
_ALIAS = re.compile(r"([a-h][1-8])[-x]?([a-h][1-8])(?:=?([qrbnQRBN]))?", re.ASCII)


class ChessPosition(NamedTuple):
    """A position of chess.

    board, rights: see `chess_board`. turn: the seat to move, 1 for White. passed: the cell on
    which a pawn may be captured en passant, or NOWHERE. quiet: plies since the last capture or pawn move. number: of
    the move, as FEN counts. stood: the keys of the positions since that capture or pawn move, with this one.
    """

    board: bytes
    turn: Seat
    rights: int
    passed: int
    quiet: int
    number: int
    stood: tuple[bytes, ...]
    outcome: Outcome | None = None


class Chess(Game[ChessPosition]):
    """The rules of chess."""

    facts = Facts(
        id="chess",
        name="Chess",
        designer="",
        summary="Check the king so that it cannot escape.",
        seats=("White", "Black"),
        parameters=(),
        reasons=REASONS,
        rulings=RULINGS,
        draw_offers=True,
        letters={"P": "pawn", "N": "knight", "B": "bishop", "R": "rook", "Q": "queen", "K": "king"},
        look=Look.CHEQUERED,
        material="pieces by value: pawn 1, knight and bishop 3, rook 5, queen 9",
        aliases=(("e2-e4", "e2e4"), ("d4xe5", "d4e5"), ("e7e8=Q", "e7e8q"), ("e7e8N", "e7e8n")),
        position_text="Forsyth–Edwards Notation (FEN): the ranks from the top down with the empty squares counted, "
        "the colour to move, castling rights, the square behind a pawn that may be captured en passant, the plies "
        "since the last capture or pawn move, and the number of the move. White's pieces are in upper case.",
    )
    bound = MOST_PLIES
    onto_rook: ClassVar[bool] = (
        False  #: whether a move of castling names the rook's cell, not that to which the king goes
    )

    def __init__(self, **values: Value) -> None:
        super().__init__(**values)
        self.board = BOARD
        self._index = BOARD.index
        names = BOARD.names
        self._texts = [source + target for source in names for target in names]

    def initial(self) -> ChessPosition:
        """Return the position that a game starts from."""
        return self._settled(START, 1, START_RIGHTS, NOWHERE, 0, 1, ())

    def parse(self, text: str) -> ChessPosition:
        """Parse a FEN. A cell for en passant on which nobody may legally capture is left out of the position."""
        fields = read_fen(text, self.malformed_position, read_any_rooks if self.onto_rook else read_rights)
        passed = fields.passed
        if passed != NOWHERE and not can_be_taken(fields.board, passed, fields.turn):
            passed = NOWHERE
        return self._settled(fields.board, fields.turn, fields.rights, passed, fields.quiet, fields.number, ())

    def text(self, position: ChessPosition) -> str:
        """Return the FEN of a position."""
        board, turn, rights, passed, quiet, number, _, _ = position
        return written(Fields(board, turn, rights, passed, quiet, number))

    def _settled(
        self,
        board: bytes,
        turn: int,
        rights: int,
        passed: int,
        quiet: int,
        number: int,
        stood: tuple[bytes, ...],
    ) -> ChessPosition:
        """Return a position with its outcome. `stood` has the keys of those before it."""
        key = board + bytes((turn, rights & 255, rights >> 8, passed + 1))
        stood = (*stood, key)
        outcome: Outcome | None = None
        if not has_move(board, turn, rights, passed):
            outcome = Outcome(3 - turn, "checkmate") if in_check(board, turn) else Outcome(0, "stalemate")
        elif is_dead(board):
            outcome = Outcome(0, "dead_position")
        elif len(stood) > 2 * FIVE_TIMES - 2 and stood.count(key) >= FIVE_TIMES:
            outcome = Outcome(0, "fivefold_repetition")
        elif quiet >= ENDED:
            outcome = Outcome(0, "seventy_five_moves")
        seat: Seat = 1 if turn == 1 else 2
        return ChessPosition(board, seat, rights, passed, quiet, number, stood, outcome)

    def moves(self, position: ChessPosition) -> Sequence[str]:
        """Return the legal moves, in the order of the cells they leave; promotions as queen, rook, bishop, knight."""
        if position.outcome is not None:
            return []
        board, turn, rights, passed = position.board, position.turn, position.rights, position.passed
        last = 7 if turn == 1 else 0
        found: list[str] = []
        for cell in range(64):
            sign = board[cell]
            if SEAT[sign] != turn:
                continue
            for target in targets(board, cell, turn, rights, passed):
                if is_safe(board, cell, target, turn, passed):
                    named = target if SEAT[board[target]] != turn else self._named(cell, target)
                    text = self._texts[cell * 64 + named]
                    if sign & 95 == 80 and target & 7 == last:
                        found += [text + letter for letter in PROMOTIONS]
                    else:
                        found.append(text)
        return found

    def play(self, position: ChessPosition, move: str) -> ChessPosition:
        """Move a piece."""
        cell, target = self._index.get(move[:2], NOWHERE), self._index.get(move[2:4], NOWHERE)
        promotion = move[4:]
        if cell < 0 or target < 0 or (promotion and (len(promotion) > 1 or promotion not in PROMOTIONS)):
            raise self.malformed_move(move)
        board, turn, rights, passed, quiet, number, stood, outcome = position
        target = self._meant(board, cell, target)
        sign = board[cell]
        pawn = sign & 95 == 80
        promotes = pawn and target & 7 == (7 if turn == 1 else 0)
        if (
            outcome is not None
            or SEAT[sign] != turn
            or promotes != bool(promotion)
            or target not in targets(board, cell, turn, rights, passed)
        ):
            raise self._illegal(position, move, cell, target, promotes)
        becomes = ord(promotion) & 95 if promotes and turn == 1 else ord(promotion) if promotes else 0
        after = moved(board, cell, target, becomes, passed)
        if in_check(after, turn):
            raise self._illegal(position, move, cell, target, promotes)
        other = 3 - turn
        behind = (cell + target) >> 1 if pawn and abs(target - cell) == 2 else NOWHERE
        if behind != NOWHERE and not can_be_taken(after, behind, other):
            behind = NOWHERE
        if pawn or SEAT[board[target]] == other:
            quiet, stood = 0, ()
        else:
            quiet += 1
        rights &= KEPT[cell] & KEPT[target] & (KEPT_OF_KING[turn - 1] if sign & 95 == 75 else 0xFFFF)
        return self._settled(after, other, rights, behind, quiet, number + (turn == 2), stood)

    def _meant(self, board: bytes, cell: int, target: int) -> int:
        """Return the cell onto which a move goes here: in castling that of the rook, whatever the text names."""
        if self.onto_rook or board[cell] & 95 != 75:
            return target
        return NOWHERE if SEAT[board[target]] == SEAT[board[cell]] else CASTLINGS.get((cell, target), target)

    def _named(self, cell: int, rook: int) -> int:
        """Return the cell that the text of a castling names."""
        return rook if self.onto_rook else castled(cell, rook)[0]

    def _illegal(self, position: ChessPosition, move: str, cell: int, target: int, promotes: bool) -> Refusal:
        board, turn = position.board, position.turn
        if position.outcome is not None:
            why = "the game is over"
        elif SEAT[board[cell]] != turn:
            why = f"{self.facts.seat_name(turn)} has no piece on {BOARD.names[cell]}"
        elif target not in targets(board, cell, turn, position.rights, position.passed):
            why = f"the {self._kind(board[cell])} on {move[:2]} does not reach {move[2:4]}"
        elif promotes != bool(move[4:]):
            why = (
                "the pawn becomes a piece: add q, r, b or n" if promotes else "only a pawn on the last rank becomes one"
            )
        else:
            why = "the king would be in check"
        return self.illegal_move(position, move, why)

    def _kind(self, sign: int) -> str:
        return (self.facts.letters or {})[chr(sign & 95)]

    def canonical(self, move: str) -> str:
        """Return `e2e4` for `e2-e4` and `e2xe4`, `e7e8q` for `e7e8Q` and `e7e8=Q`."""
        if len(move) < 5:
            return move
        found = _ALIAS.fullmatch(move)
        return move if found is None else found[1] + found[2] + (found[3] or "").lower()

    def notation(self, position: ChessPosition, move: str) -> str:
        """Return a legal move in Standard Algebraic Notation: `Nf3`, `exd6`, `O-O`, `e8=Q+`, `R1xd4#`."""
        after = self.play(position, move)
        check = "" if not in_check(after.board, after.turn) else "+"
        if after.outcome is not None and after.outcome.reason == "checkmate":
            check = "#"
        cell = self._index[move[:2]]
        target = self._meant(position.board, cell, self._index[move[2:4]])
        sign = position.board[cell] & 95
        if sign == 75 and SEAT[position.board[target]] == position.turn:
            return ("O-O" if target > cell else "O-O-O") + check
        takes = "x" if SEAT[position.board[target]] or (sign == 80 and cell >> 3 != target >> 3) else ""
        if sign == 80:
            became = f"={move[4].upper()}" if len(move) == 5 else ""
            return (move[0] if takes else "") + takes + move[2:4] + became + check
        apart = told_apart(position.board, position.turn, position.passed, cell, target)
        return chr(sign) + apart + takes + move[2:4] + check

    def from_notation(self, position: ChessPosition, text: str) -> str:
        """Return the move for a text in Standard Algebraic Notation, or for a move or an alias."""
        move = self.canonical(text)
        if _MOVE.fullmatch(move):
            return move
        board, turn = position.board, position.turn
        said = read_san(text, board, turn, position.passed)
        if said is None:
            return move
        if position.outcome is not None:
            raise self.illegal_move(position, text, "the game is over")
        if said.castles:
            king = board.find(KINGS[turn - 1])
            for rook in targets(board, king, turn, position.rights, position.passed):
                if SEAT[board[rook]] == turn and (rook > king) == (said.castles == "short"):
                    return self._texts[king * 64 + self._named(king, rook)]
            raise self.illegal_move(position, text, f"{self.facts.seat_name(turn)} may not castle {said.castles}")
        if len(said.cells) == 1:
            return BOARD.names[said.cells[0]] + said.target + said.promotion
        kind = (self.facts.letters or {})[said.kind]
        if said.cells:
            several = ", ".join(BOARD.names[cell] for cell in said.cells)
            raise self.illegal_move(position, text, f"the {kind}s on {several} may go there: say which")
        raise self.illegal_move(position, text, f"no {kind} of {self.facts.seat_name(turn)} may go there")

    def number(self, position: ChessPosition, ply: int) -> str:
        """Return the number of the move: `12.` for White's, `12…` for Black's."""
        return f"{position.number}{'.' if position.turn == 1 else '…'}"

    def claim(self, position: ChessPosition) -> str | None:
        """Return the claim of the player to move: threefold repetition or fifty moves."""
        if position.outcome is not None:
            return None
        if position.stood.count(position.stood[-1]) >= THREE_TIMES:
            return "threefold_repetition"
        return "fifty_moves" if position.quiet >= CLAIMED else None

    def pieces(self, position: ChessPosition) -> Sequence[Piece]:
        """Return the content of each cell."""
        return [PIECES[sign] for sign in position.board]

    def regions(self, position: ChessPosition) -> Sequence[Region]:
        """Return the king in check."""
        if not in_check(position.board, position.turn):
            return ()
        king = position.board.index(KINGS[position.turn - 1])
        return (Region("threat", position.turn, (king,), "+" if position.outcome is None else "#", "in check"),)

    def steps(self, position: ChessPosition, move: str) -> Sequence[Step]:
        """Return the steps: the piece moves, then the rook in castling, or the new piece of a pawn appears."""
        if not _MOVE.fullmatch(move):
            raise self.malformed_move(move)
        source, target = move[:2], move[2:4]
        cell, board, names = self._index[source], position.board, BOARD.names
        rook = self._meant(board, cell, self._index[target])
        if board[cell] & 95 == 75 and rook != NOWHERE and SEAT[board[rook]] == SEAT[board[cell]]:
            goal, beside = castled(cell, rook)
            return [Step("move", source, names[goal]), Step("castle", names[rook], names[beside])]
        steps = [Step("move", source, target)]
        if move[4:]:
            steps.append(Step("become", "", target, move[4].upper() if position.turn == 1 else move[4]))
        return steps

    def material(self, position: ChessPosition) -> tuple[int, int]:
        """Return the value of the pieces of each seat, without the kings."""
        text = position.board.decode()
        white = sum(value * text.count(letter) for letter, value in VALUES.items())
        return white, sum(value * text.count(letter.lower()) for letter, value in VALUES.items())

    def counters(self, position: ChessPosition) -> Mapping[str, int]:
        """Return the number of the move, and the plies without capture or pawn move."""
        return {"move": position.number, "plies without capture or pawn move": position.quiet}


CASTLINGS = {(E1 + r, G1 + r): H1 + r for r in (0, 7)} | {(E1 + r, C1 + r): A1 + r for r in (0, 7)}
"""The rook's cell, by the king's cells before and after castling in chess."""

PIECES = {ord("."): Piece(0, "")} | {
    ord(letter): Piece(1 if letter.isupper() else 2, letter) for letter in "PNBRQKpnbrqk"
}
"""By byte of a board."""
