"""A position as text for a terminal, drawn from the board's geometry and the content of its cells.

Letters of seat 1 are upper case, of seat 2 lower case. A facing is an arrow (a face its number), a height a number, a
lily a pair of round brackets. Square brackets are around the cells of the last move (curly ones if a lily is there).
Where pieces count as one, the sign of their group is behind their letter, as is the sign of a piece that may be lost
with the next move; empty cells of a territory have a sign too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from arbiter.boards.board import Board, Tile
from arbiter.drawing.caption import cased, numbers, state
from arbiter.games.contract import AnyGame, Piece, Region, Step
from arbiter.plain_text import plain

ARROWS: Final = {"N": "↑", "NE": "↗", "E": "→", "SE": "↘", "S": "↓", "SW": "↙", "W": "←", "NW": "↖"}
"""The arrow of each direction's name. On a board with rows a diagonal arrow leans more than the row does."""

EMPTY: Final = "·"
LANDS: Final = {1: "+", 2: "-"}  #: an empty cell of a seat's territory
BRACKETS: Final = {(False, False): "  ", (True, False): "()", (False, True): "[]", (True, True): "{}"}
"""What stands around a cell, by (marked, touched by the last move)."""

RESET: Final = "\x1b[0m"
SEAT_COLOURS: Final = ("\x1b[2m", "\x1b[1;33m", "\x1b[1;36m")  # no owner dim, seat 1 yellow, seat 2 cyan
MARK_COLOUR: Final = "\x1b[32m"
TOUCHED_COLOUR: Final = "\x1b[7m"


def draw(
    game: AnyGame, position: Any, last_move: Sequence[Step] | None = None, colour: bool = False, caption: str = ""
) -> str:
    """Return a position as lines of text, ending with a newline; ANSI colours only if requested.

    `last_move` is the last move's steps, from `game.steps` on the position before it. `caption` stands in place of
    whose move it is, for a match that has ended otherwise than by its rules.
    """
    pieces = game.pieces(position)
    touched = touched_cells(last_move)
    regions = game.regions(position)
    lands, signs = _signs(regions, pieces)
    contents = _aligned(
        [str(piece.height) if piece.height >= 0 else "" for piece in pieces],
        [
            content(game, piece) + signs.get(cell, "") if piece.letter else lands.get(cell) or content(game, piece)
            for cell, piece in enumerate(pieces)
        ],
    )
    cells = {}
    for cell, (piece, text) in enumerate(zip(pieces, contents, strict=True)):
        brackets = BRACKETS[bool(piece.mark), game.board.names[cell] in touched]
        bare = brackets[0] + text + brackets[1]
        cells[cell] = _coloured(bare, piece, game.board.names[cell] in touched) if colour else bare
    canvas = _canvas(game.board, cells, len(contents[0]) + 2) if cells else picture(game, position)
    heading = plain(caption) if caption and position.outcome is None else state(game, position)
    lines = [f"{game.variant} – {heading}", "", *canvas]
    beside = [numbers(game, position)] if game.counters(position) else []
    beside += [
        f"{LANDS[seat]} is territory of {game.facts.seat_name(seat)}" for seat in LANDS if LANDS[seat] in lands.values()
    ]
    beside += [f"{region.sign}: {region.name}" for region in regions if region.kind == "threat"]
    return "\n".join([*lines, *([""] if beside else []), *beside, ""])


def picture(game: AnyGame, position: Any) -> list[str]:
    """Return the lines of the game's own picture of a position, with which other code drew it."""
    return [plain(line.rstrip()) for line in game.picture(position).splitlines()]


def _signs(regions: Iterable[Region], pieces: Sequence[Piece]) -> tuple[dict[int, str], dict[int, str]]:
    """Return by cell the signs of territories, on empty cells, and those of groups and threats, behind pieces."""
    lands: dict[int, str] = {}
    signs: dict[int, str] = {}
    for region in regions:
        for cell in region.cells:
            if region.kind != "territory":
                signs[cell] = signs.get(cell, "") + region.sign
            elif not pieces[cell].letter:
                lands[cell] = LANDS[region.owner]
    return lands, signs


