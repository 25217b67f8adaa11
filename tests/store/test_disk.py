"""SQLite on disks that fail: full, read-only, damaged. Acknowledged records are kept, and each failure is named."""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from sqlalchemy import event

from arbiter.bootstrap.running_server import serving
from arbiter.bootstrap.store import Store, check_store, open_store
from arbiter.config import load
from arbiter.errors import OperatorError, Reason
from arbiter.service.ports.directory import Player
from arbiter.service.ports.journal import Append, JournalConflict, MatchEnd, StoreFailed
from arbiter.store.database import opened
from arbiter.store.directory import SqlDirectory
from arbiter.store.journal import SqlJournal
from arbiter.store.reader import Reader
from arbiter.store.writer import Writer
from tests.store.disks import small_disk
from tests.store.postgres import NOBODY
from tests.store.records import appends
from tests.store.test_derived import silent
from tests.store.test_journal import END, opening, records

LOG = structlog.get_logger()


def big(match_id: str, revision: int, size: int = 20_000) -> Append:
    [record] = records(match_id, revision)
    return Append((record._replace(body=record.body + b" " * size),))


async def revisions(store: Store, match_id: str) -> list[int]:
    return [record.revision for record in await store.journal.read(match_id)]


async def test_a_full_disk_refuses_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        url = f"sqlite:///{disk.folder}/arbiter.db"
        async with open_store(url, alone=True) as store:
            await store.journal.append(opening("a"))
            asked = [store.journal.append(big("a", revision)) for revision in range(2, 100)]
            answers = await asyncio.gather(*asked, return_exceptions=True)
            acknowledged = 1 + sum(isinstance(answer, int) for answer in answers)
            first = next(answer for answer in answers if isinstance(answer, StoreFailed))
            assert first.reason is Reason.STORE_UNAVAILABLE
            assert re.search(r"its disk (is full|fails)", first.message)
            assert {type(answer) for answer in answers} <= {int, StoreFailed, JournalConflict}
            assert acknowledged > 3
            with pytest.raises(StoreFailed, match="its disk"):
                await store.directory.add_player(Player("alice", 1, about="x" * 50_000), None)
            assert await revisions(store, "a") == list(range(1, acknowledged + 1)), "reading still works"
            disk.enlarge()
            await store.journal.append(big("a", acknowledged + 1))
            await store.directory.add_player(Player("alice", 1), None)
            assert await revisions(store, "a") == list(range(1, acknowledged + 2))
        async with open_store(url) as store:
            assert await revisions(store, "a") == list(range(1, acknowledged + 2))


def test_no_store_is_made_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        with pytest.raises(OSError, match=r"No space|too large"):
            (disk.folder / "ballast").write_bytes(b"x" * 1_000_000)
        with pytest.raises(OperatorError, match=r"its disk (is full|fails)"), opened(f"sqlite:///{disk.folder}/a.db"):
            pass
        (disk.folder / "ballast").unlink()
        disk.enlarge()
        with opened(f"sqlite:///{disk.folder}/a.db", alone=True):
            pass


@pytest.fixture
def others_folder() -> Iterator[Path]:
    """Yield a folder of a user without special rights, while this process runs as that user."""
    folder = Path(tempfile.mkdtemp(prefix="arbiter-disk-", dir="/tmp"))
    root = os.geteuid() == 0
    with opened(f"sqlite:///{folder}/arbiter.db", alone=True):
        pass
    if root:
        for path in (folder, *folder.iterdir()):
            os.chown(path, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("path", "mode", "says"),
    [
        ("arbiter.db", 0o444, r"it can only be read \(.*\): make the file and its folder writable"),
        (
            "arbiter.db",
            0o000,
            r"can't be opened \(Permission denied\): make it a file that this user may read and write",
        ),
        (".", 0o555, r"can't be (opened|written)|can only be read"),
    ],
)
def test_a_store_that_can_not_be_written_is_not_served(others_folder: Path, path: str, mode: int, says: str) -> None:
    (others_folder / path).chmod(mode)
    with pytest.raises(OperatorError, match=says), opened(f"sqlite:///{others_folder}/arbiter.db", alone=True):
        pass


@pytest.mark.interpreted  # the thread without the interpreter's lock has a connection that this test can't restrict
@pytest.mark.parametrize("closed", [None, END])
async def test_a_disk_that_turns_read_only_refuses_and_goes_on_when_it_can_be_written(
    sqlite: str, closed: MatchEnd | None
) -> None:
    """A refused statement, alone or in a transaction, leaves nothing behind."""
    with opened(sqlite, alone=True) as engine:
        connections = list[sqlite3.Connection]()
        event.listen(engine, "connect", lambda connection, _: connections.append(connection))
        engine.dispose()  # earlier connections do not count
        writer, reader = Writer(engine, LOG), Reader(engine, LOG)
        store = Store(SqlJournal(engine, writer, reader), SqlDirectory(writer, reader))

        def restrict(only_read: bool) -> None:
            for connection in connections:
                connection.execute(f"PRAGMA query_only = {only_read}").close()

        await store.journal.append(opening("a"))
        place = await store.journal.append(Append(records("a", 2)))
        restrict(True)
        for _ in range(2):
            with pytest.raises(StoreFailed, match="it can only be read") as caught:
                await store.journal.append(Append(records("a", 3, 4), closed=closed))
            assert caught.value.reason is Reason.STORE_UNAVAILABLE
        assert await revisions(store, "a") == [1, 2]
        restrict(False)
        assert await store.journal.append(Append(records("a", 3), closed=closed)) == place + 1
        assert await revisions(store, "a") == [1, 2, 3]
        await asyncio.to_thread(writer.close)
        reader.close()


