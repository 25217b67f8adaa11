"""Reports of other programs, as the pairing needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from arbiter.tournaments import trf
from arbiter.tournaments.dutch import Entry, Result

POINTS: Final = {**dict.fromkeys("1W+FU", 2), **dict.fromkeys("=DH", 1), **dict.fromkeys("0L-Z ", 0)}
PLAYED: Final = "1WDL=0"


class Report(NamedTuple):
    """A tournament: the cells of each player, by pairing number."""

    cells: dict[int, tuple[trf.Cell, ...]]
    rounds: int

    def before(self, round_: int) -> list[Entry]:
        """Return what was known when a round was paired."""
        return [
            Entry(number, [result_of(cell) for cell in cells[: round_ - 1]], cells[round_ - 1].result not in "HFZ ")
            for number, cells in self.cells.items()
        ]

    def pairs(self, round_: int) -> set[tuple[int, int]]:
        """Return the pairs of a round, white first."""
        cells = {number: cells[round_ - 1] for number, cells in self.cells.items()}
        return {(number, cell.opponent) for number, cell in cells.items() if cell.opponent and cell.colour == "w"}

    def bye(self, round_: int) -> int | None:
        """Return who was allocated the bye of a round."""
        return next((number for number, cells in self.cells.items() if cells[round_ - 1].result == "U"), None)


def read(path: Path) -> Report:
    """Return the tournament of a report."""
    cells = {each.number: each.cells for each in trf.read(path.read_text("utf-8")).players}
    return Report(cells, max(map(len, cells.values())))


def result_of(cell: trf.Cell) -> Result:
    """Return a cell as the Dutch rules need it."""
    return Result(cell.opponent, {"w": 1, "b": 2}.get(cell.colour, 0), POINTS[cell.result], cell.result in PLAYED)