def touched_cells(steps: Sequence[Step] | None) -> frozenset[str]:
    """Return the names of the cells that a move touches."""
    return frozenset(name for step in steps or () for name in (step.source, step.target) if name)


def content(game: AnyGame, piece: Piece) -> str:
    """Return the text of a cell without its height: letter and facing, or the sign of an empty cell."""
    if piece.letter:
        return cased(piece.letter, piece.owner) + facing(game, piece)
    return " " if piece.mark or piece.height >= 0 else EMPTY


def facing(game: AnyGame, piece: Piece) -> str:
    """Return a piece's facing: an arrow, a face's number, or nothing."""
    if piece.facing < 0:
        return ""
    if piece.letter.upper() in game.facts.faces:
        return str(piece.facing)
    return ARROWS[game.board.directions[piece.facing]]


def _aligned(heights: Sequence[str], contents: Sequence[str]) -> list[str]:
    """Return heights and contents side by side, each in a column as wide as its widest entry."""
    high, wide = max(map(len, heights), default=0), max(map(len, contents), default=0)
    return [height.rjust(high) + text.ljust(wide) for height, text in zip(heights, contents, strict=True)]


def _coloured(text: str, piece: Piece, touched: bool) -> str:
    colour = MARK_COLOUR if piece.mark and not piece.letter else SEAT_COLOURS[piece.owner]
    return f"{colour}{TOUCHED_COLOUR if touched else ''}{text}{RESET}"


def _canvas(board: Board, cells: Mapping[int, str], width: int) -> list[str]:
    """Return the lines of the board, from the top, with coordinates in the margins. `width`: characters per cell."""
    columns = {x: number for number, x in enumerate(sorted({round(x, 6) for x, _ in board.centres}))}
    lines = {y: number for number, y in enumerate(sorted({round(y, 6) for _, y in board.centres}, reverse=True), 1)}
    step = (width + 2) // 2 if board.tile is Tile.HEX_ROWS else width + 1
    places = [(lines[round(y, 6)], columns[round(x, 6)] * step + 3) for x, y in board.centres]
    written: dict[int, list[tuple[int, str, int]]] = {}  # by line: where a text starts, the text, its visible length
    for cell, text in cells.items():
        written.setdefault(places[cell][0], []).append((places[cell][1], text, width))
    for line, column, text in _margins(board, places, width):
        written.setdefault(line, []).append((column, text, len(text)))
    return [_joined(sorted(written.get(line, []))) for line in range(max(written) + 1) if line in written or line]


def _margins(board: Board, places: Sequence[tuple[int, int]], width: int) -> list[tuple[int, int, str]]:
    """Return the coordinates as (line, column, text): around squares; on hexagons the ends of each line."""
    found = []
    if board.tile is Tile.SQUARE:
        bottom, left = max(line for line, _ in places) + 1, min(column for _, column in places)
        right = max(column for _, column in places)
        for (line, column), name in zip(places, board.names, strict=True):
            if column == left:
                found += [(line, 0, name[1:]), (line, right + width + 1, name[1:])]
            if line == bottom - 1:
                found += [(edge, column + width // 2, name[:1]) for edge in (0, bottom)]
        return found
    for ends in board.lines:
        (line, column), (last_line, last_column) = places[ends[0]], places[ends[-1]]
        first, last = board.names[ends[0]], board.names[ends[-1]]
        if board.tile is Tile.HEX_ROWS:
            found += [(line, column - 3, first), (line, last_column + width + 1, last)]
        else:
            found += [(line - 1, column + width // 2, first), (last_line + 1, column + width // 2, last)]
    return found


def _joined(texts: Sequence[tuple[int, str, int]]) -> str:
    line, at = "", 0
    for column, text, length in texts:
        line += " " * (column - at) + text
        at = column + length
    return line.rstrip()
