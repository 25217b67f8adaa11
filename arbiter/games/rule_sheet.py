"""The rules of a game for people: the rules text, and the notation of moves and positions by examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from arbiter.boards.board import Tile
from arbiter.errors import with_article
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Piece, Step
from arbiter.games.remote import foresee

LONGEST_SEARCH: Final = 60  #: plies of the game that examples are taken from
MOST_LOOKED_AT: Final = 40  #: moves of each of its positions, and the last, which may be a pass or a swap
MOST_EXAMPLES: Final = 8
STRIDE: Final = 7_919  #: a prime, which chooses the moves of that game: the same ones each time

ACTIONS: Final = {
    "place": "places {piece} on {target}",
    "move": "moves from {source} to {target}",
    "hop": "hops from {source} to {target}",
    "dig": "takes a tile from {source} and puts it on {target}",
    "hatch": "hatches {piece} on {target}",
    "pay": "pays an egg",
    "pass": "passes",
    "castle": "castles: the rook goes from {source} to {target}",
    "become": "becomes {piece}",
    "shoot": "shoots an arrow from {source} to {target}",
    "swap": "takes over the first stone, as one on {target}",
}

CELLS: Final = {
    Tile.HEX_ROWS: "Rows have letters, `a` is the lowest; the cells of a row have numbers, from the left. A cell's "
    "neighbours are the two beside it in its row, and two in the row above and below.",
    Tile.HEX_FILES: "Files have letters, `a` is at the left; the cells of a file have numbers, from the bottom. "
    "Directions: 0 up, 1 right and up, 2 right and down, 3 down, 4 left and down, 5 left and up. Diagonal d runs "
    "between the directions d and d + 1.",
    Tile.SQUARE: "Files have letters, `a` is at the left; ranks have numbers, 1 is at the bottom: `a1` is the lower "
    "left corner.",
}

MARKS: Final = (
    "`(text)`: so it stands in the published rules. `(source)`: found in another source. `(ours)`: the arbiter's own "
    "ruling, where both say nothing."
)

POSITIONS: Final = """\
Fields with a space between them: the board, the seat to move (`1` or `2`), then the game's own fields. The board is \
{order}, with `/` between them. `.` is an empty cell. Seat 1 has its pieces in upper case, seat 2 in lower case."""

ORDERS: Final = {
    Tile.HEX_ROWS: "its rows from the top down, each from the left",
    Tile.HEX_FILES: "its files from the left, each from the top down",
    Tile.SQUARE: "its ranks from the top down, each from the left",
}


class Example(NamedTuple):
    """A legal move, what it does in words, and for a figure: the position before it, that after it, its steps."""

    move: str
    words: str
    before: Any
    after: Any
    steps: Sequence[Step]


def sheet(game: AnyGame) -> str:
    """Return the rules of a game as Markdown: its rules text, then moves and positions by examples."""
    start = game.initial()
    moves = "\n".join(f"- `{example.move}` {example.words}" for example in examples(game))
    after, played = start, []
    for example in game.moves(start)[:1]:
        after, played = game.play(start, example), [example]
    then = "".join(f"\n\nAfter `{move}`:\n\n    {game.text(after)}" for move in played)
    return (
        f"{registry.rules_text(game).rstrip()}\n\n{MARKS}\n\n{cells(game)}\n\n"
        f"## Moves\n\nEach of these is legal somewhere in a game of `{game.variant}`. `moves` lists those of your "
        f"position in `arbiter play`.\n\n{moves}\n\n"
        f"## Positions\n\n{_position_text(game)}\n\n"
        f"`arbiter show {game.facts.id} POSITION` draws a position. The start:\n\n"
        f"    {game.text(start)}{then}\n"
    )


def cells(game: AnyGame) -> str:
    """Return how the cells of a game's board are called, as Markdown."""
    return f"## Cells\n\n{game.facts.cell_text or CELLS[game.board.tile]}"


def positions(game: AnyGame) -> str:
    """Return how positions of a game are written, with the initial one, as Markdown."""
    return f"## Positions\n\n{_position_text(game)} The start:\n\n    {game.text(game.initial())}"


def _position_text(game: AnyGame) -> str:
    return game.facts.position_text or POSITIONS.format(order=ORDERS[game.board.tile])


def examples(game: AnyGame) -> list[Example]:
    """Return a move of each kind that a short game comes by, in the order in which they come up."""
    found: dict[tuple[object, ...], Example] = {}
    for position, move in _game(game):
        moves = game.moves(position)
        candidates = list(dict.fromkeys([move, *moves[:MOST_LOOKED_AT], moves[-1]]))
        foresee(game, ((asked, position, each) for asked in ("steps", "play") for each in candidates))
        positions = {each: game.play(position, each) for each in candidates}
        foresee(game, (("pieces", each) for each in (position, *positions.values())))
        pieces = game.pieces(position)
        for candidate, after in positions.items():
            steps = game.steps(position, candidate)
            effects = tuple(_effects(game, position.turn, list(zip(pieces, game.pieces(after), strict=True)), steps))
            kind = (*(action for action, _ in groupby(step.action for step in steps)), *effects)
            if kind not in found:
                words = "; ".join((described(game, steps) or "is legal", *effects))
                found[kind] = Example(candidate, words, position, after, steps)
        if len(found) >= MOST_EXAMPLES:
            break
    return list(found.values())[:MOST_EXAMPLES]


def described(game: AnyGame, steps: Sequence[Step]) -> str:
    """Return what a move does: `moves from a1 to b2, then pays an egg`."""
    return ", then ".join(
        ACTIONS.get(step.action, step.action).format(
            source=step.source, target=step.target, piece=_piece(game, step.piece)
        )
        for step in steps
    )


def _effects(game: AnyGame, mover: int, pairs: Sequence[tuple[Piece, Piece]], steps: Sequence[Step]) -> Iterator[str]:
    """Yield what else a move does to the pieces on the board, in words; pairs: before and after it, by cell."""
    seats = {mover: "of its own", 3 - mover: "of the opponent"}
    for seat, whose in seats.items():
        was, now = (sum(pair[at].owner == seat for pair in pairs) for at in (0, 1))
        if now < was:
            yield f"takes pieces {whose} off the board"
    touched = {game.board.index[name] for step in steps for name in (step.source, step.target) if name}
    beside = [pair for cell, pair in enumerate(pairs) if cell not in touched]
    if any(was.owner == now.owner and was.letter.upper() != now.letter.upper() for was, now in beside if now.letter):
        yield "makes another piece of one"


def _piece(game: AnyGame, letter: str) -> str:
    return with_article((game.facts.letters or {}).get(letter.upper(), "piece"))


def _game(game: AnyGame) -> Iterator[tuple[Any, str]]:
    """Yield the positions of a game and the move played in each; it is the same game each time."""
    position = game.initial()
    for ply in range(LONGEST_SEARCH):
        moves = game.moves(position)
        if not moves:
            return
        move = moves[(ply + 1) * STRIDE % len(moves)]
        yield position, move
        position = game.play(position, move)
