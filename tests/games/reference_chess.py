"""Chess a second time, from the rule sheet, with a dictionary of squares: slow, simple, shares no code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

Square = tuple[int, int]  # file and rank, from 0

LINES = {
    "B": [(1, 1), (1, -1), (-1, 1), (-1, -1)],
    "R": [(1, 0), (-1, 0), (0, 1), (0, -1)],
}
LINES["Q"] = LINES["B"] + LINES["R"]
LEAPS = {
    "N": [(a, b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a) != abs(b)],
    "K": LINES["Q"],
}


def name(square: Square) -> str:
    return "abcdefgh"[square[0]] + str(square[1] + 1)


def place(text: str) -> Square:
    return "abcdefgh".index(text[0]), int(text[1]) - 1


@dataclass(frozen=True)
class Reference:
    """A position: the pieces by square, in upper case for White."""

    pieces: dict[Square, str]
    white: bool
    rights: str
    passed: Square | None
    quiet: int
    number: int
    earlier: tuple[str, ...] = field(default=(), compare=False)

    def owns(self, square: Square, white: bool) -> bool:
        return square in self.pieces and self.pieces[square].isupper() == white

    def reach(self, start: Square) -> Iterator[Square]:
        """Yield the squares to which the piece on a square may go, without castling and without regard to check."""
        piece = self.pieces[start]
        white, kind = piece.isupper(), piece.upper()
        x, y = start
        if kind == "P":
            up = 1 if white else -1
            if (x, y + up) not in self.pieces:
                yield x, y + up
                if y == (1 if white else 6) and (x, y + 2 * up) not in self.pieces:
                    yield x, y + 2 * up
            for taken in ((x - 1, y + up), (x + 1, y + up)):
                if self.owns(taken, not white) or taken == self.passed:
                    yield taken
            return
        for dx, dy in LEAPS.get(kind, []):
            if 0 <= x + dx < 8 and 0 <= y + dy < 8 and not self.owns((x + dx, y + dy), white):
                yield x + dx, y + dy
        for dx, dy in LINES.get(kind, []):
            at = (x + dx, y + dy)
            while 0 <= at[0] < 8 and 0 <= at[1] < 8 and not self.owns(at, white):
                yield at
                if at in self.pieces:
                    break
                at = (at[0] + dx, at[1] + dy)

    def attacked(self, square: Square, by_white: bool) -> bool:
        """Say whether a piece could capture on a square, if a piece of the other side stood there."""
        stood = {**self.pieces, square: "p" if by_white else "P"}
        then = replace(self, pieces=stood, passed=None)
        return any(square in then.reach(other) for other, piece in stood.items() if piece.isupper() == by_white)

    def checked(self, white: bool) -> bool:
        king = next(square for square, piece in self.pieces.items() if piece == ("K" if white else "k"))
        return self.attacked(king, not white)

    def after(self, move: str) -> Reference:
        """Return the position after a move that `reach` or castling allows."""
        start, end = place(move[:2]), place(move[2:4])
        pieces = dict(self.pieces)
        piece = pieces.pop(start)
        quiet = self.quiet + 1 if piece.upper() != "P" and end not in pieces else 0
        if piece.upper() == "P" and end == self.passed:
            del pieces[end[0], start[1]]
        pieces[end] = (move[4].upper() if self.white else move[4]) if move[4:] else piece
        if piece.upper() == "K" and abs(start[0] - end[0]) == 2:
            corner, beside = ((7, end[1]), (5, end[1])) if end[0] == 6 else ((0, end[1]), (3, end[1]))
            pieces[beside] = pieces.pop(corner)
        homes = {"K": ("e1", "h1"), "Q": ("e1", "a1"), "k": ("e8", "h8"), "q": ("e8", "a8")}
        rights = "".join(
            right for right in self.rights if name(start) not in homes[right] and name(end) not in homes[right]
        )
        double = piece.upper() == "P" and abs(start[1] - end[1]) == 2
        passed = (start[0], (start[1] + end[1]) // 2) if double else None
        earlier = (*self.earlier, self.key()) if quiet else ()
        number = self.number + (not self.white)
        then = Reference(pieces, not self.white, rights, passed, quiet, number, earlier)
        if passed and not any(place(m[2:4]) == passed and pieces[place(m[:2])].upper() == "P" for m in then.legal()):
            then = replace(then, passed=None)
        return then

    def castlings(self) -> Iterator[str]:
        rank = 0 if self.white else 7
        for right, between, passing, end in (("K", (5, 6), (5, 6), "g"), ("Q", (1, 2, 3), (3, 2), "c")):
            if (right if self.white else right.lower()) not in self.rights:
                continue
            if any((x, rank) in self.pieces for x in between):
                continue
            if not any(self.attacked((x, rank), not self.white) for x in (4, *passing)):
                yield f"e{rank + 1}{end}{rank + 1}"

    def legal(self) -> set[str]:
        """Return the legal moves, whether or not the game has ended for another cause."""
        found = set()
        for start, piece in self.pieces.items():
            if piece.isupper() == self.white:
                for end in self.reach(start):
                    last = piece.upper() == "P" and end[1] in (0, 7)
                    found |= {name(start) + name(end) + letter for letter in ("qrbn" if last else ("",))}
        quick = replace(self, earlier=())
        return {move for move in found if not quick.moved_into_check(move)} | set(self.castlings())

    def moved_into_check(self, move: str) -> bool:
        start, end = place(move[:2]), place(move[2:4])
        pieces = dict(self.pieces)
        piece = pieces.pop(start)
        if piece.upper() == "P" and end == self.passed:
            del pieces[end[0], start[1]]
        pieces[end] = piece
        return replace(self, pieces=pieces, passed=None).checked(self.white)

    def key(self) -> str:
        return self.fen().rsplit(" ", 2)[0]

    def fen(self) -> str:
        ranks = []
        for y in range(7, -1, -1):
            row = "".join(self.pieces.get((x, y), " ") for x in range(8))
            for count in range(8, 0, -1):
                row = row.replace(" " * count, str(count))
            ranks.append(row)
        passed = name(self.passed) if self.passed else "-"
        colour = "w" if self.white else "b"
        return f"{'/'.join(ranks)} {colour} {self.rights or '-'} {passed} {self.quiet} {self.number}"

    def dead(self) -> bool:
        others = [(piece.upper(), (x + y) % 2) for (x, y), piece in self.pieces.items() if piece.upper() != "K"]
        if len(others) <= 1:
            return all(kind in "BN" for kind, _ in others)
        return all(kind == "B" for kind, _ in others) and len({shade for _, shade in others}) == 1

    def outcome(self) -> str:
        if not self.legal():
            return f"{2 if self.white else 1} checkmate" if self.checked(self.white) else "draw stalemate"
        if self.dead():
            return "draw dead_position"
        if self.earlier.count(self.key()) >= 4:
            return "draw fivefold_repetition"
        return "draw seventy_five_moves" if self.quiet >= 150 else "none"


def from_fen(text: str) -> Reference:
    ranks, colour, rights, passed, quiet, number = text.split(" ")
    pieces: dict[Square, str] = {}
    for y, row in zip(range(7, -1, -1), ranks.split("/"), strict=True):
        for count in range(1, 9):
            row = row.replace(str(count), " " * count)
        pieces |= {(x, y): piece for x, piece in enumerate(row) if piece != " "}
    square = None if passed == "-" else place(passed)
    return Reference(pieces, colour == "w", rights.replace("-", ""), square, int(quiet), int(number))
