"""Attacks on a nest in Pondlife: whether it is attacked, and where its own side's pieces may go for its sake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arbiter.games.pondlife_position import Army
from arbiter.games.pondlife_tables import BOARD, Threat

EVERYWHERE: Final = (1 << BOARD.size) - 1


class Attack:
    """The table of moves seen from its targets; `sight` is that of `pondlife_tables.Tables`."""

    def __init__(self, sight: Sequence[dict[int, Threat]]) -> None:
        self._sight = sight

    def threats(self, cell: int, enemy: Army) -> list[Threat]:
        """Return the lines on which an army's pieces would move on to a cell, open or not."""
        sight = self._sight[cell]
        threats = [sight[place] for place in enemy.places if place in sight]
        if enemy.nest in BOARD.neighbours[cell] and enemy.leavings():
            threats.append(Threat(0, 1 << enemy.nest))
        return threats

    def attacked(self, own: Army, enemy: Army) -> bool:
        """Return whether an army's nest is attacked where it stands."""
        occupied = own.cells | enemy.cells
        return any(not clear & occupied for clear, _ in self.threats(own.nest, enemy))

    def attacked_at(self, cell: int, own: Army, enemy: Army) -> tuple[bool, bool]:
        """Return whether the nest would be attacked after its move to a cell: if it hatched, if it paid an egg.

        What it hatches stands on the cell just left, and closes lines; an egg leaves that cell open.
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
        """Return the cells to which pieces may go without leaving their nest attacked: most pieces, and pinned ones.

        Against an open line only taking the attacker or stepping on to the line helps. A piece that alone closes a
        line is pinned: it must do the same for that line. More cannot be needed, as a piece that arrives somewhere
        never opens a line. Pinned pieces are keyed by their cell, as a set. The nest's own moves are another matter.
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
