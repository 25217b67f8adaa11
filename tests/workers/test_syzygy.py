"""Syzygy tables: verdicts agree with solved endings, and what becomes of tables that can't be had."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from arbiter.errors import OperatorError
from arbiter.service.tournaments.adjudicators import AdjudicatedEnd, AdjudicatorFailed
from arbiter.workers import syzygy
from arbiter.workers.adjudicator_worker import AdjudicatorProcess
from arbiter.workers.syzygy import table_folder, verdict
from tests.workers.endings import all_solved

TABLES = Path(__file__).parent / "syzygy"
EVERY = 397  #: position of an ending is looked up, in both colours; all 1,098,916 agreed once

MATE_IN_ONE = "7k/8/5KQ1/8/8/8/8/8 w - - {} 1"
LOST_PAWN = "8/8/8/8/4k3/4P3/8/K7 b - - {} 1"


def fen(pieces: dict[int, str], turn: str) -> str:
    """Return a position; pieces: by square, from a1 to h8 rank by rank."""
    ranks = ["".join(pieces.get(8 * rank + file, "1") for file in range(8)) for rank in range(7, -1, -1)]
    return f"{re.sub('1+', lambda empty: str(len(empty[0])), '/'.join(ranks))} {turn} - - 0 1"


def mirrored(position: str) -> str:
    """Return a position with the colours swapped."""
    ranks, turn, *rest = position.split()
    return " ".join(["/".join(reversed(ranks.swapcase().split("/"))), "b" if turn == "w" else "w", *rest])


@pytest.mark.long
def test_verdicts_are_those_of_solved_endings() -> None:
    asked = 0
    for letter, ending in all_solved().items():
        for turn, there, decided in (("w", ending.white_moves, ending.won), ("b", ending.black_moves, ending.lost)):
            for piece, black, white in np.argwhere(there)[::EVERY]:
                position = fen({white: "K", black: "k", piece: letter}, turn)
                for winner, each in ((1, position), (2, mirrored(position))):
                    said = verdict(TABLES, each, ignore_50=False)
                    asked += 1
                    assert said is not None, each
                    assert said[0] == (winner if decided[piece, black, white] else 0), each
    assert asked > 5_000


@pytest.mark.parametrize(
    ("position", "quiet", "ignore_50", "expected"),
    [
        (MATE_IN_ONE, 0, False, (1, "KQvK is won for White, who is to move")),
        (MATE_IN_ONE, 1, False, None),
        (MATE_IN_ONE, 1, True, (1, "KQvK is won for White, who is to move")),
        (mirrored(MATE_IN_ONE), 0, False, (2, "KvKQ is won for Black, who is to move")),
        (LOST_PAWN, 0, False, (0, "KPvK is drawn for Black, who is to move")),
        (LOST_PAWN, 99, False, (0, "KPvK is drawn for Black, who is to move")),
        ("8/8/8/8/8/2n5/1k6/4K2R w K - {} 1", 0, False, None),
        ("8/8/8/8/8/2nn4/1k6/4K3 w - - {} 1", 0, False, None),
    ],
)
def test_a_win_counts_after_a_capture_or_pawn_move(
    position: str, quiet: int, ignore_50: bool, expected: tuple[int, str] | None
) -> None:
    """What the tables do not have, and castling rights, are no error."""
    assert verdict(TABLES, position.format(quiet), ignore_50) == expected


@pytest.mark.parametrize(
    ("value", "ignore_50", "expected"),
    [
        (1, False, (0, "KQvK is won for White, who is to move, but for the 50-move rule")),
        (1, True, (1, "KQvK is won for White, who is to move, but for the 50-move rule")),
        (-1, False, (0, "KQvK is lost for White, who is to move, but for the 50-move rule")),
        (-1, True, (2, "KQvK is lost for White, who is to move, but for the 50-move rule")),
        (-2, False, (2, "KQvK is lost for White, who is to move")),
    ],
)
def test_the_50_move_rule(
    monkeypatch: pytest.MonkeyPatch, value: int, ignore_50: bool, expected: tuple[int, str]
) -> None:
    """No ending of four pieces takes 50 moves, so the value is ours."""

    class Valued:
        def get_wdl(self, board: object) -> int:
            return value

    monkeypatch.setattr(syzygy, "_tables", lambda folder: Valued())
    assert verdict(TABLES, MATE_IN_ONE.format(0), ignore_50) == expected


def test_a_folder_has_the_tables_of_the_folders_in_it(tmp_path: Path) -> None:
    (tmp_path / "3").symlink_to(TABLES)
    nested = tmp_path / "all" / "3"
    nested.mkdir(parents=True)
    for file in TABLES.glob("*.rtbw"):
        (nested / file.name).symlink_to(file)
    assert table_folder(tmp_path / "all") == (tmp_path / "all", 3, 3)
    assert verdict(tmp_path / "all", MATE_IN_ONE.format(0), False) is not None


def test_a_folder_without_tables_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "KQvK.rtbz").touch()
    (tmp_path / "notes.rtbw").touch()
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(OperatorError, match=r"there are no Syzygy tables in .*: name a folder with"):
            table_folder(folder)
    monkeypatch.setattr(syzygy, "find_spec", lambda name: None)
    with pytest.raises(OperatorError, match=r"install the package with its extra, game-arbiter\[syzygy\]"):
        table_folder(TABLES)


@pytest.fixture
async def judges() -> AsyncIterator[AdjudicatorProcess]:
    process = AdjudicatorProcess(tables=TABLES)
    try:
        yield process
    finally:
        await process.close()


@pytest.mark.long
async def test_tables_are_read_in_a_process_of_their_own(judges: AdjudicatorProcess, tmp_path: Path) -> None:
    assert judges.has_tables
    expected = AdjudicatedEnd(1, "KQvK is won for White, who is to move")
    assert await judges.by_tables(MATE_IN_ONE.format(0), False) == expected
    assert await judges.by_tables(MATE_IN_ONE.format(1), False) is None
    none = AdjudicatorProcess()
    assert not none.has_tables
    with pytest.raises(AdjudicatorFailed, match="its setting `syzygy` names no folder"):
        await none.by_tables(MATE_IN_ONE.format(0), False)
