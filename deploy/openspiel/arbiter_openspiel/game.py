"""A game of OpenSpiel as a game of the arbiter.

OpenSpiel is given nothing but what it listed itself: a game with values of parameters that were tried, and legal
actions. Texts of positions and illegal actions never reach it: for some of them it writes to standard error, raises,
ends the process, or never returns. In a server that would only be the process of these games, but matches wait for it.

A position is the line of actions that leads to it, since most games of OpenSpiel start from no other position. Each
action is a number, written with as many digits to the base 36 as the greatest needs: two for Go, three for shogi.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Final

from arbiter.boards.board import Board, Tile
from arbiter.errors import Refusal
from arbiter.games.contract import Basis, EndReason, Facts, Game, Look, Outcome, Piece, Ruling, Seat, Step, Value
from arbiter_openspiel import boards
from arbiter_openspiel.table import GAMES, Row

PREFIX: Final = "openspiel-"
DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
WORD: Final = re.compile(r"[!-~]{1,60}", re.ASCII)  #: the form of a move
NO_BOARD: Final = Board("no board", Tile.SQUARE, (), (), (), (), ())

RECENT: Final = 64  #: positions of a variant that are kept: a line is mostly read again one or two moves later
LOOK_BACK: Final = 5  #: how many lengths of a line are looked for among them

REASONS: Final = (
    EndReason("won", "The game is over by OpenSpiel's rules, and a player has won.", Basis.SOURCE),
    EndReason("drawn", "The game is over by OpenSpiel's rules, and nobody has won.", Basis.SOURCE),
    EndReason(
        "move_limit", "As many moves were played as OpenSpiel allows: a draw, where it does not say so.", Basis.OURS
    ),
)
RULINGS: Final = (
    Ruling("rules", "The rules, the text of moves and the length of a game are those of OpenSpiel.", Basis.SOURCE),
)
POSITIONS: Final = """\
The seat to move (`1` or `2`), a space, and the line of actions that leads to the position, or `-` at the start. An \
action is a number of OpenSpiel, to the base 36, with as many digits as the greatest number of the game needs. So in \
Python, with `pyspiel`: `for at in range(0, len(line), width): state.apply_action(int(line[at:at + width], 36))`."""


class SpielPosition:
    """A position: the line of actions in text form, OpenSpiel's state, whose turn it is, and the end or None.

    Nobody changes the state. Two positions are equal if their games and lines are.
    """

    __slots__ = ("_actions", "_pieces", "game", "line", "outcome", "state", "turn")

    def __init__(self, game: str, line: str, state: Any, turn: Seat, outcome: Outcome | None) -> None:
        self.game = game
        self.line = line
        self.state = state
        self.turn = turn
        self.outcome = outcome
        self._actions: dict[str, int] | None = None
        self._pieces: Sequence[Piece] | None = None

    def actions(self, cut: re.Pattern[str] | None) -> Mapping[str, int]:
        """Return OpenSpiel's legal actions, by the text of the move."""
        if self._actions is None:
            text = self.state.action_to_string
            self._actions = {_word(text(action), cut): action for action in self.state.legal_actions()}
        return self._actions

    def pieces(self, read: boards.Read) -> Sequence[Piece]:
        """Return the content of the cells, read from OpenSpiel's text of the state."""
        if self._pieces is None:
            self._pieces = read(str(self.state))
        return self._pieces

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpielPosition) and (self.game, self.line) == (other.game, other.line)

    def __hash__(self) -> int:
        return hash((self.game, self.line))


