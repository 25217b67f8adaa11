"""Games and their rules: the values of GameService."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from arbiter_client.values.reading import OpenEnum


class Basis(OpenEnum):
    """The source of a rule."""

    UNSPECIFIED = 0
    TEXT = 1  #: the published rules
    SOURCE = 2  #: a second, independent source
    OURS = 3  #: a house ruling


class Tile(OpenEnum):
    """The shape of a board's cells."""

    UNSPECIFIED = 0
    HEX_ROWS = 1  #: pointy-topped hexagons, in horizontal rows
    HEX_FILES = 2  #: flat-topped hexagons, in vertical files
    SQUARE = 3


@dataclass(frozen=True, slots=True)
class GameSummary:
    """A game in a list: its id, such as `hop-it`, its name, its designer, and its summary in a sentence."""

    id: str
    name: str
    designer: str
    summary: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a game: its default, its value in this variant, and the allowed values in words."""

    name: str
    text: str
    default_value: str
    value: str
    allowed: str
    minimum: int | None
    maximum: int | None
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EndReason:
    """A reason for which a game ends by its rules."""

    name: str
    text: str
    basis: Basis


@dataclass(frozen=True, slots=True)
class Ruling:
    """The arbiter's decision of a case that the published rules leave open."""

    topic: str
    text: str
    basis: Basis


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a board: its name, its centre (x to the right, y upwards) and its neighbours, '' off the board."""

    name: str
    x: float
    y: float
    neighbours: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CellLine:
    """A list of cells of a position's text, in reading order."""

    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """A board as cells with neighbours. `directions` are in the order of `Cell.neighbours`."""

    title: str
    tile: Tile
    directions: tuple[str, ...]
    cells: tuple[Cell, ...]
    lines: tuple[CellLine, ...]

    def array(self, contents: Iterable[CellContent]) -> list[list[CellContent | None]]:
        """Return a board, such as that of a turn, as rows of cells in reading order; None for an empty cell."""
        by_name = {content.cell: content for content in contents}
        return [[by_name.get(cell) for cell in line.cells] for line in self.lines]


@dataclass(frozen=True, slots=True)
class CellContent:
    """The content of a cell. `owner` is 0 and `piece` '' if there is no piece."""

    cell: str
    owner: int
    piece: str
    facing: int | None
    height: int | None
    mark: str


@dataclass(frozen=True, slots=True)
class Game:
    """Everything about one variant of a game. `game`: its canonical name; `material`: what adjudication counts."""

    summary: GameSummary
    game: str
    seats: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    reasons: tuple[EndReason, ...]
    rulings: tuple[Ruling, ...]
    rules_text: str
    board: Board
    initial_position: str
    most_plies: int
    draw_offers: bool
    pieces: Mapping[str, str]
    material: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of play: a variant, a start position ('' for the initial one) and the moves since."""

    game: str
    position: str = ""
    moves: tuple[str, ...] = ()

    def then(self, *moves: str) -> Line:
        """Return this line with more moves at its end."""
        return Line(self.game, self.position, self.moves + moves)


@dataclass(frozen=True, slots=True)
class MatchPly:
    """A match at a ply, 0 at the start; None for the current one."""

    match_id: str
    ply: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One visible part of a move: place, move, hop, dig, hatch, pay or pass, and the cells and piece it touches."""

    action: str
    source: str
    target: str
    piece: str
    facing: int | None


@dataclass(frozen=True, slots=True)
class LegalMove:
    """A legal move: its text, and its visible parts if they were asked for."""

    text: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class GameOutcome:
    """How a game ends by its rules. `winner` is a seat, or 0 for a draw."""

    winner: int
    reason: str


@dataclass(frozen=True, slots=True)
class PlayedPosition:
    """A position on a line. `turn` is the seat to move; `claim` the reason for which it may claim a draw, or ''."""

    ply: int
    position: str
    turn: int
    board: tuple[CellContent, ...]
    claim: str


@dataclass(frozen=True, slots=True)
class PlayedLine:
    """The result of a line: the requested positions, with the last one, and the outcome if it reaches one."""

    positions: tuple[PlayedPosition, ...]
    outcome: GameOutcome | None

    @property
    def final(self) -> PlayedPosition:
        """The position at the end of the line."""
        return self.positions[-1]
