"""The interface that every game implements.

A game class is a rule sheet: `facts` first, then the initial position, legal moves, play and notation. An instance is
one variant, with fixed parameters. Positions are immutable values: `play` returns a new one. A position contains the
history that the rules need (for repetition); its text does not.

Moves are always texts, in the notation of the shared rules: every legal move of a position has exactly one text.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

from arbiter.boards.board import Board
from arbiter.errors import Reason, Refusal, shortened, with_article

Seat = Literal[1, 2]
"""Seat 1 moves first. Whose turn it is comes from the position, never from the parity of the ply."""

Value = int | bool | str | Decimal
"""The value of a game's parameter. Decimals are exact: `7.5` is seven and a half."""


class Basis(StrEnum):
    """The source of a rule: stated by the published text, found in a second source, or a house ruling."""

    TEXT = "text"
    SOURCE = "source"
    OURS = "ours"


class Look(StrEnum):
    """How a board is drawn: plain, chequered, points where lines cross, coloured sides, felt, a rack with holes."""

    PLAIN = "plain"
    CHEQUERED = "chequered"
    POINTS = "points"
    SIDES = "sides"
    FELT = "felt"
    RACK = "rack"


class Outcome(NamedTuple):
    """How a game ended by its rules. `winner` is 1 or 2, or 0 for a draw; `reason` is one of the game's end reasons."""

    winner: int
    reason: str

    def __str__(self) -> str:
        return f"{self.winner or 'draw'} {self.reason}"


class EndReason(NamedTuple):
    """A reason for which a game ends: its name, the rule in one sentence, and the source of the rule."""

    name: str
    text: str
    basis: Basis


class Ruling(NamedTuple):
    """A question that the published text leaves open or that can be read in several ways, and the answer used here."""

    topic: str
    text: str
    basis: Basis


class Piece(NamedTuple):
    """The content of a cell. `owner` is 1, 2 or 0 (none); `letter` is '' on an empty cell.

    `facing` is a direction (or face) number as the game's rules number them, or -1. `height` is the number of tiles, or
    -1 in games without tiles. `mark` names a property of the cell itself ('lily'), or is ''.
    """

    owner: int
    letter: str
    facing: int = -1
    height: int = -1
    mark: str = ""


class Step(NamedTuple):
    """One visible part of a move, for drawing and for clients without an implementation of the rules.

    `action` is one of place, move, hop, dig, hatch, pay, pass, castle (a rook goes beside its king, which has moved),
    become (a piece that has moved becomes another), shoot, swap, mark and unmark (a stone as dead), agree, dispute.
    `source` and `target` are cell names or '' (place, become, swap, mark and unmark have only a target; pass, agree and
    dispute have neither). `piece` is the letter of the piece that appears or pays ('' if there is nothing to say),
    `facing` as in `Piece`.
    """

    action: str
    source: str
    target: str
    piece: str = ""
    facing: int = -1


class Region(NamedTuple):
    """Some cells of a position that belong together, for drawing.

    `kind` is 'territory' (the ground of `owner`, empty cells and occupied ones), 'group' (pieces of `owner` that count
    as one) or 'threat' (pieces of `owner` that may be lost with the next move). `sign` is a short text that stands on
    each of a group in place of a letter, and beside each that is threatened, or ''; `name` says in words what they are.
    """

    kind: Literal["territory", "group", "threat"]
    owner: int
    cells: tuple[int, ...]
    sign: str = ""
    name: str = ""


class Parameter(NamedTuple):
    """A parameter of a game: `allowed` describes the allowed values in words; `read` parses a text into a value.

    `read` raises ValueError for a value that is not allowed. Numbers also have bounds, words also have choices.
    """

    name: str
    default: Value
    text: str
    allowed: str
    read: Callable[[str], Value]
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()


_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


def number_parameter(name: str, default: int, minimum: int, maximum: int, text: str) -> Parameter:
    """Return a whole-number parameter between two inclusive bounds."""

    def read(word: str) -> int:
        if not _NUMBER.fullmatch(word) or not minimum <= int(word) <= maximum:
            raise ValueError(word)
        return int(word)

    return Parameter(name, default, text, f"a number from {minimum} to {maximum}", read, minimum, maximum)


_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,8}(?:\.[0-9]{0,5}[1-9])?|-?0\.[0-9]{0,5}[1-9]", re.ASCII)


