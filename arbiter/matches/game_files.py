"""The games of a file, whichever of three forms it has: PGN, SGF, or the arbiter's own text.

Files may be of any size: they are read line by line, and a game is played only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, Literal, NamedTuple

from arbiter.games.registry import game as registered_game
from arbiter.matches import notation, pgn, sgf, sgf_nodes
from arbiter.matches.evolution import Games
from arbiter.matches.notation import NotationError, PlayedGame

Form = Literal["pgn", "sgf", "text"]

SUFFIXES: Final[dict[str, Form]] = {".pgn": "pgn", ".sgf": "sgf"}
"""The form of a file, by the end of its name in lower case; that of others is the arbiter's own text."""

FIRST_TAG: Final = "[Game "  #: begins a game in the arbiter's own text


class FileGame(NamedTuple):
    """A game of a file.

    number: of the game in the file, and its first line, from 1. heading: who played. play: plays its moves, at most so
    many (0: all; of PGN also `pgn.TO_COMMENT`); raises NotationError, naming the line.
    """

    number: int
    line: int
    heading: str
    play: Callable[[int], PlayedGame]


def form_of(name: str) -> Form:
    """Return the form of a file, by its name."""
    return next((form for suffix, form in SUFFIXES.items() if name.lower().endswith(suffix)), "text")


def games_of(lines: Iterable[str], form: Form, games: Games = registered_game) -> Iterator[FileGame]:
    """Yield the games of a file. Raises NotationError for a file that is in no such form at all."""
    if form == "pgn":
        for game in pgn.read(lines):
            yield FileGame(game.number, game.line, game.heading, partial(pgn.play, game, games=games))
    elif form == "sgf":
        for found in sgf_nodes.read(lines):
            yield FileGame(found.number, found.line, found.heading, partial(sgf.play, found, games=games))
    else:
        for number, (first, text) in enumerate(_texts(lines), 1):
            yield FileGame(number, first, _heading(text), partial(_play, text, first, games=games))


def _texts(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of each game: a tag `Game` begins the next one."""
    part: list[str] = []
    first = 1
    for number, line in enumerate(lines, 1):
        if line.startswith(FIRST_TAG) and any(each.strip() for each in part):
            yield first, "".join(part)
            part = []
        if not part:
            first = number
        part.append(line.rstrip("\r\n") + "\n")
    if any(each.strip() for each in part):
        yield first, "".join(part)


def _heading(text: str) -> str:
    try:
        tags = notation.tags_of(text)
    except NotationError:  # reading the game says so
        tags = {}
    return " – ".join(tags.get(name, "?") for name in ("Player1", "Player2"))


def _play(text: str, first: int, most: int = 0, games: Games = registered_game) -> PlayedGame:
    try:
        game = notation.read(text, games)
    except NotationError as error:
        raise NotationError(first + error.line - 1, error.problem) from None
    rules = games(game.tags["Game"])
    moves = tuple(move.move for move in game.moves)
    start = game.tags.get(notation.POSITION, "")
    return PlayedGame(rules.variant, start, moves[:most] if most else moves, game.result, game.ended)
