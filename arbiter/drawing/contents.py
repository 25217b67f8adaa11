"""A position as a short list of what stands where: what terminal, SVG file and browser draw on a board's skeleton.

Items are grouped by their looks, so that the list of a large board stays at one or two kilobytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import dist
from typing import Any, Final, NamedTuple

from arbiter.drawing.caption import signs
from arbiter.drawing.palette import SHADES, is_deep
from arbiter.drawing.piece_shapes import SHAPES, shape_name
from arbiter.drawing.shapes import arrow
from arbiter.drawing.skeleton import UNIT, Skeleton, skeleton
from arbiter.drawing.symbols import Placed, written
from arbiter.games.contract import AnyGame, Look, Piece, Region, Step

BEND: Final = 0.28  #: how far an arrow to a distant cell bends sideways, to be visible beside the pieces in between


class MoveArrow(NamedTuple):
    """An arrow of the last move: the class of its shaft (`way` or `dig`), path data, and the corners of its head."""

    kind: str
    shaft: str
    head: str


class GroupLink(NamedTuple):
    """Two neighbouring cells whose pieces, of a seat, are parts of one group."""

    owner: int
    first: int
    second: int


class Contents(NamedTuple):
    """What stands on a board, in layers from the ground up, by cell numbers.

    ground: heights, territories, lilies. last: the cells of the last move. ways: its arrows, below all pieces. signs:
    the numbers of heights. links: between the pieces of groups. over: what the last move took or changed, what is
    threatened, and targets; on stones and discs, what the last move set. moves: from where to where pieces went with
    the last move, for animation.
    """

    ground: tuple[Placed, ...]
    last: tuple[Placed, ...]
    ways: tuple[MoveArrow, ...]
    signs: tuple[Placed, ...]
    links: tuple[GroupLink, ...]
    pieces: tuple[Placed, ...]
    over: tuple[Placed, ...]
    moves: tuple[tuple[int, int], ...]


def contents(
    game: AnyGame,
    position: Any,
    last_move: Sequence[Step] | None = None,
    before: Any = None,
    targets: Iterable[str] = (),
) -> Contents:
    """Return what stands on the board in a position.

    `last_move`: the last move's steps, from `game.steps` on the position `before` it; with that position, what the move
    took off the board or changed is marked too. `targets`: names of cells to mark as where a piece may go.
    """
    board, pieces, steps = game.board, game.pieces(position), last_move or ()
    regions = game.regions(position)
    groups = [region for region in regions if region.kind == "group"]
    on_groups = {cell: region.sign for region in groups for cell in region.cells if region.sign}
    index = board.index
    arrived = [index[step.target] for step in steps if step.target]
    left = [index[step.source] for step in steps if step.source]
    taken, changed = _losses(pieces, game.pieces(before), {*arrived, *left}) if before is not None else ((), ())
    covered = game.facts.look in (Look.POINTS, Look.FELT, Look.RACK)  # the pieces hide what lies on their cells
    plain = game.facts.look is Look.CHEQUERED and sum(bool(step.source) for step in steps) == 1  # two marks are enough
    return Contents(
        ground=_ground(pieces, regions),
        last=()
        if covered
        else _placed([("to", "", cell) for cell in arrived] + [("from", "", c) for c in left if c not in arrived]),
        ways=() if plain else tuple(_ways(skeleton(board), pieces, steps)),
        signs=_placed(
            ("height-deep" if is_deep(piece.height) else "height", str(piece.height), cell)
            for cell, piece in enumerate(pieces)
            if piece.height >= 0
        ),
        links=tuple(_links(game, groups)),
        pieces=_placed(
            (_body(game, piece), on_groups.get(cell) or letter(game, piece), cell)
            for cell, piece in enumerate(pieces)
            if piece.letter
        ),
        over=_placed(
            [("fresh", "", cell) for cell in arrived if covered and pieces[cell].letter]
            + [("taken", "", cell) for cell in taken]
            + [("changed", "", cell) for cell in changed]
            + [("threat", region.sign, cell) for region in regions if region.kind == "threat" for cell in region.cells]
            + [("target", "", index[name]) for name in targets]
        ),
        moves=tuple(_moves(game, steps)),
    )


def drawn_signs(game: AnyGame, position: Any, letters: bool = False) -> Iterator[tuple[str, str]]:
    """Yield what the texts on pieces mean, as `signs` does: without letters where shapes say what a piece is."""
    shaped = not letters and game.facts.id in SHAPES
    yield from (sign for sign in signs(game, position) if not shaped or sign[0] not in (game.facts.letters or ()))


def letter(game: AnyGame, piece: Piece) -> str:
    """Return what is written on a piece: its letter and face, or '' if its shape or its seat alone says what it is."""
    if shape_name(game, piece):
        return ""
    return written(game, piece.letter, piece.owner) + (str(piece.facing) if _has_face(game, piece) else "")


def as_json(shown: Contents) -> dict[str, Any]:
    """Return contents as JSON values: empty layers are left out."""
    return {name: layer for name, layer in shown._asdict().items() if layer}


def _placed(items: Iterable[tuple[str, str, int]]) -> tuple[Placed, ...]:
    """Group items (symbol, text, cell) by symbol and text, in the order of their first cells; no cell twice."""
    cells: defaultdict[tuple[str, str], dict[int, None]] = defaultdict(dict)
    for symbol, text, cell in items:
        cells[symbol, text][cell] = None
    return tuple([Placed(symbol, text, tuple(those)) for (symbol, text), those in cells.items()])


def _ground(pieces: Sequence[Piece], regions: Iterable[Region]) -> tuple[Placed, ...]:
    heights = [(f"h{min(piece.height, SHADES)}", "", cell) for cell, piece in enumerate(pieces) if piece.height >= 0]
    lands = [(f"land{region.owner}", "", c) for region in regions if region.kind == "territory" for c in region.cells]
    marks = [("mark-arrow" if piece.mark == "arrow" else "mark", "", c) for c, piece in enumerate(pieces) if piece.mark]
    return _placed([*heights, *lands, *marks])


def _body(game: AnyGame, piece: Piece) -> str:
    turned = piece.facing >= 0 and not _has_face(game, piece)
    if name := shape_name(game, piece):
        return f"{name}.{piece.owner}.{piece.facing}" if turned else f"{name}.{piece.owner}"
    return f"p{piece.owner}-{piece.facing}" if turned else f"p{piece.owner}"


def _has_face(game: AnyGame, piece: Piece) -> bool:
    return piece.facing >= 0 and piece.letter.upper() in game.facts.faces


def _losses(pieces: Sequence[Piece], earlier: Sequence[Piece], touched: set[int]) -> tuple[list[int], list[int]]:
    """Return the cells whose pieces went off the board, and those whose pieces changed, beside where the move went."""
    pairs = [(cell, was, now) for cell, (was, now) in enumerate(zip(earlier, pieces, strict=True)) if was.letter]
    beside = [(cell, was, now) for cell, was, now in pairs if cell not in touched]
    taken = [cell for cell, was, now in beside if not now.letter]
    return taken, [
        cell for cell, was, now in beside if now.letter and (was.owner, was.letter) != (now.owner, now.letter)
    ]


def _links(game: AnyGame, groups: Iterable[Region]) -> Iterator[GroupLink]:
    for region in groups:
        cells = set(region.cells)
        for cell in region.cells:
            yield from (
                GroupLink(region.owner, cell, other) for other in game.board.adjacent(cell) if cell < other in cells
            )


def _moves(game: AnyGame, steps: Iterable[Step]) -> Iterator[tuple[int, int]]:
    for step in steps:
        if step.action in ("move", "hop", "castle") and step.source and step.target:
            yield game.board.index[step.source], game.board.index[step.target]


def _ways(shape: Skeleton, pieces: Sequence[Piece], steps: Iterable[Step]) -> Iterator[MoveArrow]:
    """Yield an arrow for each part of the last move that changed a cell."""
    index, centres = shape.board.index, shape.centres
    for step in steps:
        if step.source and step.target and step.source != step.target:
            start, end = index[step.source], index[step.target]
            gaps = [0.38 * UNIT if pieces[cell].letter else 0.1 * UNIT for cell in (start, end)]
            length = dist(centres[start], centres[end])
            bend = min(BEND, UNIT / length) if length > 1.5 * UNIT else 0.0
            shaft, head = arrow(centres[start], centres[end], (gaps[0], gaps[1]), bend, 0.22 * UNIT)
            yield MoveArrow("dig" if step.action == "dig" else "way", shaft, head)
