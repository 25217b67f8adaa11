"""The games of OpenSpiel that the arbiter plays, and those that it leaves out, with the reason.

A row says what OpenSpiel does not: how its players are called, which values of its parameters were tried, and how its
text of a state is read as a board. Everything else is asked of OpenSpiel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from arbiter.games.contract import Look, Parameter, Value, decimal_parameter, flag_parameter, number_parameter

Sign = tuple[int, str]
"""What a character on a board stands for: the seat that owns the piece, and the piece's letter."""


class Grid(NamedTuple):
    """A board of squares in OpenSpiel's text of a state.

    `width` and `height` are numbers, or the names of parameters. `line` finds a row of cells: its group `row` is the
    number of the rank if the text has one (else ranks come from the top down), its group `cells` the cells. A FEN has
    no `line`. `signs` are the characters of pieces, `letters` the names of their letters.
    """

    width: int | str
    height: int | str
    signs: Mapping[str, Sign]
    letters: Mapping[str, str]
    line: str = ""
    look: Look = Look.PLAIN


class Row(NamedTuple):
    """A game: what it is, its players, its parameters, its board if it is drawn, and what is cut out of its moves."""

    summary: str
    seats: tuple[str, str]
    parameters: tuple[Parameter, ...] = ()
    grid: Grid | None = None
    cut: str = ""  #: a pattern; what it finds in OpenSpiel's text of a move is left out
    fixed: Mapping[str, Value] = {}  #: parameters of OpenSpiel that nobody chooses here
    plies: str = ""  #: how many moves a game has at most, if OpenSpiel is wrong: `actions`, one for each action


def _stones(first: str, second: str, width: int | str, height: int | str, line: str, look: Look = Look.PLAIN) -> Grid:
    return Grid(width, height, {first: (1, "S"), second: (2, "s")}, {"S": "stone"}, line, look)


def _size(name: str, default: int, least: int, most: int, text: str) -> Parameter:
    return number_parameter(name, default, least, most, text)


CHESS_PIECES: Final = {"P": "pawn", "N": "knight", "B": "bishop", "R": "rook", "Q": "queen", "K": "king"}
SHOGI_PIECES: Final = {
    "P": "pawn", "L": "lance", "N": "knight", "S": "silver general", "G": "gold general", "B": "bishop", "R": "rook",
    "K": "king", "T": "promoted pawn", "U": "promoted lance", "V": "promoted knight", "W": "promoted silver general",
    "H": "horse", "D": "dragon",
}  # fmt: skip
XIANGQI_PIECES: Final = {
    "G": "general", "A": "advisor", "E": "elephant", "H": "horse", "R": "chariot", "C": "cannon", "S": "soldier",
}  # fmt: skip
PROMOTED: Final = {"P": "T", "L": "U", "N": "V", "S": "W", "B": "H", "R": "D"}  #: letters of shogi's promoted pieces


def _letters(pieces: Mapping[str, str]) -> dict[str, Sign]:
    """Return the signs of a board that has seat 1 in upper case, and seat 2 in lower case."""
    return {letter: (1, letter) for letter in pieces} | {letter.lower(): (2, letter.lower()) for letter in pieces}


def _chess(look: Look = Look.CHEQUERED) -> Grid:
    return Grid(8, 8, _letters(CHESS_PIECES), CHESS_PIECES, look=look)


_COLUMNS: Final = "columns of the board"
_ROWS: Final = "rows of the board"
_SIDE: Final = "cells on a side"
_KOMI: Final = decimal_parameter("komi", "7.5", "-20", "20", "points for White")
_XO: Final = r"(?P<cells>[xo.]+)"
_RANK: Final = r"(?P<row>\d+)(?P<cells>%s)"

