"""A line of play: a game, a start position and the moves since. Rules that depend on history need all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from arbiter.errors import Refusal, argument_invalid
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Game
from arbiter.games.remote import Question, foresee

FORESEEN: Final = 64  #: moves or positions that rules in another process are asked about at once

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Line:
    """A legal line of play. `positions[n]` is the position before `moves[n]`; the last position follows all moves."""

    game: AnyGame
    moves: tuple[str, ...]
    positions: tuple[Any, ...]

    @property
    def final(self) -> Any:
        """The position after the last move."""
        return self.positions[-1]


def replay(variant: str, start: str | None, moves: Sequence[str], most: int) -> Line:
    """Return the line of play of a variant's name, a position's text (None: the initial position) and the moves since.

    Raises Refusal: GAME_UNKNOWN, PARAMETER_INVALID, POSITION_MALFORMED; ARGUMENT_INVALID for more than `most` moves;
    MOVE_MALFORMED or MOVE_ILLEGAL with the fact `ply`, the number of moves of the line played before the bad one.
    """
    game = registry.game(variant)
    if len(moves) > most:
        raise argument_invalid(len(moves), "moves", f"at most {most} moves")
    return follow(game, game.initial() if start is None else game.parse(start), moves)


def written(game: AnyGame, before: Any, ply: int, move: str) -> str:
    """Return a legal move as people read it, with its number: `3. e5` in most games, `2… Nf6` in chess."""
    return f"{game.number(before, ply)} {game.notation(before, move)}"


def numbers_itself(game: AnyGame) -> bool:
    """Return whether moves have numbers of the game's own, and not those of their plies."""
    return type(game).number is not Game.number


def listed(line: Line, first: int, end: int) -> str:
    """Return the moves of a line at plies `first` to `end` - 1 as people read them, with the game's own numbers.

    In chess `1. e4 e5 2. Nf3`; in games that number plies the moves alone.
    """
    words: list[str] = []
    for ply in range(first, end):
        before, move = line.positions[ply], line.moves[ply]
        if numbers_itself(line.game) and (not words or before.turn == 1):
            words.append(line.game.number(before, ply))
        words.append(line.game.notation(before, move))
    return " ".join(words)


def along(game: AnyGame, start: Any, moves: Sequence[str]) -> Iterator[Any]:
    """Yield the positions after each of some moves in turn. Raises the same as `Game.play`."""
    position = start
    for ply, move in enumerate(moves):
        if ply % FORESEEN == 0 and ply + 1 < len(moves):
            soon = moves[ply : ply + FORESEEN]
            foresee(game, (("play", None if n else position, each) for n, each in enumerate(soon)))
        position = game.play(position, move)
        yield position


def foreseen(game: AnyGame, items: Sequence[T], asked: Callable[[T], Iterable[Question]]) -> Iterator[T]:
    """Yield items, and say to the game of many at once what it will be asked about each (see `remote.Question`)."""
    for at, item in enumerate(items):
        if at % FORESEEN == 0:
            foresee(game, (question for each in items[at : at + FORESEEN] for question in asked(each)))
        yield item


def follow(game: AnyGame, start: Any, moves: Sequence[str], first_ply: int = 0) -> Line:
    """Return the line of play from an existing position of a game. For the moves it raises the same as `replay`.

    Aliases of moves are resolved. `first_ply` is the ply of `start` in a longer line; refusals count plies from the
    beginning of that line.
    """
    positions, played = [start], [game.canonical(move) for move in moves]
    try:
        for position in along(game, start, played):
            positions.append(position)  # noqa: PERF402 - compiled, `extend` keeps none of those before a refusal
    except Refusal as refusal:
        ply = first_ply + len(positions) - 1
        facts = {**refusal.facts, "ply": str(ply)}
        raise Refusal.said(refusal.reason, f"move {ply + 1} of the line: {refusal.message}", facts) from None
    return Line(game, tuple(played), tuple(positions))
