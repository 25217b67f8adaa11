"""The stones of Go as two masks of bits, one for each seat: chains, captures and areas.

Each column has one bit more than the board has rows, which is never set, so that shifting a mask never carries a stone
from one column to the next. The bits are in the order of the board's cells.
"""

from __future__ import annotations

from collections.abc import Iterator


class GoBoard:
    """A board of `size` lines each way. A key is the number of both masks together, for repetition."""

    def __init__(self, size: int) -> None:
        self._stride = size + 1
        self._width = size * (size + 1)
        self.bits = [1 << file * (size + 1) + rank for file in range(size) for rank in range(size)]  #: by cell
        self.full = sum(self.bits)

    def around(self, stones: int) -> int:
        """Return the intersections next to stones, some of which may be stones of the set."""
        stride = self._stride
        return (stones << 1 | stones >> 1 | stones << stride | stones >> stride) & self.full

    def group(self, some: int, stones: int) -> int:
        """Return the stones that are joined to some of them."""
        grown = some
        while True:
            wider = (grown | self.around(grown)) & stones
            if wider == grown:
                return grown
            grown = wider

    def groups(self, stones: int) -> Iterator[int]:
        """Yield the groups of stones, in the order of their first cells."""
        while stones:
            group = self.group(stones & -stones, stones)
            stones &= ~group
            yield group

    def key(self, first: int, second: int) -> int:
        """Return the key of a position."""
        return first | second << self._width

    def placed(self, own: int, others: int, bit: int) -> tuple[int, int]:
        """Return both masks after a stone: the opponent's stones without a liberty go first, then one's own."""
        own |= bit
        left = self.around(bit) & others
        while left:
            group = self.group(left & -left, others)
            left &= ~group
            if not self.around(group) & ~(own | others):
                others &= ~group
        group = self.group(bit, own)
        if not self.around(group) & ~(own | others):
            own &= ~group
        return own, others

    def quiet(self, own: int, others: int, empty: int) -> int:
        """Return the empty intersections on which a stone takes no stones off the board."""
        taking = 0
        for group in self.groups(others):
            liberties = self.around(group) & empty
            if liberties & liberties - 1 == 0:
                taking |= liberties
        free = self.around(empty) & empty
        for group in self.groups(own):
            liberties = self.around(group) & empty
            if liberties & liberties - 1:
                free |= liberties
        return free & ~taking

    def areas(self, first: int, second: int) -> tuple[int, int]:
        """Return the area of each seat: its stones, and the empty intersections that reach only them."""
        areas = [first, second]
        for region in self.groups(self.full & ~(first | second)):
            edge = self.around(region)
            if bool(edge & first) != bool(edge & second):
                areas[0 if edge & first else 1] |= region
        return areas[0], areas[1]
