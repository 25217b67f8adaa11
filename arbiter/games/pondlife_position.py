"""A position of Pondlife as a value, and its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, cast

from arbiter.errors import Refusal
from arbiter.games.contract import Outcome, Seat
from arbiter.games.pondlife_tables import BOARD, EMPTY, FACINGS, KINDS, NEST, NUMBER, FacingPiece, stamps

HATCHABLE: Final = (
    "FWSDEH"  #: letters of the pieces that start off the board, in the order in which the text lists them
)
FISH_AFTER: Final = 4  #: the fish hatches only after this many other pieces of its player
LARGEST_NUMBER: Final = 999_999_999
LONGEST_TEXT: Final = 1000  #: maximum characters; a text from a real game has fewer than 200

STAMPS: Final = (stamps(1), stamps(2))  #: by seat, then by place: the place as its share of a board's number


class Army(NamedTuple):
    """The pieces of one seat.

    places: its pieces on the board, in ascending order (see `pondlife_tables`). cells: their cells, as a set. nest: the
    nest's cell. unhatched: letters in the order of `HATCHABLE`. hatched: how many pieces it has hatched so far.
    """

    places: tuple[int, ...]
    cells: int
    nest: int
    unhatched: str
    eggs: int
    hatched: int

    def leavings(self) -> tuple[tuple[str, int], ...]:
        """Return what the nest may leave behind, as words of a move and kinds; if nothing, the nest cannot move."""
        return _leavings(self.unhatched, self.hatched >= FISH_AFTER, self.eggs > 0)


@lru_cache(maxsize=4096)
def _leavings(unhatched: str, fish: bool, eggs: bool) -> tuple[tuple[str, int], ...]:
    letters = [letter for letter in HATCHABLE if letter in unhatched and (fish or letter != "H")]
    kinds = [FacingPiece(letter, facing) for letter in letters for facing in FACINGS[letter]]
    return (("egg", EMPTY),) * eggs + tuple((kind.word, NUMBER[kind]) for kind in kinds)


class PondlifePosition(NamedTuple):
    """A position of Pondlife.

    board: every piece with owner and facing as one number, one byte per cell: kind, + 32 for seat 2. armies: by seat.
    quiet: plies without a capture or a nest move. handicap: Blue's remaining handicap moves. stood: the boards since
    the start that can still occur again, including this one.
    """

    board: int
    turn: Seat
    armies: tuple[Army, Army]
    quiet: int
    handicap: int
    stood: frozenset[int]
    outcome: Outcome | None = None


Refuse = Callable[[str, str, str], Refusal]
"""Makes the refusal of a malformed text from what is wrong, where, and what may stand there."""

_CELL = re.compile(r"\.|[NSHnsh]|[Ff][34]|[TWDEtwde][0-5]", re.ASCII)
_UNHATCHED = re.compile(r"-|(?=.)F*W*S*D*E*H*", re.ASCII)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_NUMBERS = (
    "the eggs of seat 1",
    "the eggs of seat 2",
    "the pieces hatched by seat 1",
    "the pieces hatched by seat 2",
    "the plies without capture or nest move",
    "the handicap moves left",
)

_WORD = {number: kind.word for number, kind in enumerate(KINDS[1:], 1)}
_WORD |= {number | 32: word.lower() for number, word in _WORD.items()} | {0: "."}
_BYTE = {word: number for number, word in _WORD.items()}


def army(seat: Seat, board: int, unhatched: str, eggs: int, hatched: int) -> Army:
    """Return the army of a seat on a board; the board must have exactly one nest of that seat."""
    owned = [
        (cell, byte & 31)
        for cell, byte in enumerate(board.to_bytes(BOARD.size, "little"))
        if byte and byte >> 5 == seat - 1
    ]
    places = tuple(cell << 5 | kind for cell, kind in owned)
    nest = next(cell for cell, kind in owned if kind == NEST)
    return Army(places, sum(1 << cell for cell, _ in owned), nest, unhatched, eggs, hatched)


def position_text(position: PondlifePosition) -> str:
    """Return a position's text."""
    cells = position.board.to_bytes(BOARD.size, "little")
    one, two = position.armies
    return " ".join(
        (
            "/".join("".join([_WORD[cells[cell]] for cell in line]) for line in BOARD.lines),
            str(position.turn),
            one.unhatched or "-",
            two.unhatched or "-",
            f"{one.eggs} {two.eggs} {one.hatched} {two.hatched} {position.quiet} {position.handicap}",
        )
    )


def read_position(text: str, refuse: Refuse) -> PondlifePosition:
    """Parse a position by its form only: attacks, the end of a handicap and the outcome are not computed.

    Raises the error that `refuse` returns.
    """
    if len(text) > LONGEST_TEXT:
        raise refuse(text, "the length", f"at most {LONGEST_TEXT} characters")
    fields = text.split(" ")
    if len(fields) != 10:
        raise refuse(text, "the fields", "ten, with one space between them")
    board = _read_board(fields[0], refuse)
    if fields[1] not in ("1", "2"):
        raise refuse(fields[1], "the seat to move", "1 or 2")
    for seat, field in zip((1, 2), fields[2:4], strict=True):
        if not _UNHATCHED.fullmatch(field):
            raise refuse(
                field, f"the unhatched pieces of seat {seat}", f"letters in the order {' '.join(HATCHABLE)}, or -"
            )
    for where, field in zip(_NUMBERS, fields[4:], strict=True):
        if not _NUMBER.fullmatch(field):
            raise refuse(field, where, "a number of at most nine digits, without leading zeros")
    turn = cast(Seat, int(fields[1]))
    unhatched = ["" if field == "-" else field for field in fields[2:4]]
    eggs_1, eggs_2, hatched_1, hatched_2, quiet, handicap = map(int, fields[4:])
    if handicap and turn != 2:
        raise refuse(fields[9], _NUMBERS[5], "0 with seat 1 to move")
    armies = army(1, board, unhatched[0], eggs_1, hatched_1), army(2, board, unhatched[1], eggs_2, hatched_2)
    return PondlifePosition(board, turn, armies, quiet, handicap, frozenset((board,)))


def _read_board(field: str, refuse: Refuse) -> int:
    files = field.split("/")
    if len(files) != len(BOARD.lines):
        raise refuse(field, "the board", f"{len(BOARD.lines)} files with / between them")
    board = 0
    for line, file in zip(BOARD.lines, files, strict=True):
        name = f"file {BOARD.names[line[0]][0]} of the board"
        for cell, word in zip(line, _read_file(file, name, len(line), refuse), strict=True):
            board |= _BYTE[word] << 8 * cell
    for seat, letter in ((1, "N"), (2, "n")):
        if field.count(letter) != 1:
            raise refuse(field, f"the nests of seat {seat}", f"exactly one {letter}")
    return board


def _read_file(file: str, name: str, size: int, refuse: Refuse) -> Sequence[str]:
    words: list[str] = []
    at = 0
    while at < len(file):
        word = _CELL.match(file, at)
        if word is None:
            raise refuse(file[at : at + 2], name, "., or a letter of NTFWSDEH with the facing or face that it has")
        words.append(word[0])
        at = word.end()
    if len(words) != size:
        raise refuse(file, name, f"{size} cells")
    return words
