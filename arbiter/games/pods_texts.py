"""The texts of migrations, selected from one table by whole-array operations: a position has hundreds of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arbiter.games.pods_grid import Grid


class MigrationTexts:
    """The texts of all migrations on a hexagon, at start · lane + end, both as bit numbers of its grid."""

    def __init__(self, board: Grid) -> None:
        self._lane = board.lane
        self._texts: npt.NDArray[np.object_] = np.full(board.lane * board.lane, "", dtype=np.object_)
        for start in board.bits:
            for end in board.bits:
                self._texts[start * board.lane + end] = f"{board.names[start]}-{board.names[end]}"

    def listed(self, starts: Sequence[int], ends: int) -> list[str]:
        """Return the texts of the migrations from each start to the ends in its lane, ordered by start and end."""
        if not ends:
            return []
        lane = self._lane
        octets = np.frombuffer(ends.to_bytes((ends.bit_length() + 7) // 8, "little"), dtype=np.uint8)
        places = np.unpackbits(octets, bitorder="little").view(np.bool_).nonzero()[0]
        shifts = np.array([(start - number) * lane for number, start in enumerate(starts)])
        texts: list[str] = self._texts.take(places + shifts[places // lane]).tolist()
        return texts
