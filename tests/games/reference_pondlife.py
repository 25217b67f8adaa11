"""Pondlife a second time, slow and simple, written from the rules text, to compare the engine with it.

It shares no code with the engine: cells are (file, Y) pairs, the board is a dictionary, and every move is tried on a
copy of the board. It reads only well-formed texts; a malformed one raises ValueError.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

Cell = tuple[int, int]
Piece = tuple[int, str, int]  # seat, upper-case letter, facing or face or -1
Board = dict[Cell, Piece]

DIRECTIONS = [(0, 2), (1, 1), (1, -1), (0, -2), (-1, -1), (-1, 1)]
DIAGONALS = [(1, 3), (2, 0), (1, -3), (-1, -3), (-2, 0), (-1, 3)]
ORDER = "FWSDEH"


def height(file: int) -> int:
    return 9 - abs(4 - file)


CELLS = {(file, 2 * k + abs(4 - file)) for file in range(9) for k in range(height(file))}


def name(cell: Cell) -> str:
    file, y = cell
    return "abcdefghi"[file] + str((y - abs(4 - file)) // 2 + 1)


def plus(cell: Cell, way: Cell, times: int = 1) -> Cell:
    return cell[0] + way[0] * times, cell[1] + way[1] * times


def slide(board: Board, start: Cell, way: Cell) -> list[Cell]:
    """Return the cells where a slide that begins after `start` may end: empty ones, and the first piece."""
    ends = []
    cell = plus(start, way)
    while cell in CELLS:
        ends.append(cell)
        if cell in board:
            break
        cell = plus(cell, way)
    return ends


@dataclass
class State:
    board: Board
    turn: int
    unhatched: dict[int, list[str]]
    eggs: dict[int, int]
    hatched: dict[int, int]
    quiet: int = 0
    handicap: int = 0
    history: list[Board] = field(default_factory=list)


class Reference:
    def __init__(self, eel: bool = False, lines: int = 2, handicap: int = 0, without: str = "none") -> None:
        self.lines = lines
        self.handicap = handicap
        self.full = list("FFFWWSDEH") if eel else list("FFFWWSDH")
        self.missing = "" if without == "none" else without

    def initial(self) -> State:
        board: Board = {}
        for file in range(9):
            lowest = abs(4 - file)
            highest = lowest + 2 * (height(file) - 1)
            board[file, lowest] = (1, "N", -1) if file == 4 else (1, "T", 0)
            board[file, highest] = (2, "N", -1) if file == 4 else (2, "T", 3)
        yellow = list(self.full)
        for letter in self.missing:
            yellow.remove(letter)
        state = State(board, 2 if self.handicap else 1, {1: yellow, 2: list(self.full)}, {1: 7, 2: 8}, {1: 0, 2: 0})
        state.handicap = self.handicap
        state.history.append(dict(board))
        return self.after_handicap(state)

    # The table

    def goals(self, board: Board, cell: Cell) -> set[tuple[Cell, int]]:
        """Return where the piece on a cell may go by the table, with the facing or face that it then has."""
        seat, letter, facing = board[cell]
        found = list(self.steps_and_jumps(board, cell))
        turns = {
            "W": [-2, -1, 1, 2],
            "S": [0, 1, 2, 3, 4, 5],
            "D": [-1, 1] if self.lines == 2 else [-1, 0, 1],
            "E": [-2, 2] if self.lines == 2 else [-2, 2, 3],
        }
        for turn in turns.get(letter, []):
            direction = (max(facing, 0) + turn) % 6
            way = DIRECTIONS[direction]
            start = plus(cell, way) if letter in "DE" else cell
            if start in CELLS:
                found.extend((end, -1 if letter == "S" else direction) for end in slide(board, start, way))
        if letter == "H":
            found.extend((end, -1) for way in DIAGONALS for end in slide(board, cell, way))
        return {(end, to) for end, to in found if end in CELLS and board.get(end, (0,))[0] != seat}

    def steps_and_jumps(self, board: Board, cell: Cell) -> Iterator[tuple[Cell, int]]:
        seat, letter, facing = board[cell]
        if letter in "NH":
            for way in DIRECTIONS:
                end = plus(cell, way)
                if letter == "H" or board.get(end, (0, "", 0))[:2] != (3 - seat, "T"):
                    yield end, -1
        elif letter == "T":
            ahead = plus(cell, DIRECTIONS[facing])
            if ahead not in board:
                yield ahead, facing
            for direction in ((facing - 1) % 6, (facing + 1) % 6):
                yield plus(cell, DIRECTIONS[direction]), direction
        elif letter == "F" and facing == 3:
            yield from ((plus(cell, way, 2), 4) for way in DIRECTIONS)
        elif letter == "F":
            yield from ((plus(cell, way), 3) for way in DIAGONALS)

    def leavings(self, state: State, seat: int) -> list[tuple[str, int]]:
        found = [("egg", -1)] if state.eggs[seat] else []
        for letter in sorted(set(state.unhatched[seat])):
            if letter == "H" and state.hatched[seat] < 4:
                continue
            facings = {"F": [3, 4], "W": range(6), "D": range(6), "E": range(6)}.get(letter, [-1])
            found.extend((letter, facing) for facing in facings)
        return found

    def attacked(self, state: State, board: Board, seat: int) -> bool:
        nest = next(cell for cell, piece in board.items() if piece[:2] == (seat, "N"))
        for cell, (owner, letter, _) in board.items():
            if owner != 3 - seat or (letter == "N" and not self.leavings(state, owner)):
                continue
            if any(end == nest for end, _ in self.goals(board, cell)):
                return True
        return False

    # Moves

    def legal(self, state: State) -> dict[str, tuple[Board, str]]:
        """Return the legal moves with the board after each and what it leaves behind, even if the game has ended."""
        seat = state.turn
        found: dict[str, tuple[Board, str]] = {}
        for cell, (owner, letter, _) in state.board.items():
            if owner != seat:
                continue
            for end, facing in self.goals(state.board, cell):
                if state.handicap and end in state.board:
                    continue
                board = {at: piece for at, piece in state.board.items() if at != cell}
                board[end] = (seat, letter, facing)
                text = f"{name(cell)}-{name(end)}"
                if letter != "N":
                    found[text] = (board, "")
                    continue
                for what, face in self.leavings(state, seat):
                    left = dict(board)
                    if what != "egg":
                        left[cell] = (seat, what, face)
                    found[f"{text}={what}" + (str(face) if face >= 0 else "")] = (left, what)
        return {
            text: (board, left)
            for text, (board, left) in found.items()
            if board not in state.history and not self.attacked(state, board, seat)
        }

    def after_handicap(self, state: State) -> State:
        if state.handicap and not self.legal(state):
            state.handicap = 0
            state.turn = 1
        return state

    def outcome(self, state: State) -> str:
        if not state.handicap and not self.legal(state):
            reason = "nest_trapped" if self.attacked(state, state.board, state.turn) else "no_moves"
            return f"{3 - state.turn} {reason}"
        return "draw sixty_moves" if state.quiet >= 120 else "none"

    def moves(self, state: State) -> set[str]:
        return set(self.legal(state)) if self.outcome(state) == "none" else set()

    def play(self, state: State, move: str) -> State:
        board, left = self.legal(state)[move]
        after = copy.deepcopy(state)
        seat = state.turn
        captures = sum(1 for piece in board.values() if piece[0] != seat) < sum(
            1 for piece in state.board.values() if piece[0] != seat
        )
        after.board = board
        if left == "egg":
            after.eggs[seat] -= 1
        elif left:
            after.unhatched[seat].remove(left)
            after.hatched[seat] += 1
        after.quiet = 0 if left or captures else state.quiet + 1
        after.history.append(dict(board))
        if state.handicap:
            after.handicap -= 1
        if not after.handicap:
            after.turn = 3 - seat
        return self.after_handicap(after)

    # Text

    def text(self, state: State) -> str:
        files = []
        for file in range(9):
            words = []
            for cell in sorted((cell for cell in CELLS if cell[0] == file), reverse=True):
                seat, letter, facing = state.board.get(cell, (0, ".", -1))
                words.append((letter.lower() if seat == 2 else letter) + (str(facing) if facing >= 0 else ""))
            files.append("".join(words))
        off = ["".join(sorted(state.unhatched[seat], key=lambda letter: ORDER.index(letter))) or "-" for seat in (1, 2)]
        numbers = [*state.eggs.values(), *state.hatched.values(), state.quiet, state.handicap]
        return " ".join(["/".join(files), str(state.turn), *off, *map(str, numbers)])

    def parse(self, text: str) -> State:
        fields = text.split(" ")
        board: Board = {}
        for file, column in enumerate(fields[0].split("/")):
            cells = sorted((cell for cell in CELLS if cell[0] == file), reverse=True)
            rest = list(column)
            for cell in cells:
                letter = rest.pop(0)
                if letter != ".":
                    facing = int(rest.pop(0)) if letter.upper() in "TFWDE" else -1
                    board[cell] = (1 if letter.isupper() else 2, letter.upper(), facing)
        off = {seat: [letter for letter in fields[1 + seat] if letter != "-"] for seat in (1, 2)}
        numbers = [int(word) for word in fields[4:]]
        eggs, hatched = {1: numbers[0], 2: numbers[1]}, {1: numbers[2], 2: numbers[3]}
        state = State(board, int(fields[1]), off, eggs, hatched, numbers[4], numbers[5], [dict(board)])
        for seat in (1, 2):
            if sum(1 for piece in board.values() if piece[:2] == (seat, "N")) != 1:
                raise ValueError("not one nest a side")
        if state.handicap and state.turn != 2:
            raise ValueError("handicap moves with seat 1 to move")
        state = self.after_handicap(state)
        if not state.handicap and self.attacked(state, state.board, 3 - state.turn):
            raise ValueError("the nest of the side not to move is attacked")
        return state
