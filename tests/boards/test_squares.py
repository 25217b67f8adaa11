"""Square boards have the names and the reading order that the rules of the games describe."""

from __future__ import annotations

from arbiter.boards.board import Tile
from arbiter.boards.squares import squares


def test_a1_is_the_lower_left_corner_and_the_top_rank_reads_first() -> None:
    board = squares(6, 6)
    assert board.tile is Tile.SQUARE
    assert board.size == 36
    assert board.centres[board.index["a1"]] == (0, 0)
    assert board.centres[board.index["f6"]] == (5, 5)
    assert [board.names[cell] for cell in board.lines[0]] == ["a6", "b6", "c6", "d6", "e6", "f6"]
    assert [board.names[line[0]] for line in board.lines] == ["a6", "a5", "a4", "a3", "a2", "a1"]


def test_eight_neighbours_clockwise_from_straight_up() -> None:
    board = squares(6, 6)
    assert board.directions == ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
    found = [board.names[cell] for cell in board.neighbours[board.index["b2"]]]
    assert found == ["b3", "c3", "c2", "c1", "b1", "a1", "a2", "a3"]
    assert [board.names[cell] for cell in board.adjacent(board.index["a1"])] == ["a2", "b2", "b1"]
    assert len(board.adjacent(board.index["f3"])) == 5


def test_neighbours_are_mutual() -> None:
    board = squares(5, 3)
    for cell, others in enumerate(board.neighbours):
        for direction, other in enumerate(others):
            if other >= 0:
                assert board.neighbours[other][(direction + 4) % 8] == cell
