"""What others have published of Go: counts of positions and games, values, captures, areas, superko.

The sources are in `tests/golden/go/published.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from arbiter.errors import Refusal
from arbiter.games.go import Go, GoPosition

PUBLISHED: Final = tomllib.loads((Path(__file__).parents[1] / "golden" / "go" / "published.toml").read_text("utf-8"))
SIDE: Final = 9
SIGNS: Final = str.maketrans("XO", "Ss")
LETTERS: Final = "abcdefghjklmnopqrst"


def board_of(columns: int, rows: int, komi: str = "0.5") -> Go:
    """Return Go on a smaller board: the lower left corner of one of nine lines. The rest is no part of the board."""
    if columns == rows == 19:
        return Go(size="19", komi=Decimal(komi))
    game = Go(komi=Decimal(komi))
    there = dict(zip(game.board.names, game._stones.bits, strict=True))
    game._stones.full = sum(there[f"{file}{rank + 1}"] for file in "abcdefghj"[:columns] for rank in range(rows))
    return game


def read(diagram: str) -> list[str]:
    return diagram.split()


def position_of(game: Go, rows: list[str], fields: str = "1 0 0") -> GoPosition:
    side = 19 if len(rows) == 19 else SIDE
    above = ["." * side] * (side - len(rows))
    return game.parse("/".join([*above, *(row.translate(SIGNS).ljust(side, ".") for row in rows)]) + f" {fields}")


def game_of(rows: list[str], komi: str = "0.5") -> Go:
    return board_of(len(rows[0]), len(rows), komi)


def named(rows: list[str]) -> dict[str, str]:
    """Return the signs of a diagram by their intersections."""
    height = len(rows)
    return {f"{LETTERS[x]}{height - y}": sign for y, row in enumerate(rows) for x, sign in enumerate(row)}


def stones(game: Go, position: GoPosition) -> dict[str, int]:
    pieces = zip(game.board.names, game.pieces(position), strict=True)
    return {name: piece.owner for name, piece in pieces if piece.owner}


def other_seat(position: GoPosition) -> GoPosition:
    return position._replace(turn=2 if position.turn == 1 else 1)


def moves_of_both(game: Go, position: GoPosition) -> Iterator[GoPosition]:
    """Yield the positions to which the stones of both players lead: one of them has passed, or not."""
    for seated in (position, other_seat(position)):
        for move in game.moves(seated):
            if move != "pass":
                yield game.play(seated, move)._replace(turn=1, plies=0)


@pytest.mark.parametrize("side", [1, 2, pytest.param(3, marks=pytest.mark.long)])
def test_as_many_positions_are_legal_and_reached(side: int) -> None:
    game = board_of(side, side)
    found = set[tuple[int, int]]()
    for cells in product(".XO", repeat=side * side):
        rows = ["".join(cells[at : at + side]) for at in range(0, side * side, side)]
        try:
            found.add(position_of(game, rows).stones)
        except Refusal:
            continue
    assert len(found) == PUBLISHED["positions"][str(side)]
    reached, new = {(0, 0)}, [game.initial()]
    while new:
        before = new.pop()
        for after in moves_of_both(game, before._replace(stood=frozenset((game._stones.key(*before.stones),)))):
            if after.stones not in reached:
                reached.add(after.stones)
                new.append(after)
    assert reached == found


def games_from(game: Go, position: GoPosition) -> int:
    """Return the number of games from a position on, that which ends here among them."""
    return 1 + sum(games_from(game, after) for after in moves_of_both(game, position))


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_there_are_as_many_games(columns: int) -> None:
    game = board_of(columns, 1)
    assert games_from(game, game.initial()) == PUBLISHED["games"][str(columns)]


def value(game: Go, position: GoPosition, low: int, high: int) -> int:
    """Return by how much Black's area is larger with best play, at least `low` and at most `high`."""
    if position.outcome is not None:
        first, second = game.counters(position).values()
        return max(low, min(high, first - second))
    moves = ["pass", *(move for move in game.moves(position) if move != "pass")]
    for move in moves:
        found = value(game, game.play(position, move), low, high)
        low, high = (max(low, found), high) if position.turn == 1 else (low, min(high, found))
        if low >= high:
            break
    return low if position.turn == 1 else high