class SpielGame(Game[SpielPosition]):
    """A game of OpenSpiel; `kind` makes the class of each."""

    libraries = ("open-spiel",)
    name: ClassVar[str]  #: OpenSpiel's name
    row: ClassVar[Row]

    def __init__(self, **values: Value) -> None:
        super().__init__(**values)
        import pyspiel  # not with the module: a list of games needs no OpenSpiel, which takes a while to load

        row = self.row
        given = {**row.fixed, **self.values}
        kinds = {"Decimal": float}
        self._game = pyspiel.load_game(
            self.name, {name: kinds.get(type(value).__name__, type(value))(value) for name, value in given.items()}
        )
        self.board = boards.board_of(row.grid, self.values) if row.grid else NO_BOARD
        self._read = boards.reader(row.grid, self.board) if row.grid else None
        self._cut = re.compile(row.cut) if row.cut else None
        self._width = len(_digits(self._game.num_distinct_actions() - 1, 2))
        self.bound = self._game.num_distinct_actions() if row.plies else self._game.max_game_length()
        state = self._game.new_initial_state()
        self._first = state.current_player()
        self._initial = SpielPosition(self.variant, "", state, 1, None)
        self._recent: OrderedDict[str, SpielPosition] = OrderedDict()

    def initial(self) -> SpielPosition:
        """Return OpenSpiel's initial state."""
        return self._initial

    def parse(self, text: str) -> SpielPosition:
        """Parse a position: its line is played from the start."""
        width = self._width
        if len(text) > 2 + self.bound * width:
            raise self.malformed_position(text, "the text", f"at most {self.bound} actions")
        seat, _, line = text.partition(" ")
        if not line or (len(line) % width and line != "-"):
            raise self.malformed_position(text, "the text", f"SEAT LINE, with {width} digits for each action")
        position = self._initial if line == "-" else self._played(line)
        if seat != str(position.turn):
            raise self.malformed_position(seat, "the seat to move", str(position.turn))
        return position

    def _played(self, line: str) -> SpielPosition:
        """Return the position of a line, from one shortly before it if that was played or read lately."""
        shorter = (line[: max(0, len(line) - back * self._width)] for back in range(LOOK_BACK))
        known = next((self._recent[start] for start in shorter if start in self._recent), self._initial)
        if known.line == line:
            return known
        state = known.state.clone()
        for at in range(len(known.line), len(line), self._width):
            word = line[at : at + self._width]
            action = int(word, 36) if all(digit in DIGITS for digit in word) else -1
            if action not in state.legal_actions():
                raise self.malformed_position(word, f"the line, after {at // self._width} actions", "a legal action")
            mover = state.current_player()
            state.apply_action(action)
        return self._settled(line, state, mover)

    def _settled(self, line: str, state: Any, mover: int) -> SpielPosition:
        if not state.is_terminal():
            spent = len(line) >= self.bound * self._width
            turn = self._seat(state.current_player())
            return self._kept(line, state, turn, Outcome(0, "move_limit") if spent else None)
        first = state.returns()[self._first]
        outcome = Outcome(1 if first > 0 else 2, "won") if first else Outcome(0, "drawn")
        return self._kept(line, state, 2 if self._seat(mover) == 1 else 1, outcome)

    def _kept(self, line: str, state: Any, turn: Seat, outcome: Outcome | None) -> SpielPosition:
        position = self._recent[line] = SpielPosition(self.variant, line, state, turn, outcome)
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)
        return position

    def _seat(self, player: int) -> Seat:
        return 1 if player == self._first else 2

    def text(self, position: SpielPosition) -> str:
        """Return the seat to move and the line of actions."""
        return f"{position.turn} {position.line or '-'}"

    def moves(self, position: SpielPosition) -> Sequence[str]:
        """Return OpenSpiel's legal actions as texts, in its order."""
        return [] if position.outcome else list(position.actions(self._cut))

    def play(self, position: SpielPosition, move: str) -> SpielPosition:
        """Return the position after a move."""
        action = None if position.outcome else position.actions(self._cut).get(move)
        if action is None:
            raise self._refused(position, move)
        line = position.line + _digits(action, self._width)
        if known := self._recent.get(line):
            return known
        mover, state = position.state.current_player(), position.state.clone()
        state.apply_action(action)
        return self._settled(line, state, mover)

    def _refused(self, position: SpielPosition, move: str) -> Refusal:
        if not WORD.fullmatch(move):
            return self.malformed_move(move)
        why = "the game is over" if position.outcome else "it is not among the legal moves"
        return self.illegal_move(position, move, why)

    def pieces(self, position: SpielPosition) -> Sequence[Piece]:
        """Return the content of the cells, as OpenSpiel's text of the state shows it."""
        return position.pieces(self._read) if self._read else ()

    def steps(self, position: SpielPosition, move: str) -> Sequence[Step]:
        """Return what a move changes on the board; nothing if there is no board."""
        after = self.play(position, move)
        if self._read is None:
            return ()
        return boards.steps_between(self.board.names, self.pieces(position), self.pieces(after), position.turn)

    def picture(self, position: SpielPosition) -> str:
        """Return OpenSpiel's text of the state, where no board is read from it."""
        return "" if self._read else str(position.state)

    def counters(self, position: SpielPosition) -> Mapping[str, int]:
        """Return the pieces in the hands of the players, in shogi and crazyhouse."""
        return boards.in_hand(str(position.state)) if self.row.grid and not self.row.grid.line else {}


def _word(text: str, cut: re.Pattern[str] | None) -> str:
    """Return OpenSpiel's text of an action as one word."""
    return "_".join((cut.sub("", text) if cut else text).replace(", ", ",").split())


def _digits(number: int, width: int) -> str:
    """Return a number to the base 36, with leading zeros up to a width."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return digits.rjust(width, "0")


@cache
def kind(name: str) -> type[SpielGame]:
    """Return the class of one of OpenSpiel's games that the table has, by OpenSpiel's name."""
    row = GAMES[name]
    facts = Facts(
        id=PREFIX + name,
        name=f"{name.replace('_', ' ').capitalize()} (OpenSpiel)",
        designer="unknown",
        summary=row.summary,
        seats=row.seats,
        parameters=row.parameters,
        reasons=REASONS,
        rulings=RULINGS,
        letters=row.grid.letters if row.grid else None,
        look=row.grid.look if row.grid else Look.PLAIN,
        position_text=POSITIONS,
    )
    return type(name, (SpielGame,), {"__module__": __name__, "facts": facts, "name": name, "row": row})