@pytest.mark.parametrize("kind", ["sqlite", "unlocked"])
async def test_the_write_ahead_log_is_reused_under_constant_load(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    """SQLite reuses the log only when all of it is in the database file: under constant load it never is."""
    with opened(request.getfixturevalue(kind)) as engine:
        writer, reader = (
            Writer(engine, LOG, commits_a_checkpoint=20),
            Reader(engine, LOG),
        )
        journal = SqlJournal(engine, writer, reader)
        wal = tmp_path / "arbiter.db-wal"
        acknowledged = 0

        async def write(match_id: str) -> None:
            nonlocal acknowledged
            revision = 0
            while acknowledged < 500 or 20_000 * acknowledged < 4 * wal.stat().st_size:
                revision += 1
                await journal.append(big(match_id, revision))
                acknowledged += 1

        await asyncio.gather(*(write(f"m{number}") for number in range(8)))
        assert await journal.head() == acknowledged
        await asyncio.to_thread(writer.close)
        reader.close()


async def test_the_write_ahead_log_does_not_grow_over_servers_that_are_killed(tmp_path: Path) -> None:
    """None of them lives until its first checkpoint: the next server moves what they have left."""
    lives, each = 6, 10
    sizes: list[int] = []
    for life in range(lives):
        folder = tmp_path / str(life)
        folder.mkdir(exist_ok=True)
        async with open_store(f"sqlite:///{folder}/arbiter.db", alone=True) as store:
            for number in range(each):
                revision = life * each + number + 1
                await store.journal.append(opening("a") if revision == 1 else big("a", revision))
            sizes.append((folder / "arbiter.db-wal").stat().st_size)
            left = tmp_path / str(life + 1)
            left.mkdir()
            for name in ("arbiter.db", "arbiter.db-wal"):
                shutil.copy(folder / name, left / name)
    assert max(sizes) < 2 * sizes[0]
    async with open_store(f"sqlite:///{left}/arbiter.db", alone=True) as store:
        assert await revisions(store, "a") == list(range(1, lives * each + 1))


async def test_a_torn_write_ahead_log_loses_nothing_that_was_acknowledged(sqlite: str, tmp_path: Path) -> None:
    """Power fails while SQLite writes: the file ends anywhere after the flushed part, or with random bytes."""
    file = tmp_path / "arbiter.db"
    wal = tmp_path / "arbiter.db-wal"
    flushed: list[int] = []  # the size of the write-ahead log when each record was acknowledged
    async with open_store(sqlite) as store:
        await store.journal.append(opening("a"))
        for revision in range(2, 12):
            flushed.append(wal.stat().st_size)
            await store.journal.append(big("a", revision, 100 * revision))
        image, log = file.read_bytes(), wal.read_bytes()
    dice = random.Random(7)
    for revision, (start, end) in enumerate(zip(flushed, [*flushed[1:], len(log)], strict=True), 1):
        assert start < end
        for tail in (b"", dice.randbytes(300), bytes(5_000)):
            folder = tmp_path / f"{revision} {len(tail)}"
            folder.mkdir()
            (folder / "arbiter.db").write_bytes(image)
            (folder / "arbiter.db-wal").write_bytes(log[: dice.randrange(start, end)] + tail)
            async with open_store(f"sqlite:///{folder}/arbiter.db") as store:
                assert await revisions(store, "a") == list(range(1, revision + 1))
                await store.journal.append(Append(records("a", revision + 1)))
            shutil.rmtree(folder)


@pytest.fixture
async def record(sqlite: str, tmp_path: Path) -> Path:
    """Return the file of a store with matches, some of them running: several pages, all in one file."""
    async with open_store(sqlite) as store:
        await store.directory.add_player(Player("admin", 1), None)
        await asyncio.gather(*(store.journal.append(append) for append in appends(1)))
    with sqlite3.connect(tmp_path / "arbiter.db") as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
    raw.close()
    return tmp_path / "arbiter.db"


def test_a_damaged_page_is_named_and_never_served(sqlite: str, record: Path) -> None:
    """A check finds each overwritten page: SQLite by its structure, or the record by its chain."""
    image = record.read_bytes()
    size = int.from_bytes(image[16:18])
    dice = random.Random(3)
    named = 0
    for page in range(len(image) // size):
        record.write_bytes(image[: page * size] + dice.randbytes(size) + image[(page + 1) * size :])
        for rest in record.parent.glob("arbiter.db-*"):
            rest.unlink()
        try:
            assert check_store(sqlite, silent).faults, f"page {page}"
        except OperatorError as error:
            assert "it is damaged" in str(error) or "it is no database" in str(error)  # noqa: PT017
            named += 1
    assert named >= 2


@pytest.mark.long
async def test_a_store_without_its_last_pages_is_not_served(sqlite: str, record: Path) -> None:
    _halve(record)
    with pytest.raises(
        OperatorError, match=r"it is damaged .*: stop the server, keep the file, and see deploy/STORE.md"
    ):
        async with serving(load(None, store=sqlite, listen="127.0.0.1:0", rules_workers=1)):
            pass


def _halve(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)
