"""Hexagon boards have the cells and directions that the rules of the games describe."""

from __future__ import annotations

from itertools import pairwise
from math import dist

import pytest

from arbiter.boards.board import Board, Tile
from arbiter.boards.hexes import file_diagonals, hexagon_files, hexagon_rows, rows


def lines(board: Board) -> list[list[str]]:
    return [[board.names[cell] for cell in line] for line in board.lines]


def around(board: Board, name: str) -> dict[str, str]:
    cells = board.neighbours[board.index[name]]
    return {way: board.names[cell] for way, cell in zip(board.directions, cells, strict=True) if cell >= 0}


@pytest.mark.parametrize(("side", "cells"), [(3, 19), (5, 61), (7, 127), (10, 271)])
def test_a_hexagon_has_its_number_of_cells(side: int, cells: int) -> None:
    for board in (hexagon_rows(side), hexagon_files(side)):
        assert board.size == cells
        assert len(board.lines) == 2 * side - 1
        assert list(board.names) == sorted(board.names, key=lambda name: (name[0], int(name[1:])))


def test_rows_are_lettered_from_the_bottom_and_numbered_from_the_left() -> None:
    board = hexagon_rows(3)
    assert board.tile is Tile.HEX_ROWS
    assert lines(board) == [
        ["e1", "e2", "e3"],
        ["d1", "d2", "d3", "d4"],
        ["c1", "c2", "c3", "c4", "c5"],
        ["b1", "b2", "b3", "b4"],
        ["a1", "a2", "a3"],
    ]
    ys = [board.centres[line[0]][1] for line in board.lines]
    assert ys == sorted(ys, reverse=True)


def test_the_neighbours_in_rows_lie_in_the_six_directions() -> None:
    board = hexagon_rows(5)
    assert around(board, "e5") == {"E": "e6", "NE": "f5", "NW": "f4", "W": "e4", "SW": "d4", "SE": "d5"}
    assert around(board, "a1") == {"E": "a2", "NE": "b2", "NW": "b1"}
    assert around(board, "c7") == {"NE": "d8", "NW": "d7", "W": "c6", "SW": "b6"}


def test_the_centre_of_the_default_pods_board_is_g7() -> None:
    board = hexagon_rows(7)
    xs, ys = zip(*board.centres, strict=True)
    middle = ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
    assert dist(board.centres[board.index["g7"]], middle) == pytest.approx(0)


def test_rows_of_six_and_seven_cells_make_the_board_of_hop_it() -> None:
    board = rows("pond", [(6, 1), (7, 0), (6, 1), (7, 0), (6, 1), (7, 0), (6, 1)])
    assert board.size == 45
    assert [len(line) for line in board.lines] == [6, 7, 6, 7, 6, 7, 6]
    assert around(board, "a1") == {"E": "a2", "NE": "b2", "NW": "b1"}
    assert around(board, "b1") == {"E": "b2", "NE": "c1", "SE": "a1"}
    assert around(board, "d4") == {"E": "d5", "NE": "e4", "NW": "e3", "W": "d3", "SW": "c3", "SE": "c4"}


def test_files_are_lettered_from_the_left_and_read_from_the_top() -> None:
    board = hexagon_files(5)
    assert board.tile is Tile.HEX_FILES
    assert [len(line) for line in lines(board)] == [5, 6, 7, 8, 9, 8, 7, 6, 5]
    assert lines(board)[0] == ["a5", "a4", "a3", "a2", "a1"]
    assert lines(board)[4][0] == "e9"
    assert board.centres[board.index["e9"]][1] > board.centres[board.index["e1"]][1]


def test_the_neighbours_in_files_lie_clockwise_from_straight_up() -> None:
    board = hexagon_files(5)
    assert around(board, "e5") == {"N": "e6", "NE": "f5", "SE": "f4", "S": "e4", "SW": "d4", "NW": "d5"}
    assert around(board, "a1") == {"N": "a2", "NE": "b2", "SE": "b1"}
    assert around(board, "e9") == {"SE": "f8", "S": "e8", "SW": "d8"}


def test_diagonals_run_between_two_directions() -> None:
    board = hexagon_files(5)
    found = file_diagonals(board)[board.index["e5"]]
    assert [board.names[cell] for cell in found] == ["f6", "g4", "f3", "d3", "c4", "d6"]
    for cell, ends in enumerate(file_diagonals(board)):
        for number, end in enumerate(ends):
            first = board.neighbours[cell][number]
            if end >= 0 and first >= 0:
                assert end == board.neighbours[first][(number + 1) % 6]


@pytest.mark.parametrize("board", [hexagon_rows(4), hexagon_files(4)])
def test_neighbours_are_mutual_and_one_apart(board: Board) -> None:
    for cell, others in enumerate(board.neighbours):
        for direction, other in enumerate(others):
            if other >= 0:
                assert board.neighbours[other][(direction + 3) % 6] == cell
                assert dist(board.centres[cell], board.centres[other]) == pytest.approx(1)
    near = {
        (cell, other)
        for cell in range(board.size)
        for other in range(board.size)
        if cell != other and dist(board.centres[cell], board.centres[other]) < 1.1
    }
    assert near == {(cell, other) for cell in range(board.size) for other in board.adjacent(cell)}


@pytest.mark.parametrize("board", [hexagon_rows(4), hexagon_files(4)])
def test_lines_hold_every_cell_once_in_reading_order(board: Board) -> None:
    assert sorted(cell for line in board.lines for cell in line) == list(range(board.size))
    for line in board.lines:
        for one, next_one in pairwise(line):
            assert dist(board.centres[one], board.centres[next_one]) == pytest.approx(1)
