"""The thread in C that commits moves, by itself."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROW = (1, "a", 1, b"body", "match", True, None)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE row (a INTEGER PRIMARY KEY, b, c, d, e, f, g)").close()
    return path


@contextmanager
def started(module: ModuleType, path: Path, most: int = 100) -> Any:
    thread = module.CommitThread(
        str(path), f"{path}-wal", "PRAGMA busy_timeout=0", "INSERT INTO row VALUES (?, ?, ?, ?, ?, ?, ?)", most
    )
    try:
        yield thread
    finally:
        thread.close()


def stored(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM row ORDER BY a").fetchall()


@pytest.mark.toolchain
def test_batches_come_back_with_their_tokens_in_order(commit_thread_module: ModuleType, table: Path) -> None:
    with started(commit_thread_module, table, most=2) as thread:
        for number in range(1, 8):
            assert thread.put(f"batch {number}", [(number, "a", 1, b"\0body", "match", number % 2 == 0, b"seal")])
        assert thread.put("of three", [(number, "ü", 1, b"", "match", False, None) for number in (8, 9, 10)])
        thread.wait_idle()
        finished = thread.finished()
        assert [token for token, *_ in finished] == [*(f"batch {number}" for number in range(1, 8)), "of three"]
        assert finished[-1][1] >= 0
        assert thread.finished() == []
        assert thread.stopped() is None
    rows = stored(table)
    assert rows[:2] == [(1, "a", 1, b"\0body", "match", 0, b"seal"), (2, "a", 1, b"\0body", "match", 1, b"seal")]
    assert rows[7:] == [(number, "ü", 1, b"", "match", 0, None) for number in (8, 9, 10)]


@pytest.mark.toolchain
def test_a_commit_says_whether_the_files_are_those_of_the_one_before(
    commit_thread_module: ModuleType, table: Path
) -> None:
    log = Path(f"{table}-wal")
    with closing(sqlite3.connect(table)) as other, started(commit_thread_module, table) as thread:
        other.execute("PRAGMA journal_mode=WAL").close()
        other.execute("SELECT * FROM row").close()  # so that the log is there

        def commit(number: int) -> bool:
            thread.put("batch", [(number, *ROW[1:])])
            thread.wait_idle()
            [(_, seconds, same_files)] = thread.finished()
            assert seconds >= 0
            return bool(same_files)

        assert [commit(number) for number in (1, 2, 3)] == [False, True, True]
        for number, path in ((4, table), (8, log)):
            path.rename(path.with_name("elsewhere"))
            assert not commit(number), "it is gone"
            assert not commit(number + 1)
            path.with_name("elsewhere").rename(path)
            assert [commit(number + 2), commit(number + 3)] == [False, True], "it is back"
        copied = table.with_name("copy")
        copied.write_bytes(table.read_bytes())
        copied.rename(table)
        assert not commit(12), "it is another file"
        with table.open("r+b") as file:
            file.truncate(100)
        assert not commit(13), "it has shrunk"


@pytest.mark.toolchain
def test_a_failure_gives_back_its_batch_and_all_later_ones(commit_thread_module: ModuleType, table: Path) -> None:
    with started(commit_thread_module, table) as thread:
        thread.put("first", [ROW])
        thread.wait_idle()
        with closing(sqlite3.connect(table, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE").close()
            thread.put("second", [(2, *ROW[1:])])
            thread.wait_idle()
            assert thread.stopped() == "database is locked (5)"
            assert not thread.put("third", [(3, *ROW[1:])])
        assert [token for token, *_ in thread.finished()] == ["first"]
        assert thread.given_back() == ["second"]
        assert thread.given_back() == []
        thread.resume()
        assert thread.stopped() is None
        assert thread.put("third", [(3, *ROW[1:])])
        thread.wait_idle()
    assert [row[0] for row in stored(table)] == [1, 3]


@pytest.mark.toolchain
def test_a_transaction_that_fails_in_its_middle_stores_none_of_its_rows(
    commit_thread_module: ModuleType, table: Path
) -> None:
    with started(commit_thread_module, table) as thread:
        thread.put("twice", [ROW, (2, *ROW[1:]), ROW])
        thread.wait_idle()
        assert thread.given_back() == ["twice"]
        assert thread.stopped() == "UNIQUE constraint failed: row.a (19)"
        thread.resume()
        thread.put("once", [(7, *ROW[1:])])
        thread.wait_idle()
    assert [row[0] for row in stored(table)] == [7]


@pytest.mark.toolchain
def test_a_file_that_can_not_be_opened_is_a_failure(commit_thread_module: ModuleType, tmp_path: Path) -> None:
    with started(commit_thread_module, tmp_path / "none.db") as thread:
        thread.put("first", [ROW])
        thread.wait_idle()
        assert thread.stopped() == "unable to open database file (14)"
        assert thread.given_back() == ["first"]


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "row",
    [
        list(ROW),
        ROW[:-1],
        ("1", *ROW[1:]),
        (1 << 80, *ROW[1:]),
        (1, b"a", *ROW[2:]),
        (*ROW[:3], "body", *ROW[4:]),
        (*ROW[:4], None, *ROW[5:]),
        (*ROW[:6], "seal"),
        (1, "\ud800", *ROW[2:]),
    ],
)
def test_a_row_of_another_form_is_refused(commit_thread_module: ModuleType, table: Path, row: Any) -> None:
    with started(commit_thread_module, table) as thread:
        with pytest.raises((TypeError, OverflowError, UnicodeEncodeError)):
            thread.put("bad", [ROW, row])
        thread.wait_idle()
        assert thread.finished() == []
    assert stored(table) == []


@pytest.mark.toolchain
def test_changes_are_made_behind_the_rows_of_their_batch_in_order(
    commit_thread_module: ModuleType, table: Path
) -> None:
    """There are more statements than stay prepared, and each is used again."""
    texts = [f"UPDATE row SET {column} = ? WHERE a = {number}" for number in (1, 2, 3) for column in "bcdef"]
    with started(commit_thread_module, table) as thread:
        for value in (7, "ü", b"\0", None, True, -(1 << 63)):
            for first, count in (0, 8), (8, 7):
                thread.put(value, [], [(each, (value,)) for each in texts[first : first + count]])
        assert thread.put("row", [ROW], [(texts[0], ("a text",)), (f"{texts[0]} AND g IS ?", ("another", None))])
        assert thread.put("ends", [], [("UPDATE row SET c = b WHERE a = ?", (1,)), ("DELETE FROM row WHERE a = 5", ())])
        thread.wait_idle()
        assert thread.stopped() is None
        assert [token for token, *_ in thread.finished()][-2:] == ["row", "ends"]
    assert stored(table) == [(1, "another", "another", b"body", "match", 1, None)]


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("UPDATE row SET a = ?", (2,)), "UNIQUE constraint failed: row.a (19)"),
        (("UPDATE absent SET a = ?", (1,)), "no such table: absent (1)"),
        (("UPDATE row SET b = ?", ()), r"(25)"),
        (("UPDATE row SET b = 1", (1,)), r"(25)"),
    ],
)
def test_a_change_that_fails_undoes_its_transaction(
    commit_thread_module: ModuleType, table: Path, change: Any, why: str
) -> None:
    with started(commit_thread_module, table) as thread:
        thread.put("first", [ROW, (3, *ROW[1:])], [("UPDATE row SET b = ? WHERE a = 1", ("changed",))])
        thread.wait_idle()
        thread.put("second", [(2, *ROW[1:])], [("DELETE FROM row WHERE a = 1", ()), change])
        thread.wait_idle()
        assert thread.stopped().endswith(why)
        assert thread.given_back() == ["second"]
        thread.resume()
        thread.put("third", [], [("UPDATE row SET b = ? WHERE a = 1", ("again",))])
        thread.wait_idle()
        assert thread.stopped() is None
    assert [row[:2] for row in stored(table)] == [(1, "again"), (3, "a")]


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "change",
    [
        ["UPDATE row SET b = 1", ()],
        ("UPDATE row SET b = 1",),
        (b"UPDATE row SET b = 1", ()),
        ("UPDATE row SET b = ?", [1]),
        ("UPDATE row SET b = ?", (1.5,)),
        ("UPDATE row SET b = ?", (1 << 63,)),
        ("UPDATE row SET b = ?", ("\ud800",)),
        ("\ud800", ()),
    ],
)
def test_a_change_of_another_form_is_refused(commit_thread_module: ModuleType, table: Path, change: Any) -> None:
    with started(commit_thread_module, table) as thread:
        with pytest.raises((TypeError, OverflowError, UnicodeEncodeError)):
            thread.put("bad", [ROW], [("DELETE FROM row", ()), change])
        thread.wait_idle()
        assert thread.finished() == []
    assert stored(table) == []


@pytest.mark.toolchain
@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_leaked(commit_thread_module: ModuleType, table: Path, fails: bool) -> None:
    """Whether results are taken or not, and whether the rows are stored or not."""
    tokens, rows = [object() for _ in range(3)], [[(number, *ROW[1:3], bytes(100), *ROW[4:])] for number in (1, 2, 3)]
    changes: list[list[Any]] = [[("UPDATE row SET c = ?", (bytes(100),))] for _ in range(3)]
    bad: tuple[Any, ...] = (1, "a")
    kept = (*tokens, *(each for batch in (*rows, *changes) for each in batch), bad)
    before = [sys.getrefcount(value) for value in kept]
    locked: Any = closing(sqlite3.connect(table, isolation_level=None)) if fails else nullcontext()
    with locked as other, started(commit_thread_module, table) as thread:
        if fails:
            other.execute("BEGIN IMMEDIATE").close()
        for taken, (token, batch, of_batch) in enumerate(zip(tokens, rows, changes, strict=True)):
            thread.put(token, batch, of_batch)
            for bad_rows, bad_changes in ([*batch, bad], of_batch), (batch, [*of_batch, bad]):
                with pytest.raises(TypeError):
                    thread.put(token, bad_rows, bad_changes)
            if taken:
                thread.wait_idle()
                thread.finished()
                thread.given_back()
                thread.resume()
    del thread, token, batch, of_batch, bad_rows, bad_changes
    assert [sys.getrefcount(value) for value in kept] == before


@pytest.mark.toolchain
def test_a_checkpoint_takes_place_between_two_commits(commit_thread_module: ModuleType, table: Path) -> None:
    with closing(sqlite3.connect(table)) as other, started(commit_thread_module, table) as thread:
        other.execute("PRAGMA journal_mode=WAL").close()
        other.execute("PRAGMA wal_autocheckpoint=0").close()
        thread.put("first", [ROW])
        thread.wait_idle()
        log = table.with_name(f"{table.name}-wal")
        before = table.read_bytes()
        assert log.stat().st_size > 0
        thread.checkpoint()
        thread.put("second", [(2, *ROW[1:])])
        thread.wait_idle()
        assert table.read_bytes() != before, "the first row is in the file now"
        assert [row[0] for row in stored(table)] == [1, 2]


@pytest.mark.toolchain
def test_a_closed_thread_takes_nothing_and_has_stored_what_it_took(
    commit_thread_module: ModuleType, table: Path
) -> None:
    with started(commit_thread_module, table) as thread:
        for number in range(1, 101):
            thread.put(number, [(number, *ROW[1:])])
    assert not thread.put("late", [ROW])
    assert [token for token, *_ in thread.finished()] == list(range(1, 101))
    assert len(stored(table)) == 100