@pytest.mark.parametrize("sides", PUBLISHED["values"])
def test_a_small_board_has_this_value(sides: str) -> None:
    columns, rows = map(int, sides.split(" x "))
    game = board_of(columns, rows)
    assert value(game, game.initial(), -columns * rows, columns * rows) == PUBLISHED["values"][sides]


def neighbours(point: str) -> Iterator[str]:
    """Yield the names beside a point, some of them off the board."""
    file, rank = LETTERS.index(point[0]) + 1, int(point[1:])
    for x, y in ((file - 1, rank), (file + 1, rank), (file, rank - 1), (file, rank + 1)):
        yield f"{' abcdefghjklmnopqrst '[x]}{y}"


def liberties(game: Go, standing: dict[str, int], point: str) -> int:
    """Return the liberties of the chain of a point, from the board's neighbours alone."""
    chain, left, free = {point}, [point], set[str]()
    while left:
        for name in neighbours(left.pop()):
            if name in game.board.index and name not in standing:
                free.add(name)
            elif standing.get(name) == standing[point] and name not in chain:
                chain.add(name)
                left.append(name)
    return len(free)


@pytest.mark.parametrize(("case", "colour"), list(product(PUBLISHED["capture"], ("black", "white"))))
def test_a_stone_has_as_many_liberties_once_it_has_captured(case: dict[str, str], colour: str) -> None:
    rows = read(case["board"])
    game = game_of(rows)
    position = position_of(game, rows, f"{1 if colour == 'black' else 2} 0 0")
    legal = set(game.moves(position))
    for point, expected in named(read(case[colour])).items():
        if expected == "-":
            assert point not in legal
        elif point not in legal:
            assert expected == "0", point
        else:
            after = stones(game, game.play(position, point))
            found = liberties(game, after, point) if point in after else 0
            assert found == int(expected), point


@pytest.mark.parametrize("case", PUBLISHED["area"])
def test_areas(case: dict[str, str]) -> None:
    rows, owners = read(case["board"]), named(read(case["owners"]))
    game = game_of(rows)
    ended = position_of(game, rows, "1 2 200")
    found = {game.board.names[cell]: "XO"[each.owner - 1] for each in game.regions(ended) for cell in each.cells}
    assert found == {name: sign for name, sign in owners.items() if sign != "."}


@pytest.mark.parametrize("case", PUBLISHED["score"])
def test_scores(case: dict[str, str]) -> None:
    rows = read(case["board"])
    game = game_of(rows, case["komi"])
    assert white_wins_by(game, position_of(game, rows, "1 2 100")) == Decimal(case["white"])


def white_wins_by(game: Go, ended: GoPosition) -> Decimal:
    """Return by how much White wins a game that is over, komi included."""
    first, second = game.counters(ended).values()
    by = Decimal(second) - first + Decimal(str(game.values["komi"]))
    assert ended.outcome is not None
    assert ended.outcome.winner == (2 if by > 0 else 1 if by else 0)
    return by


@pytest.mark.parametrize("case", PUBLISHED["line"], ids=lambda case: case["name"])
def test_superko_forbids_exactly_this(case: dict[str, Any]) -> None:
    rows = read(case["board"])
    game = game_of(rows)
    position = position_of(game, rows)
    for play in case["plays"]:
        move, colon, forbidden = play.partition(":")
        position = game.play(position, move)
        if colon:
            assert {*forbidden.split()} == only_repeats(game, position, {*named(rows)}), (play, game.text(position))
    if "white" in case:
        assert white_wins_by(game, position) == Decimal(case["white"])


def only_repeats(game: Go, position: GoPosition, points: set[str]) -> set[str]:
    """Return the free points on which only the history forbids a stone: without it, it would stand, or take others."""
    fresh = position._replace(stood=frozenset((game._stones.key(*position.stones),)))
    return (points & {*game.moves(fresh)}) - {*game.moves(position)}
