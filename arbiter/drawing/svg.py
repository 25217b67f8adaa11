"""A position as SVG: one standalone file, put together from the board's skeleton, the game's symbols and the contents.

Colour is never the only difference (see `arbiter.drawing.palette`). Every cell is a group with its name as `data-cell`
and a title in words. The document has a title and a description for screen readers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from arbiter.drawing.caption import counts, numbers, sentence, state
from arbiter.drawing.contents import Contents, GroupLink, contents, drawn_signs
from arbiter.drawing.looks import over, tile_class, under
from arbiter.drawing.palette import LIGHT, Palette, css, seat_classes
from arbiter.drawing.shapes import Point, element, label, number, polygon, words
from arbiter.drawing.skeleton import Skeleton, skeleton, tile
from arbiter.drawing.symbols import Placed, Symbol, legend, placed, symbols
from arbiter.games.contract import AnyGame, Piece, Step

MARGIN: Final = 24.0
HEADER: Final = 74.0  #: pixels above the board for the caption
LINE: Final = 22.0  #: pixels per line of text
NARROWEST: Final = 440.0
BESIDE: Final = 210.0  #: pixels of the column beside the board, for the meaning of signs and the numbers of seats
TEXT: Final = 15.0  #: font size of the words
SMALL: Final = 0.3  #: scale of a piece beside its meaning
ASPECT: Final = 0.56  #: average width of a character relative to its font size, for line breaks


def svg(
    game: AnyGame,
    position: Any,
    last_move: Sequence[Step] | None = None,
    before: Any = None,
    palette: Palette = LIGHT,
    letters: bool = False,
) -> str:
    """Return a position as a standalone SVG document.

    `last_move`: the last move's steps, from `game.steps` on the position `before` it; with that position, what the move
    took off the board or changed is marked too. `letters`: pieces that have a shape are discs with letters instead.
    """
    shape, known = skeleton(game.board), symbols(game, letters)
    beside = list(_beside(game, position, letters))
    column = BESIDE if beside else 0.0
    width = max(shape.width + column + 2 * MARGIN, NARROWEST)
    footer = list(_wrapped(_footer(game, position, last_move, letters), width - 2 * MARGIN))
    deep = max(shape.height, len(beside) * LINE)
    height = HEADER + deep + len(footer) * LINE + MARGIN
    below = HEADER + deep + LINE / 2
    left = (width - column - shape.width) / 2
    title = f"{game.facts.name}: {state(game, position)}"
    return element(
        "svg",
        element("title", words(title)),
        element("desc", words(_described(game, position, last_move))),
        element("style", css(palette)),
        element("rect", class_="paper", width=width, height=height, rx=14.0),
        *_header(game, position, width),
        element(
            "g",
            *_board(game, known, game.pieces(position), contents(game, position, last_move, before)),
            transform=f"translate({number(left)} {number(HEADER)})",
        ),
        *_column(game, known, beside, (left + shape.width + MARGIN, HEADER + LINE)),
        *(label(line, (MARGIN, below + n * LINE), TEXT, "quiet", "start") for n, line in enumerate(footer)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
    )


def _board(game: AnyGame, known: dict[str, Symbol], pieces: Sequence[Piece], shown: Contents) -> Iterator[str]:
    """Yield the layers of a board, from the ground up."""
    shape, inks = skeleton(game.board), seat_classes(game.facts)
    corners = game.board.tile
    yield from under(game, shape)
    for cell, (name, at, piece) in enumerate(zip(game.board.names, shape.centres, pieces, strict=True)):
        title = element("title", words(cell_title(game, name, piece)))
        yield element(
            "g", title, polygon(tile(corners, at), class_=tile_class(game, cell)), class_="cell", data_cell=name
        )
    yield from over(game, shape)
    yield _layer("ground", _all(known, shape, shown.ground))
    yield _layer("last", _all(known, shape, shown.last))
    yield _layer("ways", (part for way in shown.ways for part in _arrow(*way)))
    yield _layer("names", [*shape.coordinates(), *_all(known, shape, shown.signs)])
    yield _layer("links", links(shape, inks, shown.links))
    yield _layer("pieces", _all(known, shape, shown.pieces))
    yield _layer("over", _all(known, shape, shown.over))


def links(shape: Skeleton, inks: tuple[str, str, str], pairs: Iterable[GroupLink]) -> Iterator[str]:
    """Yield the bars between the pieces of groups, one path for each owner: all outlines, then all insides."""
    bars = defaultdict[int, list[str]](list)
    for owner, first, second in pairs:
        ends = (" ".join(map(number, shape.centres[cell])) for cell in (first, second))
        bars[owner].append("M" + "L".join(ends))
    for kind in ("rim", "link"):
        for owner, those in sorted(bars.items()):
            yield element("path", class_=f"{kind}-{inks[owner]}", d="".join(those))


def cell_title(game: AnyGame, name: str, piece: Piece) -> str:
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


def _layer(name: str, parts: Iterable[str]) -> str:
    # What lies over the tiles must not keep the pointer from their titles.
    return element("g", *parts, class_=name, pointer_events="none")


def _all(known: dict[str, Symbol], shape: Skeleton, items: Iterable[Placed]) -> Iterator[str]:
    for symbol, text, cells in items:
        for cell in cells:
            yield placed(known[symbol], text, shape.centres[cell])


def _arrow(kind: str, shaft: str, head: str) -> tuple[str, str]:
    return element("path", class_=kind, d=shaft), element("polygon", class_="head", points=head)


def _header(game: AnyGame, position: Any, width: float) -> Iterator[str]:
    yield label(game.facts.name, (MARGIN, 28.0), 22.0, "strong", "start")
    if game.variant != game.facts.id:
        yield label(game.variant, (width - MARGIN, 28.0), TEXT, "quiet", "end")
    x = MARGIN
    for seat, ink in enumerate(seat_classes(game.facts)[1:], 1):
        name = game.facts.seat_name(seat)
        yield element("circle", class_=ink, cx=x + 9, cy=58.0, r=8.0)
        moves = position.outcome is None and position.turn == seat
        yield label(sentence(name), (x + 24, 58.0), TEXT, "strong" if moves else "quiet", "start")
        x += 48 + len(name) * TEXT * ASPECT
    yield label(sentence(state(game, position)), (width - MARGIN, 58.0), TEXT, "strong", "end")


def _beside(game: AnyGame, position: Any, letters: bool) -> Iterator[tuple[int, str, str]]:
    """Yield the lines beside the board: (seat or 0, sign, words).

    Seat -1 is a blank line, sign '#' a heading, and seat -2 the meaning of a symbol, which its sign names.
    """
    of_seats, found = counts(game, position).of_seats, list(drawn_signs(game, position, letters))
    pictures = [] if letters else list(legend(game))
    if not (found or pictures) or not any(of_seats):
        return  # a line below the board is enough
    for seat, numbers_of in enumerate(of_seats, 1):
        yield (seat, "#", sentence(game.facts.seat_name(seat)))
        yield from ((seat, "", f"{what}: {count}") for what, count in numbers_of.items())
        yield (-1, "", "")
    yield from ((-2, symbol, meaning) for symbol, meaning in pictures)
    yield from ((0, sign, meaning) for sign, meaning in found)


def _column(game: AnyGame, known: dict[str, Symbol], lines: Sequence[tuple[int, str, str]], at: Point) -> Iterator[str]:
    inks = seat_classes(game.facts)
    x, y = at
    for n, (seat, sign, text) in enumerate(lines):
        here = y + n * LINE
        if sign == "#":
            yield element("circle", class_=inks[seat], cx=x, cy=here, r=7.0)
        elif seat == -2:
            place = f"translate({number(x)} {number(here)}) scale({number(SMALL)})"
            yield element("g", known[sign].drawn, transform=place)
        else:
            yield label(sign, (x, here), TEXT, "strong")
        yield label(text, (x + 20, here), TEXT, "strong" if sign == "#" else "quiet", "start")


def _footer(game: AnyGame, position: Any, last_move: Sequence[Step] | None, letters: bool) -> list[str]:
    is_beside = any(_beside(game, position, letters))
    found = counts(game, position).others if is_beside else game.counters(position)
    beside = [f"{what}: {count}" for what, count in found.items()]
    if not is_beside:
        beside += [f"{sign} {meaning}" for sign, meaning in drawn_signs(game, position, letters)]
    return [*beside, *f"last move: {said_steps(last_move)}".split(", ")] if last_move else beside


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


def _described(game: AnyGame, position: Any, last_move: Sequence[Step] | None) -> str:
    held = [sum(piece.owner == seat for piece in game.pieces(position)) for seat in (1, 2)]
    parts = [
        f"{game.variant} on a board of {game.board.title}",
        f"{game.facts.seat_name(1)} has {held[0]} on the board, {game.facts.seat_name(2)} has {held[1]}",
        state(game, position),
        numbers(game, position),
        f"last move: {said_steps(last_move)}" if last_move else "",
    ]
    return "; ".join(filter(None, parts)) + "."


def said_steps(steps: Sequence[Step]) -> str:
    """Return the visible parts of a move in words: `move e1 e2, hatch F3 at e1`."""
    return ", ".join(_step_text(step) for step in steps)


def _step_text(step: Step) -> str:
    what = step.piece + (str(step.facing) if step.facing >= 0 else "")
    where = f"{step.source} to {step.target}" if step.source and step.target else step.source or step.target
    return " ".join(word for word in (step.action, what, where) if word)
