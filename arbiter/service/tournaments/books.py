"""Opening books: files of any size, whose entries are start positions, moves, or both.

| file | an entry | games |
| --- | --- | --- |
| `.epd`, `.fen` | a line with a position: FEN, or EPD whose operations `hmvc` and `fmvn` count | chess, chess960 |
| `.pgn` | a game, with its start position | chess, chess960 |
| `.sgf` | a game, with the stones that it sets up | Go |
| others | a line with a variant, a position in brackets if it is not the initial one, and moves: `pods a1 b2` | all |

In lines, `#` begins a comment, and empty lines are no entries. Entries are numbered from 1 in the order of the file,
for each variant on its own. Of a game the first `plies` moves are taken (0: all), or those before its first comment
(`TO_COMMENT`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, NamedTuple, Protocol

from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.games.line import follow
from arbiter.matches.game_files import games_of
from arbiter.matches.notation import NotationError, PlayedGame
from arbiter.matches.pgn import TO_COMMENT
from arbiter.matches.pgn import parts as pgn_parts
from arbiter.tournaments.book_order import Opening, entry_number
from arbiter.tournaments.openings import Turn, opening, start
from arbiter.tournaments.spec import ALL_READ, Openings

BookForm = Literal["positions", "pgn", "sgf", "lines"]
SUFFIXES: Final[dict[str, BookForm]] = {".epd": "positions", ".fen": "positions", ".pgn": "pgn", ".sgf": "sgf"}
CHESS: Final = ("chess", "chess960")
GAMES: Final[dict[BookForm, tuple[str, ...]]] = {"positions": CHESS, "pgn": CHESS, "sgf": ("go",)}
"""The games of a book whose entries name none; they stand under the first."""

MOST_WRONG: Final = 100  #: wrong entries of a book in a row that are left out

_LINE: Final = re.compile(r"\s*(\S+)\s*(?:\[([^\]]*)\])?\s*(.*)")
_COUNTS: Final = {"hmvc": "0", "fmvn": "1"}
_OPERATION: Final = re.compile(r"\s*(hmvc|fmvn)\s+(\d+)\s*;?")


class Entry(NamedTuple):
    """Where an entry of a book is: its game (a variant of it, in lines), its first line, and the byte where it begins.

    nth: of several that begin in the same line, from 0.
    """

    game: str
    line: int
    start: int
    nth: int = 0


class BookFacts(NamedTuple):
    """What a tournament's record says of its book: the SHA-256 of the file, and its number of entries for a variant."""

    digest: str
    size: int


class BookProblem(Exception):
    """A book that is not there, is another one than before, or has a wrong entry; the message says which and where."""


class WrongEntry(Exception):
    """An entry that the rules do not allow; the message says in which file and line, and why."""


class Books(Protocol):
    """The opening books of a server, by name. Methods raise BookProblem."""

    def facts(self, name: str, game: str) -> BookFacts:
        """Return the facts of a book for a variant. Reads the whole file when it is new, or has changed."""

    def opening(self, name: str, digest: str, game: str, number: int, plies: int) -> Opening:
        """Return an entry by its number, from 1, with this many of its moves; see above. Raises WrongEntry."""


class NoBooks:
    """The books of a server without a folder for them."""

    def facts(self, name: str, game: str) -> BookFacts:
        """Raise BookProblem."""
        raise BookProblem("this server has no folder of opening books: its setting `books` is not set")

    def opening(self, name: str, digest: str, game: str, number: int, plies: int) -> Opening:
        """Raise BookProblem."""
        raise BookProblem("this server has no folder of opening books: its setting `books` is not set")


def form_of(name: str) -> BookForm:
    """Return the form of a book, by the end of its name."""
    return next((form for suffix, form in SUFFIXES.items() if name.lower().endswith(suffix)), "lines")


def entries(lines: Iterable[bytes], form: BookForm) -> Iterator[Entry]:
    """Yield where the entries of a book are, without reading them by the rules. Raises NotationError."""
    starts: dict[int, int] = {}  # of the lines that may begin an entry
    if form == "pgn":
        for first, _ in pgn_parts(_noted(lines, starts)):
            yield Entry(GAMES[form][0], first, starts[first])
            for line in [line for line in starts if line < first]:
                del starts[line]
    elif form == "sgf":
        last, nth = 0, 0
        for game in games_of(_noted(lines, starts), "sgf"):
            nth = nth + 1 if game.line == last else 0
            last = game.line
            yield Entry(GAMES[form][0], game.line, starts[game.line], nth)
            for line in [line for line in starts if line < last]:
                del starts[line]
    else:
        start = 0
        for number, data in enumerate(lines, 1):
            said = _text(data).partition("#")[0].split(maxsplit=1)
            if said:
                yield Entry(GAMES[form][0] if form in GAMES else said[0], number, start)
            start += len(data)


