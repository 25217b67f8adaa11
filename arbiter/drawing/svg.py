"""A position as SVG: one standalone file, drawn from the board's geometry and the content of its cells.

Colour is never the only difference: seats also differ by lightness and by the case of their letters, heights by shade
and number, and the cells of the last move by an outline. Every cell is a group with its name as `data-cell` and a title
in words. The document has a title and a description for screen readers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import atan2, dist, pi, sqrt
from typing import Any, Final

from arbiter.boards.board import Board, Tile
from arbiter.drawing.caption import cased, numbers, sentence, state
from arbiter.drawing.shapes import Point, around, arrow, drop, element, label, number, polygon, words
from arbiter.games.contract import AnyGame, Piece, Step
from arbiter.games.playthrough import said_steps

UNIT: Final = 72.0  #: pixels between neighbouring centres
MARGIN: Final = 28.0
HEADER: Final = 74.0  #: pixels above the board for the caption
LINE: Final = 22.0  #: pixels per line of text below the board
NARROWEST: Final = 440.0
TEXT: Final = 15.0  #: font size of the words below the board
BEND: Final = 0.28  #: how far an arrow to a distant cell bends sideways, to avoid the pieces in between
ASPECT: Final = 0.56  #: average width of a character relative to its font size, for line breaks
BOLD: Final = 0.72  #: the same for a bold digit

STYLE: Final = """
text{font-family:system-ui,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;fill:#37424a}
.paper{fill:#fbfaf6}
.tile{fill:#dbe4e8;stroke:#fbfaf6;stroke-width:3;stroke-linejoin:round}
.name{fill:#53626b}
.mark{fill:#a5d18c;stroke:#5c8f45;stroke-width:2;stroke-linejoin:round}
.seat1{fill:#f6b93b;stroke:#7a5200;stroke-width:2.5;stroke-linejoin:round}
.seat2{fill:#1f3a63;stroke:#0c1a30;stroke-width:2.5;stroke-linejoin:round}
.seat0{fill:#9aa5ab;stroke:#5d686e;stroke-width:2.5}
.letter1,.letter0{fill:#33230a;font-weight:700}
.letter2{fill:#ffffff;font-weight:700}
.height{font-weight:600}
.height.deep{fill:#ffffff}
.name.deep{fill:#efe6d8}
.from,.to{fill:none;stroke:#b3005e;stroke-width:4;stroke-linejoin:round}
.from{stroke-dasharray:7 6}
.halo,.way,.dig{fill:none;stroke:#fbfaf6;stroke-width:9;stroke-linecap:round}
.way,.dig{stroke:#b3005e;stroke-width:5}
.dig{stroke-dasharray:3 9}
.head{fill:#b3005e;stroke:#fbfaf6;stroke-width:1.5;stroke-linejoin:round}
.game{font-weight:700}
.turn{font-weight:700}
"""

NAME_SPOTS: Final = {
    Tile.HEX_ROWS: ((0.0, 0.405), "middle"),
    Tile.HEX_FILES: ((-0.415, 0.0), "middle"),
    Tile.SQUARE: ((0.42, 0.38), "end"),
}
"""Where in a tile its name stands, from the centre, in units with y down: in a corner that no beak points at."""

HEIGHT_SPOTS: Final = {
    Tile.HEX_ROWS: ((0.0, -0.42), "middle"),
    Tile.HEX_FILES: ((0.43, 0.0), "middle"),
    Tile.SQUARE: ((-0.41, -0.34), "start"),
}
"""Where in a tile its height stands, likewise."""

GROUND: Final = ((0xF4, 0xEF, 0xE2), (0x6B, 0x4E, 0x32))  # the shades of the lowest and the highest tiles
HIGHEST_SHADE: Final = 8  #: heights from here on have the same shade and differ only by number


def svg(game: AnyGame, position: Any, last_move: Sequence[Step] | None = None) -> str:
    """Return a position as a standalone SVG document.

    `last_move` is the last move's steps, from `game.steps` on the position before it.
    """
    board = game.board
    xs, ys = [x for x, _ in board.centres], [y for _, y in board.centres]
    span = (max(xs) - min(xs) + 1.16) * UNIT
    width = max(span + 2 * MARGIN, NARROWEST)
    deep = (max(ys) - min(ys) + 1.16) * UNIT
    left, top = (width - (max(xs) - min(xs)) * UNIT) / 2, HEADER + MARGIN / 2 + 0.58 * UNIT
    centres = [(left + (x - min(xs)) * UNIT, top + (max(ys) - y) * UNIT) for x, y in board.centres]
    footer = list(_wrapped(_footer(game, position, last_move), width - 2 * MARGIN))
    height = HEADER + deep + MARGIN + len(footer) * LINE + MARGIN / 2
    below = HEADER + deep + MARGIN + LINE / 2
    pieces = game.pieces(position)
    title = f"{game.facts.name}: {state(game, position)}"
    return element(
        "svg",
        element("title", words(title)),
        element("desc", words(_described(game, position, pieces, last_move))),
        element("style", STYLE),
        element("rect", class_="paper", width=width, height=height, rx=14.0),
        *_header(game, position, width),
        *(_cell(game, cell, piece, centres[cell], last_move or ()) for cell, piece in enumerate(pieces)),
        *_arrows(board, centres, pieces, last_move or ()),
        *(label(line, (MARGIN, below + n * LINE), TEXT, "beside", "start") for n, line in enumerate(footer)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
    )


def _cell(game: AnyGame, cell: int, piece: Piece, at: Point, last_move: Sequence[Step]) -> str:
    name = game.board.names[cell]
    x, y = at
    parts = [element("title", words(_cell_title(game, name, piece)))]
    dark = " deep" if piece.height > HIGHEST_SHADE // 2 else ""
    shade: dict[str, str | float] = {"style": f"fill:{_shade(piece.height)}"} if piece.height >= 0 else {}
    parts.append(polygon(_tile(game.board.tile, at), class_="tile", **shade))
    if piece.mark:
        parts.append(_pad(at))
    if touch := _touch(name, last_move):
        parts.append(polygon(_tile(game.board.tile, at, 0.93), class_=touch))
    (dx, dy), anchor = NAME_SPOTS[game.board.tile]
    parts.append(label(name, (x + dx * UNIT, y + dy * UNIT), 0.15 * UNIT, "name" + dark, anchor))
    if piece.letter:
        parts.append(_piece(game, piece, at))
    if piece.height >= 0:
        digits = str(piece.height)
        (dx, dy), anchor = HEIGHT_SPOTS[game.board.tile]
        size = UNIT * min(0.24, 0.84 / len(digits) / BOLD)
        parts.append(label(digits, (x + dx * UNIT, y + dy * UNIT), size, "height" + dark, anchor))
    return element("g", *parts, class_="cell", data_cell=name)


def _touch(name: str, last_move: Sequence[Step]) -> str:
    """Return how the last move touched a cell: `to`, `from` or not at all."""
    if any(step.target == name for step in last_move):
        return "to"
    return "from" if any(step.source == name for step in last_move) else ""


def _tile(tile: Tile, at: Point, scale: float = 1.0) -> list[Point]:
    if tile is Tile.SQUARE:
        return around(at, scale * UNIT / sqrt(2), 4, pi / 4)
    return around(at, scale * UNIT / sqrt(3), 6, pi / 2 if tile is Tile.HEX_ROWS else 0.0)


def _shade(height: int) -> str:
    part = min(height, HIGHEST_SHADE) / HIGHEST_SHADE
    mixed = (round(low + (high - low) * part) for low, high in zip(*GROUND, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _pad(at: Point) -> str:
    """Return a lily: a round leaf with a notch, large enough to be visible around a piece."""
    x, y = at
    r = 0.44 * UNIT
    (ax, ay), (bx, by) = around(at, r, 24, pi / 4)[0], around(at, r, 24, pi / 4)[2]
    path = (
        f"M{number(x)} {number(y)}L{number(bx)} {number(by)}A{number(r)} {number(r)} 0 1 0 {number(ax)} {number(ay)}Z"
    )
    return element("path", class_="mark", d=path)


def _piece(game: AnyGame, piece: Piece, at: Point) -> str:
    radius = 0.305 * UNIT
    face = piece.facing >= 0 and piece.letter.upper() in game.facts.faces
    kind = f"seat{piece.owner}"
    if piece.facing >= 0 and not face:
        body = drop(at, radius, 0.49 * UNIT, _angle(game.board, piece.facing), class_=kind)
    else:
        body = element("circle", class_=kind, cx=at[0], cy=at[1], r=radius)
    text = cased(piece.letter, piece.owner) + (str(piece.facing) if face else "")
    return body + label(text, at, (0.3 if face else 0.38) * UNIT, f"letter{piece.owner}")


def _angle(board: Board, direction: int) -> float:
    """Return the angle of a direction in radians, anticlockwise from east, by the positions of neighbouring cells."""
    cell, other = next((cell, row[direction]) for cell, row in enumerate(board.neighbours) if row[direction] >= 0)
    (x, y), (to_x, to_y) = board.centres[cell], board.centres[other]
    return atan2(to_y - y, to_x - x)


def _arrows(board: Board, centres: Sequence[Point], pieces: Sequence[Piece], steps: Sequence[Step]) -> Iterator[str]:
    """Yield an arrow for each part of the last move that changed a cell: all shafts, then all heads."""
    heads = []
    for step in steps:
        if step.source and step.target and step.source != step.target:
            start, end = board.index[step.source], board.index[step.target]
            gaps = [0.36 * UNIT if pieces[cell].letter else 0.1 * UNIT for cell in (start, end)]
            length = dist(centres[start], centres[end])
            bend = min(BEND, UNIT / length) if length > 1.5 * UNIT else 0.0
            shaft, head = arrow(centres[start], centres[end], (gaps[0], gaps[1]), bend, 0.24 * UNIT)
            yield element("path", class_="halo", d=shaft)
            yield element("path", class_="dig" if step.action == "dig" else "way", d=shaft)
            heads.append(head)
    yield from heads


def _header(game: AnyGame, position: Any, width: float) -> Iterator[str]:
    yield label(game.facts.name, (MARGIN, 28.0), 22.0, "game", "start")
    if game.variant != game.facts.id:
        yield label(game.variant, (width - MARGIN, 28.0), TEXT, "beside", "end")
    x = MARGIN
    for seat in (1, 2):
        name = game.facts.seat_name(seat)
        yield element("circle", class_=f"seat{seat}", cx=x + 9, cy=58.0, r=8.0)
        moves = position.outcome is None and position.turn == seat
        yield label(sentence(name), (x + 24, 58.0), TEXT, "turn" if moves else "beside", "start")
        x += 48 + len(name) * TEXT * ASPECT
    yield label(sentence(state(game, position)), (width - MARGIN, 58.0), TEXT, "turn", "end")


def _footer(game: AnyGame, position: Any, last_move: Sequence[Step] | None) -> list[str]:
    beside = numbers(game, position)
    found = beside.split(" · ") if beside else []
    return [*found, *f"last move: {said_steps(last_move)}".split(", ")] if last_move else found


def _wrapped(items: Sequence[str], width: float) -> Iterator[str]:
    """Yield lines of items, as many on each as fit into a width in pixels."""
    most, line = int(width / (TEXT * ASPECT)), ""
    for item in items:
        longer = f"{line} · {item}" if line else item
        if line and len(longer) > most:
            yield line
            longer = item
        line = longer
    if line:
        yield line


def _cell_title(game: AnyGame, name: str, piece: Piece) -> str:
    """Return a cell in words: `e5: Orca pod`."""
    parts = []
    if piece.letter:
        kind = (game.facts.letters or {}).get(piece.letter.upper(), piece.letter)
        parts.append(f"{game.facts.seat_name(piece.owner)} {kind}" if piece.owner else kind)
        if piece.facing >= 0:
            face = piece.letter.upper() in game.facts.faces
            parts.append(f"face {piece.facing}" if face else f"facing {game.board.directions[piece.facing]}")
    if piece.height >= 0:
        parts.append(f"height {piece.height}")
    if piece.mark:
        parts.append(piece.mark)
    return f"{name}: {', '.join(parts) or 'empty'}"


def _described(game: AnyGame, position: Any, pieces: Sequence[Piece], last_move: Sequence[Step] | None) -> str:
    held = [sum(piece.owner == seat for piece in pieces) for seat in (1, 2)]
    parts = [
        f"{game.variant} on a board of {game.board.title}",
        f"{game.facts.seat_name(1)} has {held[0]} on the board, {game.facts.seat_name(2)} has {held[1]}",
        state(game, position),
        *_footer(game, position, last_move),
    ]
    return "; ".join(parts) + "."