GAMES: Final[Mapping[str, Row]] = {
    "amazons": Row(
        "Move an amazon, shoot an arrow; whoever can't move has lost. A turn is three moves: from, to, arrow.",
        ("X", "O"),
        (_size("board_size", 10, 6, 10, _SIDE),),
        Grid("board_size", "board_size", {"X": (1, "A"), "O": (2, "a")}, {"A": "amazon"}, "(?P<cells>[XO#.]+)",
             Look.CHEQUERED),
        r"^[XO#] ",
    ),
    "antichess": Row("Chess in which you must capture, and win by losing all.", ("White", "Black"), (), _chess()),
    "breakthrough": Row(
        "Bring a piece to the opposite side.",
        ("Black", "White"),
        (_size("columns", 8, 2, 12, _COLUMNS), _size("rows", 8, 3, 12, _ROWS)),
        Grid("columns", "rows", {"b": (1, "P"), "w": (2, "p")}, {"P": "piece"}, _RANK % "[bw.]{W}", Look.CHEQUERED),
    ),
    "checkers": Row(
        "English draughts: capture or block all pieces of the opponent.",
        ("White", "Black"),
        (),
        Grid(8, 8, {"o": (1, "M"), "8": (1, "K"), "+": (2, "m"), "*": (2, "k")},
             {"M": "man", "K": "king"}, _RANK % "[o8+*.]{W}", Look.CHEQUERED),
    ),
    "chess": Row("Chess by OpenSpiel's rules; `chess` has the laws of FIDE.", ("White", "Black"), (), _chess()),
    "chinese_checkers": Row(
        "Bring your pieces across the star.",
        ("1", "2"),
        (_size("max_moves", 1000, 10, 1000, "moves of each player, after which the game is drawn"),),
    ),
    "clobber": Row(
        "Take a neighbouring stone with each move; whoever can't has lost.",
        ("White", "Black"),
        (_size("columns", 6, 2, 20, _COLUMNS), _size("rows", 5, 2, 20, _ROWS)),
        _stones("o", "x", "columns", "rows", _RANK % "[ox.]{W}", Look.CHEQUERED),
    ),
    "connect_four": Row(
        "Drop discs into columns until enough of yours are in a line.",
        ("x", "o"),
        (
            _size("columns", 7, 1, 20, _COLUMNS),
            _size("rows", 6, 1, 20, _ROWS),
            _size("x_in_row", 4, 1, 20, "discs in a line that win"),
        ),
        Grid("columns", "rows", {"x": (1, "D"), "o": (2, "d")}, {"D": "disc"}, _XO, Look.RACK),
        "^[xo]",
    ),
    "crazyhouse": Row(
        "Chess in which captured pieces come back on the side of the captor.",
        ("White", "Black"),
        (
            flag_parameter("king_of_hill", False, "a king in the centre wins"),
            flag_parameter("sticky_promotions", False, "a promoted piece stays what it is when it is captured"),
        ),
        _chess(),
    ),
    "cursor_go": Row(
        "Go in which a cursor is moved over the board, move by move.",
        ("Black", "White"),
        (
            _size("board_size", 19, 5, 19, _SIDE),
            _KOMI,
            _size("max_cursor_moves", 100, 4, 200, "moves of the cursor before a stone must be placed"),
        ),
        _stones("X", "O", "board_size", "board_size", r" *(?P<row>\d+) (?P<cells>[+XO]+)", Look.POINTS),
    ),
    "dots_and_boxes": Row(
        "Draw lines between dots; whoever closes a box has it, and moves again.",
        ("1", "2"),
        (_size("num_rows", 2, 1, 8, "rows of boxes"), _size("num_cols", 2, 1, 8, "columns of boxes")),
        cut="^P[12]",
        plies="actions",
    ),
    "go": Row(
        "Go by OpenSpiel's rules: a position that comes again ends the game. `go` forbids such a move.",
        ("Black", "White"),
        (_size("board_size", 19, 2, 19, _SIDE), _KOMI),
        _stones("X", "O", "board_size", "board_size", r" *(?P<row>\d+) (?P<cells>[+XO]+)", Look.POINTS),
        "^[BW] ",
    ),
    "gomoku": Row(
        "Five stones in a line win.",
        ("Black", "White"),
        (
            _size("size", 15, 3, 25, _SIDE),
            _size("connect", 5, 3, 25, "stones in a line"),
            flag_parameter("wrap", False, "the board's opposite sides are connected"),
            flag_parameter("anti", False, "such a line loses"),
        ),
        _stones("b", "w", "size", "size", "(?P<cells>[bw.]+)", Look.POINTS),
    ),
    "havannah": Row(
        "Make a ring, a bridge between two corners, or a fork between three sides.",
        ("White", "Black"),
        (flag_parameter("swap", False, "the second player may take the first stone over"),),
    ),
    "hex": Row(
        "Connect your two sides of the board.",
        ("x", "o"),
        (
            _size("board_size", 11, 2, 26, _SIDE),
            flag_parameter("swap", False, "the second player may take the first stone over"),
        ),
    ),
    "hive": Row(
        "Surround the queen of the other hive.",
        ("White", "Black"),
        (
            flag_parameter("uses_mosquito", True, "with the mosquito"),
            flag_parameter("uses_ladybug", True, "with the ladybug"),
            flag_parameter("uses_pillbug", True, "with the pillbug"),
        ),
    ),
    "lines_of_action": Row(
        "Bring all your pieces together.",
        ("x", "o"),
        (_size("max_game_length", 1000, 10, 1000, "moves after which the game is drawn"),),
        Grid(8, 8, {"x": (1, "P"), "o": (2, "p")}, {"P": "piece"}, _RANK % "[xo.]{8}", Look.CHEQUERED),
    ),
    "mancala": Row("Sow seeds into pits; most seeds in the own store win (Kalah).", ("1", "2")),
    "mnk": Row(
        "k stones in a line on a board of m × n win.",
        ("x", "o"),
        (
            _size("m", 15, 1, 25, _COLUMNS),
            _size("n", 15, 1, 25, _ROWS),
            _size("k", 5, 1, 25, "stones in a line that win"),
        ),
        _stones("x", "o", "m", "n", _XO),
        "^[xo]",
    ),
    "nim": Row(
        "Take from a pile; whoever takes the last has lost.",
        ("1", "2"),
        (flag_parameter("is_misere", True, "false: whoever takes the last has won"),),
        cut=";$",
    ),
    "nine_mens_morris": Row("Make rows of three, and take men for them.", ("White", "Black"), (), None, "^Point "),
    "othello": Row(
        "Turn the discs between two of yours; most discs win.",
        ("Black", "White"),
        (),
        Grid(8, 8, {"x": (1, "D"), "o": (2, "d")}, {"D": "disc"}, r"(?P<row>\d) (?P<cells>([-xo] ){8})\d", Look.FELT),
    ),
    "oware": Row(
        "Sow seeds around the board, and capture most of them.",
        ("1", "2"),
        (
            _size("num_houses_per_player", 6, 2, 12, "houses of each player"),
            _size("num_seeds_per_house", 4, 1, 12, "seeds in each house at the start"),
        ),
    ),
    "pentago": Row(
        "Five in a line win; with each stone you turn a quarter of the board.",
        ("White", "Black"),
        (),
        _stones("O", "@", 6, 6, r".. ?(?P<row>\d) (?P<cells>([O@.] ?){6}).*"),
    ),
    "shogi": Row(
        "Japanese chess: captured pieces come back on the side of the captor.",
        ("Black", "White"),
        (),
        Grid(9, 9, _letters(SHOGI_PIECES), SHOGI_PIECES),
    ),
    "tic_tac_toe": Row("Three in a line win.", ("x", "o"), (), _stones("x", "o", 3, 3, _XO), "^[xo]"),
    "twixt": Row(
        "Link your two sides by pegs a knight's move apart.",
        ("x", "o"),
        cut="^[xo]",
        fixed={"ansi_color_output": False, "board_size": 24},
    ),
    "ultimate_tic_tac_toe": Row(
        "Tic-tac-toe of tic-tac-toes: where you play in a small board says in which the next move is.",
        ("x", "o"),
        (),
        _stones("x", "o", 9, 9, "(?P<cells>[xo.]{3} [xo.]{3} [xo.]{3})"),
        "[xo](?=[(])",
    ),
    "xiangqi": Row(
        "Chinese chess.",
        ("Red", "Black"),
        (),
        Grid(9, 10, _letters(XIANGQI_PIECES), XIANGQI_PIECES, "(?P<cells>[a-zA-Z.]{9})", Look.POINTS),
    ),
    "y": Row("Connect all three sides.", ("White", "Black")),
}  # fmt: skip
"""The games, by OpenSpiel's names."""

LEFT_OUT: Final[Mapping[str, str]] = {
    "efg_game": "it is no game of its own: it reads one from a file on the server",
    "quoridor": "OpenSpiel warns with each game that its implementation has known errors",
}
"""The other games of its kind that OpenSpiel lists, and why they are left out."""