def decimal_parameter(name: str, default: str, minimum: str, maximum: str, text: str, step: str = "0.5") -> Parameter:
    """Return a parameter that is a decimal number between two inclusive bounds, a multiple of `step`.

    A value has one text: `7.5`, `-0.5`, `7`, and not `7.50`, `.5`, `+7`, `7e0` or `-0`.
    """
    low, high, unit = Decimal(minimum), Decimal(maximum), Decimal(step)

    def read(word: str) -> Decimal:
        if not _DECIMAL.fullmatch(word) or not low <= (value := Decimal(word)) <= high or value % unit:
            raise ValueError(word)
        return value

    allowed = f"a number from {minimum} to {maximum} in steps of {step}, without needless zeros"
    return Parameter(name, read(default), text, allowed, read)


def flag_parameter(name: str, default: bool, text: str) -> Parameter:
    """Return a parameter that is `true` or `false`."""

    def read(word: str) -> bool:
        return {"true": True, "false": False}[word] if word in ("true", "false") else _refuse(word)

    return Parameter(name, default, text, "true or false", read, choices=("true", "false"))


def choice_parameter(name: str, choices: tuple[str, ...], text: str) -> Parameter:
    """Return a parameter that is one of a few words; the first is the default."""
    return word_parameter(name, choices[0], " or ".join(choices), choices.__contains__, text)._replace(choices=choices)


def word_parameter(name: str, default: str, allowed: str, check: Callable[[str], bool], text: str) -> Parameter:
    """Return a parameter whose text satisfies `check`; `allowed` describes this in words."""

    def read(word: str) -> str:
        return word if check(word) else _refuse(word)

    return Parameter(name, default, text, allowed, read)