def _noted(lines: Iterable[bytes], starts: dict[int, int]) -> Iterator[str]:
    start = 0
    for number, line in enumerate(lines, 1):
        starts[number] = start
        start += len(line)
        yield _text(line)


def _text(line: bytes) -> str:
    return line.decode("utf-8-sig" if line.startswith(b"\xef\xbb\xbf") else "utf-8", errors="replace")


def read_entry(lines: Iterable[bytes], form: BookForm, entry: Entry, game: AnyGame, plies: int) -> Opening:
    """Return the opening of an entry, whose lines begin with its own. Raises NotationError, naming the line."""
    if form in ("pgn", "sgf"):
        for nth, found in enumerate(games_of(map(_text, lines), "pgn" if form == "pgn" else "sgf")):
            if nth == entry.nth:
                return _of_game(found.play, game, entry, plies)
    text = _text(next(iter(lines), b"")).partition("#")[0].strip()
    if form == "positions":
        return _checked(game, _position(text), (), entry.line)
    found_line = _LINE.fullmatch(text)
    if found_line is None:
        raise NotationError(entry.line, f"expected {game.facts.id}, and a position in brackets or moves")
    moves = tuple(found_line[3].split())
    return _checked(game, (found_line[2] or "").strip(), moves[:plies] if plies else moves, entry.line)


def _of_game(play: Callable[[int], PlayedGame], game: AnyGame, entry: Entry, plies: int) -> Opening:
    try:
        played = play(plies)
    except NotationError as error:
        raise NotationError(entry.line + error.line - 1, error.problem) from None
    moves = played.moves[:-1] if played.ended else played.moves
    return _checked(game, played.start, moves, entry.line)


def _position(text: str) -> str:
    """Return a FEN for one, or for an EPD: four fields and operations."""
    fields = text.split(maxsplit=4)
    rest = fields[4] if len(fields) > 4 else ""
    if re.fullmatch(r"\d+\s+\d+", rest):
        return " ".join([*fields[:4], *rest.split()])
    said = {**_COUNTS, **dict(_OPERATION.findall(rest))}
    return " ".join([*fields[:4], said["hmvc"], said["fmvn"]])


def _checked(game: AnyGame, position: str, moves: tuple[str, ...], line: int) -> Opening:
    """Return an opening that the rules allow and that does not end the game, as a match has it."""
    try:
        start = game.start(position)
    except Refusal as refusal:
        raise NotationError(line, f"{position!r} is no position of {game.variant}: {refusal.message}") from None
    if start.outcome is not None:
        raise NotationError(line, f"the game is over in this position: {start.outcome}")
    try:
        followed = follow(game, start, moves)
    except Refusal as refusal:
        raise NotationError(line, refusal.message) from None
    if followed.final.outcome is not None:
        raise NotationError(line, f"the game is over after these moves: {followed.final.outcome}")
    text = game.text(start)
    return Opening(followed.moves, "" if text == game.text(game.initial()) else text)


def variant_of(game: str, variant: str, form: BookForm) -> bool:
    """Return whether an entry of a game, or of a variant as it may be written, is one for a variant.

    Raises Refusal as the registry of games does.
    """
    if form in GAMES:
        return game == GAMES[form][0] and variant.partition("(")[0] in GAMES[form]
    return registry.game(game).variant == variant


def plies_of(openings: Openings) -> int:
    """Return how many moves of each entry of its book a tournament takes; see above."""
    return TO_COMMENT if openings.book_to_comment else openings.book_plies


def opening_of(books: Books, openings: Openings, game: str, turn: Turn) -> Opening:
    """Return the opening of a meeting's games: of the book, or as `arbiter.tournaments.openings` chooses it.

    An entry of the book that the rules do not allow is left out: the next one that they allow takes its place. Raises
    BookProblem for a book that is not there or is another one, and if too many entries in a row are wrong.
    """
    if not openings.book:
        return Opening(opening(openings, game, turn), start(openings, game, turn))
    first = entry_number(openings, game, turn)
    for tried in range(MOST_WRONG):
        entry = 1 + (first - 1 + tried) % openings.book_size
        try:
            return books.opening(openings.book, openings.book_hash, game, entry, plies_of(openings))
        except WrongEntry as wrong:
            if tried == MOST_WRONG - 1 or openings.book_size == 1:
                raise BookProblem(str(wrong)) from None
    raise AssertionError


def checked_facts(books: Books, name: str, game: str, plies: int) -> BookFacts:
    """Return the facts of a book, whose first entries are read by the rules. Raises BookProblem."""
    facts = books.facts(name, game)
    for entry in range(1, min(facts.size, ALL_READ) + 1):
        try:
            books.opening(name, facts.digest, game, entry, plies)
        except WrongEntry as wrong:
            raise BookProblem(str(wrong)) from None
    return facts
