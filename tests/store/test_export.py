"""`arbiter export` is killed in the middle: what is in the folder then is whole, and the command goes on from there."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pyarrow.parquet
import pytest

from arbiter.keys.watermark import Watermark
from arbiter.store.database import shown
from tests.cli.command import COMMAND, WAIT_S, clean_environment
from tests.forked import run_script
from tests.store.test_seals import fill

pytestmark = pytest.mark.long

KILLED = """
import os, sys
from pathlib import Path
from arbiter.cli.app import run

when, nth, *words = sys.argv[1:]
left = int(nth)

def count():
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), 9)

if when == "in a file":
    write = Path.write_bytes
    def write_half(path, data):
        if left == 1:
            write(path, data[: len(data) // 2])
        count()
        return write(path, data)
    Path.write_bytes = write_half
elif when == "before it appears":
    replace = Path.replace
    Path.replace = lambda path, target: (count(), replace(path, target))[1]
elif when == "in a table":
    from pyarrow.parquet import ParquetWriter
    from arbiter.cli import parquet
    parquet.table.__wrapped__.__defaults__ = (5,)  # rows of a group
    group = ParquetWriter.write_table
    ParquetWriter.write_table = lambda *given, **named: (group(*given, **named), count())
sys.exit(run(words))
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
async def source(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, ...]:
    """Return the options for a store that has finished matches, on either kind of database."""
    url, ring = str(request.getfixturevalue(request.param)), tmp_path / "arbiter.keys"
    Watermark(ring, shown(url)).reached(await fill(url, ring), 0)
    return "--store", url, "--keys", str(ring)


def export(folder: Path, *options: str) -> str:
    command = [*COMMAND, "export", str(folder), *options]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=WAIT_S, env=clean_environment()
    ).stdout


def kill_in(when: str, nth: int, folder: Path, *options: str) -> None:
    assert run_script(KILLED, when, str(nth), "export", str(folder), *options) == -signal.SIGKILL


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_killed_export_leaves_whole_transcripts_and_goes_on(source: tuple[str, ...], tmp_path: Path) -> None:
    export(tmp_path / "whole", *source)
    whole, folder = files(tmp_path / "whole"), tmp_path / "killed"
    assert len(whole) > 6
    there: set[str] = set()
    for when, nth in (("in a file", 1), ("in a file", 4), ("before it appears", 4)):  # the first file has the keys
        kill_in(when, nth, folder, *source)
        found = {name: data for name, data in files(folder).items() if not name.endswith(".part")}
        assert found.items() <= whole.items(), "what has its name is whole"
        assert there < found.keys() or nth == 1, "each run goes on where the one before it was killed"
        there = set(found)
    left = len(whole) - len(there)
    assert f"{left} transcripts written" in export(folder, *source)
    assert files(folder) == whole, "no part of a file is left"


def test_a_killed_export_leaves_the_tables_of_the_one_before(source: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    export(folder, "--parquet", *source, "--label", "cup")
    before = files(folder)
    kill_in("in a table", 3, folder, "--parquet", *source)
    left = files(folder)
    assert {name for name in left if name.endswith(".part")}
    assert {name: data for name, data in left.items() if not name.endswith(".part")} == before
    export(folder, "--parquet", *source)
    export(tmp_path / "whole", "--parquet", *source)
    assert files(folder).keys() == before.keys(), "no part of a table is left"
    assert (folder / "columns.md").read_text() == (tmp_path / "whole" / "columns.md").read_text()
    for name in before.keys() - {"columns.md"}:
        rows, expected = (pyarrow.parquet.read_table(place / name) for place in (folder, tmp_path / "whole"))
        assert rows.equals(expected)
        assert rows.num_rows > pyarrow.parquet.read_metadata(pyarrow.BufferReader(before[name])).num_rows
