"""Attacks on a nest in Pondlife: whether it is attacked, and where pieces of its own side may go to protect it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arbiter.games.pondlife_position import Army
from arbiter.games.pondlife_tables import BOARD, Threat

EVERYWHERE: Final = (1 << BOARD.size) - 1


class Attack:
    """The table of moves indexed by target; `sight` is that of `pondlife_tables.Tables`."""

    def __init__(self, sight: Sequence[dict[int, Threat]]) -> None:
        self._sight = sight

    def threats(self, cell: int, enemy: Army) -> list[Threat]:
        """Return the lines along which an army's pieces would move to a cell, open or not."""
        sight = self._sight[cell]
        threats = [sight[place] for place in enemy.places if place in sight]
        if enemy.nest in BOARD.neighbours[cell] and enemy.leavings():
            threats.append(Threat(0, 1 << enemy.nest))
        return threats

    def attacked(self, own: Army, enemy: Army) -> bool:
        """Return whether an army's nest is attacked on its current cell."""
        occupied = own.cells | enemy.cells
        return any(not clear & occupied for clear, _ in self.threats(own.nest, enemy))

    def attacked_at(self, cell: int, own: Army, enemy: Army) -> tuple[bool, bool]:
        """Return whether the nest would be attacked after its move to a cell: if it hatches, and if it pays an egg.

        A hatched piece stands on the cell that the nest left, and blocks lines; an egg leaves that cell open.
        """
        occupied = own.cells | enemy.cells
        vacated = occupied ^ 1 << own.nest
        if_paid = False
        for clear, _ in self.threats(cell, enemy):
            if not clear & occupied:
                return True, True
            if_paid = if_paid or not clear & vacated
        return False, if_paid

    def guard(self, own: Army, enemy: Army) -> tuple[int, dict[int, int]]:
        """Return where pieces may go without leaving their nest attacked: for most pieces, and for pinned ones.

        Against an open line, a piece must take the attacker or step onto the line. A piece that alone blocks a line is
        pinned: it must do the same for that line. No further test is needed, because the arrival of a piece never opens
        a line. Pinned pieces are keyed by their cell, as a set. The nest's own moves are handled elsewhere.
        """
        occupied = own.cells | enemy.cells
        free = EVERYWHERE
        pinned: dict[int, int] = {}
        for clear, bit in self.threats(own.nest, enemy):
            blockers = clear & occupied
            if not blockers:
                free &= clear | bit
            elif blockers & own.cells and not blockers & (blockers - 1):
                pinned[blockers] = pinned.get(blockers, EVERYWHERE) & (clear | bit)
        return free, {cell: cells & free for cell, cells in pinned.items()}
