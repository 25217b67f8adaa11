"""A reader of FIDE tournament reports (TRF): the rounds of each player, as the pairing needs them.

Source: FIDE Handbook C.04, Annex 2 (TRF16): records 001, in columns; a round takes ten, from column 92 on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from arbiter.tournaments.dutch import Entry, Result

FIRST: Final = 91
WIDTH: Final = 10
POINTS: Final = {**dict.fromkeys("1W+FU", 2), **dict.fromkeys("=DH", 1), **dict.fromkeys("0L-Z ", 0)}
PLAYED: Final = "1WDL=0"


class Report(NamedTuple):
    """A tournament: the cells of each player, by pairing number, as opponent, colour and result."""

    cells: dict[int, list[tuple[int, str, str]]]
    rounds: int

    def before(self, round_: int) -> list[Entry]:
        """Return what was known when a round was paired."""
        return [
            Entry(number, [_result(*cell) for cell in cells[: round_ - 1]], cells[round_ - 1][2] not in "HFZ ")
            for number, cells in self.cells.items()
        ]

    def pairs(self, round_: int) -> set[tuple[int, int]]:
        """Return the pairs of a round, white first."""
        cells = {number: cells[round_ - 1] for number, cells in self.cells.items()}
        return {(number, cell[0]) for number, cell in cells.items() if cell[0] and cell[1] == "w"}

    def bye(self, round_: int) -> int | None:
        """Return who was allocated the bye of a round."""
        return next((number for number, cells in self.cells.items() if cells[round_ - 1][2] == "U"), None)


def read(path: Path) -> Report:
    """Return the tournament of a report; rounds that are missing at the end of a line are not played."""
    cells: dict[int, list[tuple[int, str, str]]] = {}
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("001"):
            body = line[FIRST:]
            parts = [body[start : start + WIDTH].ljust(WIDTH) for start in range(0, len(body.rstrip()), WIDTH)]
            cells[int(line[4:8])] = [(int(part[:4].strip() or 0), part[5], part[7]) for part in parts]
    rounds = max(map(len, cells.values()))
    for theirs in cells.values():
        theirs += [(0, "-", " ")] * (rounds - len(theirs))
    return Report(cells, rounds)


def _result(opponent: int, colour: str, result: str) -> Result:
    return Result(opponent, {"w": 1, "b": 2}.get(colour, 0), POINTS[result], result in PLAYED)