def _refuse(word: str) -> Any:
    raise ValueError(word)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts that hold for every variant of a game. `seats` names the players of seat 1 and seat 2, as the rules do.

    `position_text` and `cell_text` say how positions are written and cells are called, if not as in other games.
    `designer` is '' for a traditional game, and 'unknown' where nobody knows. `aliases` has examples of texts that
    `Game.canonical` reads as moves, each with the move.
    """

    id: str
    name: str
    designer: str
    summary: str
    seats: tuple[str, str]
    parameters: tuple[Parameter, ...]
    reasons: tuple[EndReason, ...]
    rulings: tuple[Ruling, ...]
    draw_offers: bool = False
    letters: Mapping[str, str] | None = None  #: piece letter (upper case) to the piece's name
    material: str = ""  #: what `Game.material` counts, in words; '' if a count does not show who is ahead
    look: Look = Look.PLAIN
    position_text: str = ""
    cell_text: str = ""
    aliases: tuple[tuple[str, str], ...] = ()
    faces: str = ""  #: letters of the pieces whose `facing` is a face, written as its number, instead of a direction

    @property
    def byline(self) -> str:
        """Who made the game, for a heading: `by Dale Walton`, `traditional`, `designer unknown`."""
        if not self.designer:
            return "traditional"
        return "designer unknown" if self.designer == "unknown" else f"by {self.designer}"

    def seat_name(self, seat: int) -> str:
        """Return the name of a seat for a sentence: `Orca`, or `seat 1` if the rules only number the players."""
        name = self.seats[seat - 1]
        return f"seat {seat}" if name == str(seat) else name


class Position(Protocol):
    """The part of a position that all games have in common. Concrete positions are immutable and hashable."""

    @property
    def turn(self) -> Seat:
        """The seat to move; after the last move, the seat that would move next."""

    @property
    def outcome(self) -> Outcome | None:
        """The end of the game by its rules, or None while it goes on."""


P = TypeVar("P", bound=Position)


class Game(ABC, Generic[P]):
    """One variant of a game: rules, notation and board.

    Keyword arguments are the parameters' values, each already parsed by `Parameter.read`. A subclass whose rules relate
    several parameters checks them in its `__init__` and raises PARAMETER_INVALID.
    """

    facts: ClassVar[Facts]
    board: Board
    bound: int  #: maximum number of plies of a game from the initial position
    libraries: ClassVar[tuple[str, ...]] = ()  #: distributions whose code the rules are, besides that of the game
    installed: ClassVar[bool] = True  #: whether this is the game, and not the stand-in for one that is not installed

    def __init__(self, **values: Value) -> None:
        self.values: dict[str, Value] = {p.name: values.get(p.name, p.default) for p in self.facts.parameters}

    @property
    def variant(self) -> str:
        """The canonical name, written like a call: `pods`, `pods(size=5)`."""
        given = [
            f"{p.name}={value_text(self.values[p.name])}"
            for p in self.facts.parameters
            if self.values[p.name] != p.default
        ]
        return f"{self.facts.id}({','.join(given)})" if given else self.facts.id

    @abstractmethod
    def initial(self) -> P:
        """Return the position that a game starts from."""

    @abstractmethod
    def parse(self, text: str) -> P:
        """Parse a position, which then has no history.

        Takes time linear in the length of a well-formed text, whatever the text contains.
        Raises Refusal POSITION_MALFORMED (facts what, where, allowed).
        """

    def start(self, text: str) -> P:
        """Return the position that a match starts from: the initial one for '', or as `parse`, and raises the same."""
        return self.parse(text) if text else self.initial()

    def starts(self) -> Sequence[str]:
        """Return the texts of the start positions of which tournaments draw one by lot; none if there is only one."""
        return ()

    @abstractmethod
    def text(self, position: P) -> str:
        """Return the position's text, without its history."""

    @abstractmethod
    def moves(self, position: P) -> Sequence[str]:
        """Return every legal move once, in the engine's own fixed order; empty once there is an outcome."""

    @abstractmethod
    def play(self, position: P, move: str) -> P:
        """Return the position after a move. Does not list all moves.

        Raises Refusal MOVE_MALFORMED for a text that is not a move of this game on this board, MOVE_ILLEGAL for a move
        that the rules forbid here (every move, once there is an outcome).
        """

    @abstractmethod
    def pieces(self, position: P) -> Sequence[Piece]:
        """Return the content of each cell, in the order of `board.names`. A board without cells is not drawn."""

    @abstractmethod
    def steps(self, position: P, move: str) -> Sequence[Step]:
        """Return the visible parts of a legal move: none without cells. Raises as `play` for a text that is no move."""

    def canonical(self, move: str) -> str:
        """Return the move for a text that people or engines also use for it; any other text as it is.

        A move has one text in the record. What arrives is resolved before it is judged, and whatever the position is:
        an alias can't depend on where the pieces stand, or a request could not be repeated after its move.
        """
        return move

    def notation(self, position: P, move: str) -> str:
        """Return a legal move as people write it, such as `Nf6` in chess. Raises the same as `play`."""
        return move

    def from_notation(self, position: P, text: str) -> str:
        """Return the move that a person means by a text: a move, an alias, or what `notation` returns.

        Any other text is returned as it is. Raises Refusal MOVE_ILLEGAL for a notation of no move here, or of several.
        """
        return self.canonical(text)

    def number(self, position: P, ply: int) -> str:
        """Return the number of the move to be played, as the game's players count: `12.`, or `12…` for Black's.

        `ply` is the number of moves played in the match; most games count them.
        """
        return f"{ply + 1}."

    def task(self, position: P) -> str:
        """Return what the seat to move has to do, in words."""
        return "move"

    def actor(self, move: str) -> str:
        """Return the cell that a move names as that of its piece, '' where the steps show it. Raises as `steps`."""
        return ""

    def claim(self, position: P) -> str | None:
        """Return the reason for which the seat to move may claim a draw now, or None."""
        return None

    def material(self, position: P) -> tuple[int, int]:
        """Return the amounts of `facts.material` of seat 1 and seat 2; more is better. For adjudication."""
        raise NotImplementedError(f"{self.facts.id} counts no material")

    def counters(self, position: P) -> Mapping[str, int]:
        """Return the numbers that are shown beside the board, by a short label; for drawing."""
        return {}

    def picture(self, position: P) -> str:
        """Return a picture made of text, for a game whose board has no cells; '' for one that has cells."""
        return ""

    def regions(self, position: P) -> Sequence[Region]:
        """Return cells that belong together, for drawing; no cell is in two regions of one kind."""
        return ()

    def malformed_move(self, move: str) -> Refusal:
        """Return the refusal for a text that is not a move of this game."""
        shown, game = shortened(move), self.variant
        return Refusal(Reason.MOVE_MALFORMED, f"{shown!r} is not a move of {game}", move=shown, game=game)

    def illegal_move(self, position: P, move: str, why: str) -> Refusal:
        """Return the refusal for a well-formed move that the rules forbid in this position; `why` is a clause."""
        message = f"{move!r} is not legal here: {why}"
        return Refusal(Reason.MOVE_ILLEGAL, message, move=move, position=self.text(position))

    def malformed_position(self, what: str, where: str, allowed: str) -> Refusal:
        """Return the refusal for a text that is not a position: what is wrong, where in the text, what is allowed."""
        shown = shortened(what)
        message = f"{shown!r} in {where} of {with_article(self.variant)} position: expected {allowed}"
        return Refusal(Reason.POSITION_MALFORMED, message, what=shown, where=where, allowed=allowed)


AnyGame = Game[Any]


def value_text(value: Value) -> str:
    """Return a parameter's value as it is written in a variant's name."""
    return str(value).lower() if isinstance(value, bool) else str(value)
