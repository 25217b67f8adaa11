"""The thread that commits to SQLite without the interpreter's lock, and how it and the writer's thread take turns.

What every journal does is tried on this one by the tests of the others: see `unlocked` in conftest.py.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from arbiter.bootstrap.store import Store, open_record, open_store
from arbiter.config import load
from arbiter.runtime.loop import SELDOM_SWITCH_S, SWITCH_S
from arbiter.service.ports.journal import (
    Append,
    JournalConflict,
    OpenLimits,
    Record,
    StoreFailed,
    Subject,
    TournamentSummary,
)
from arbiter.store.database import opened
from arbiter.store.jobs import Transaction
from arbiter.store.journal import SqlJournal
from arbiter.store.reader import Reader
from arbiter.store.writer import Writer
from tests.store import commit_thread, stalled_commit
from tests.store.test_journal import END, bodies, opening, records

LOG = structlog.get_logger()
LONG_S = 120  #: after which a test that hangs fails
REFUSED = "a trigger of the test refuses it"
WITHOUT_END = (
    "WITH RECURSIVE n(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n) SELECT max(number) AS number FROM n"
)
ROOM = OpenLimits((("alice", 2),))  #: what the players of a match may have open with it
WITHOUT_LOCK = threading.main_thread().name  #: tells of the commits of the thread that needs no lock


def where(threads: list[str]) -> Callable[[int, float], None]:
    """Return a callback for commits, which notes the name of the thread that tells of them."""
    return lambda _count, _seconds: threads.append(threading.current_thread().name)


def refuse(url: str, match_id: str, refused: bool) -> None:
    """Have the database refuse the records of a match, whoever writes them."""
    statement = (
        f"CREATE TRIGGER refuse BEFORE INSERT ON event WHEN NEW.match_id = '{match_id}' AND NEW.revision > 1 "
        f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
    )
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=LONG_S)) as connection:
        connection.execute(statement if refused else "DROP TRIGGER refuse").close()


@contextmanager
def changing(url: str) -> Iterator[sqlite3.Connection]:
    """Connect to the file of a store, without waiting for whoever writes to it."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=0)) as connection:
        yield connection


def replace_file(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.write_bytes(b"")


async def test_matches_need_no_lock_and_what_counts_the_open_ones_is_left_to_the_writer(unlocked: str) -> None:
    threads = list[str]()
    async with open_store(unlocked, where(threads)) as store:
        await store.journal.append(opening("a"))
        assert threads == ["store-writer"], "it looks up the last number"
        await store.journal.append(Append(records("a", 2)))
        await store.journal.append(Append(records("a", 3), closed=END))
        await store.journal.append(opening("b"))
        assert threads[1:] == [WITHOUT_LOCK] * 3
        await store.journal.append(opening("c")._replace(open_limits=ROOM))
        assert threads[4:] == ["store-writer"]
        assert store.queued_writes() == 0
        assert await store.journal.unfinished() == ["b", "c"]


async def test_the_appends_of_one_turn_of_the_event_loop_share_a_commit(unlocked: str) -> None:
    commits = list[int]()
    async with open_store(unlocked, lambda count, _seconds: commits.append(count)) as store:
        await asyncio.gather(*(store.journal.append(opening(name)) for name in "abc"))
        commits.clear()
        asked = [store.journal.append(Append(records(name, 2, 2))) for name in "abc"]
        assert store.queued_writes() == 3
        await asyncio.gather(*asked)
        assert commits == [3]


async def test_what_fails_is_repeated_by_the_writer_and_fails_alone(unlocked: str) -> None:
    threads = list[str]()
    async with open_store(unlocked, where(threads)) as store:
        await asyncio.gather(*(store.journal.append(opening(name)) for name in "abc"))
        refuse(unlocked, "b", True)
        for revision in (2, 3):
            threads.clear()
            a, b, c = await asyncio.gather(
                *(store.journal.append(Append(records(name, revision if name != "b" else 2))) for name in "abc"),
                return_exceptions=True,
            )
            assert isinstance(b, JournalConflict)
            assert REFUSED in str(b)
            assert isinstance(a, int)
            assert c == a + 1
            assert set(threads) == {"store-writer"}
        refuse(unlocked, "b", False)
        threads.clear()
        await store.journal.append(Append(records("b", 2)))
        assert threads == [WITHOUT_LOCK], "it takes writes again once those that failed are dealt with"
        assert bodies(await store.journal.read("b")) == ["b 1", "b 2"]


async def test_what_is_asked_for_after_a_failure_is_stored_behind_it(unlocked: str) -> None:
    """The commit fails while more and more is queued; nothing overtakes what is given back."""
    async with open_store(unlocked) as store:
        await asyncio.gather(*(store.journal.append(opening(name)) for name in "ab"))
        refuse(unlocked, "b", True)
        order, done = list[tuple[str, int, str]](), asyncio.get_running_loop().create_future()

        def tell(name: str, revision: int, _place: int, error: BaseException | None) -> None:
            order.append((name, revision, type(error).__name__))
            if len(order) == 60:
                done.set_result(None)

        for revision in range(2, 32):
            for name in "ab":
                store.journal.append_then(Append(records(name, revision)), partial(tell, name, revision))
            await asyncio.sleep(0)  # a turn of the event loop
        async with asyncio.timeout(LONG_S):
            await done
        assert [(name, revision) for name, revision, _ in order] == [(n, r) for r in range(2, 32) for n in "ab"]
        assert {error for name, _, error in order if name == "a"} == {"NoneType"}
        assert "NoneType" not in {error for name, _, error in order if name == "b"}
        assert bodies(await store.journal.read("a")) == [f"a {n}" for n in range(1, 32)]


async def test_closing_stores_and_settles_all(unlocked: str) -> None:
    async with open_store(unlocked) as store:
        await store.journal.append(opening("a"))
        asked = list[asyncio.Future[int]]()
        for revision in range(2, 40):
            asked.append(asyncio.ensure_future(store.journal.append(Append(records("a", revision)))))
            await asyncio.sleep(0)
    places = await asyncio.gather(*asked)
    assert places == list(range(places[0], places[0] + 38))
    async with open_store(unlocked) as store:
        assert len(await store.journal.read("a")) == 39


async def test_bytes_are_stored_though_nobody_else_keeps_them(unlocked: str) -> None:
    """The thread reads the bytes of a record in place, after the caller has dropped it."""
    async with open_store(unlocked) as store:
        await store.journal.append(opening("a"))
        asked = []
        for revision in range(2, 200):
            body = bytes([revision % 251]) * 5_000
            asked.append(store.journal.append(Append((Record("a", revision, body, Subject.MATCH),))))
            del body
            gc.collect(0)
        await asyncio.gather(*asked)
        found = await store.journal.read("a", 1)
        assert [record.body for record in found] == [bytes([n % 251]) * 5_000 for n in range(2, 200)]


def test_after_the_end_of_an_event_loop_the_next_one_takes_the_results(unlocked: str) -> None:
    threads = list[str]()
    with opened(unlocked) as engine:
        writer, reader = Writer(engine, LOG, where(threads)), Reader(engine, LOG)
        journal = SqlJournal(engine, writer, reader)

        async def begin() -> None:
            await journal.append(opening("a"))
            await journal.append(Append(records("a", 2)))
            journal.append_then(Append(records("a", 3)), lambda _place, _error: None)  # nobody waits for it

        async def go_on() -> None:
            await journal.append(Append(records("a", 4)))
            assert bodies(await journal.read("a")) == ["a 1", "a 2", "a 3", "a 4"]

        asyncio.run(begin())
        asyncio.run(go_on())
        writer.close()
        reader.close()
    assert set(threads[1:]) == {WITHOUT_LOCK}


async def test_files_that_are_replaced_fail_every_write(unlocked: str) -> None:
    async with open_store(unlocked) as store:
        await store.journal.append(opening("a"))
        await store.journal.append(Append(records("a", 2)))
        replace_file(Path(unlocked.removeprefix("sqlite:///")))
        for _ in range(2):
            with pytest.raises(StoreFailed, match="not those that it opened"):
                await store.journal.append(Append(records("a", 3)))


ASKED = st.lists(
    st.tuples(
        st.sampled_from(("move", "move", "move", "two", "late", "ends", "opens", "limited", "held", "writes")),
        st.sampled_from("abc"),
        st.booleans(),  # whether a turn of the event loop ends after it
    ),
    min_size=1,
    max_size=40,
)


TABLES = ("event", "match", "tally", "tournament")


def tournament(tournament_id: str, **changes: Any) -> TournamentSummary:
    return TournamentSummary(tournament_id, "Cup", "swiss", "running", "org", tournament_id, 1, **changes)


@pytest.mark.toolchain
@given(ASKED)
@settings(deadline=None)
def test_outcomes_and_tables_are_those_of_the_writers_thread(
    tmp_path_factory: pytest.TempPathFactory, commit_thread_module: ModuleType, asked: list[tuple[str, str, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    outcomes = list[tuple[list[Any], list[Any]]]()
    for number, module in enumerate((None, commit_thread_module)):  # None: imports of it fail
        with patch.dict(sys.modules, {commit_thread.NAME: module}):
            outcomes.append(asyncio.run(_outcomes(f"sqlite:///{folder}/{number}.db", asked)))
    assert outcomes[0] == outcomes[1]


async def _outcomes(url: str, asked: list[tuple[str, str, bool]]) -> tuple[list[Any], list[Any]]:
    """Return what the callers were told, in that order, and the rows of the tables."""
    told, all_told, revisions = list[Any](), asyncio.Event(), dict.fromkeys("abc", 0)
    with opened(url) as engine:
        writer, reader = Writer(engine, LOG), Reader(engine, LOG)
        journal = SqlJournal(engine, writer, reader)

        def tell(number: int, result: object, error: BaseException | None) -> None:
            told.append((number, result, type(error).__name__))
            if len(told) == len(asked):
                all_told.set()

        for number, (what, name, ends) in enumerate(asked):
            append = _append(what, name, revisions)
            if append is None:
                writer.write_among(_counted, None, partial(tell, number))
            else:
                journal.append_then(append, partial(tell, number))
            if ends:
                await asyncio.sleep(0)
        async with asyncio.timeout(LONG_S):
            await all_told.wait()
        await asyncio.to_thread(writer.close)
        reader.close()
        return told, _rows(engine)


def _append(what: str, name: str, revisions: dict[str, int]) -> Append | None:
    """Return an append to a match, None for a write that is none; a match that was never opened gets conflicts."""
    if what == "writes":
        return None
    if what in ("opens", "limited"):
        revisions[name] = max(revisions[name], 1)
        return opening(name)._replace(open_limits=ROOM if what == "limited" else None)
    if what == "held":
        revisions[f"of {name}"] = revision = revisions.get(f"of {name}", 0) + 1
        held = (Record(f"of {name}", revision, b"held", Subject.TOURNAMENT),)
        return Append(held, tournament=tournament(f"of {name}", ended_ms=revision // 3))
    if what == "late":
        return Append(records(name, max(revisions[name] - 1, 1)))
    count = 2 if what == "two" else 1
    first, revisions[name] = revisions[name] + 1, revisions[name] + count
    return Append(records(name, first, count), closed=END if what == "ends" else None)


def _counted(transaction: Transaction, asked: list[None]) -> list[int]:
    """Return the number of records before each of these writes."""
    count = transaction.begun().execute(text("SELECT count(*) FROM event")).scalar_one()
    return [int(count)] * len(asked)


def _rows(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        found = [connection.execute(text(f'SELECT * FROM "{table}"')) for table in TABLES]
        return [sorted(map(tuple, rows)) for rows in found]


async def test_a_conflict_is_told_by_name(unlocked: str) -> None:
    async with open_store(unlocked) as store:
        await _opened_and_moved(store)
        with pytest.raises(JournalConflict):
            await store.journal.append(Append(records("a", 2)))
        assert await store.journal.append(Append(records("a", 3))) == 3


async def _opened_and_moved(store: Store) -> None:
    await store.journal.append(opening("a"))
    await store.journal.append(Append(records("a", 2)))


@pytest.mark.parametrize("needs_lock", [False, True])
async def test_threads_take_turns_seldom_exactly_where_no_commit_needs_the_lock(
    unlocked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs_lock: bool
) -> None:
    if needs_lock:
        monkeypatch.setitem(sys.modules, commit_thread.NAME, None)  # as where it is not compiled
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)  # as a server begins
    try:
        async with open_record(load(None, store=unlocked, keys=tmp_path / "arbiter.keys"), new=True) as (store, _):
            assert store.commits_need_lock is needs_lock
            assert sys.getswitchinterval() == pytest.approx(SWITCH_S if needs_lock else SELDOM_SWITCH_S)
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize(
    ("last", "change"),
    [
        (stalled_commit.MOVES, "INSERT ON event"),
        (stalled_commit.ENDS, "INSERT ON event"),
        (stalled_commit.ENDS, "INSERT ON tally"),
    ],
)
async def test_a_process_that_is_killed_within_a_commit_without_the_lock_has_stored_all_it_told_and_no_more(
    unlocked: str, commit_thread_module: ModuleType, last: str, change: str
) -> None:
    """It is killed after this change of its transaction. `last`: whether its last record is a move or an end."""
    command = [sys.executable, "-m", stalled_commit.__name__, unlocked, str(commit_thread_module.__file__), last]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(LONG_S):
            assert (await process.stdout.readline()).decode().strip() == stalled_commit.ACKNOWLEDGED
            with changing(unlocked) as database:
                database.execute(f"CREATE VIEW without_end AS {WITHOUT_END}")
                database.execute(f"CREATE TRIGGER stall AFTER {change} BEGIN SELECT number FROM without_end; END")
            process.stdin.write(b"go on\n")
            assert (await process.stdout.readline()).decode().strip() == stalled_commit.ASKED
            while not is_being_written(unlocked):  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.01)
    finally:
        process.kill()
        left, _ = await process.communicate()
    assert left == b"", "neither has it told, nor did the writer's thread store it"
    with changing(unlocked) as database:
        for kind, name in ("TRIGGER", "stall"), ("VIEW", "without_end"):
            database.execute(f"DROP {kind} {name}")
    async with open_store(unlocked) as store:
        assert bodies(await store.journal.read("a")) == ["a 1", "a 2"]
        assert await store.journal.unfinished() == ["a"]
        assert await store.journal.tallies() == []
        await store.journal.append(Append(records("a", 3), closed=END))
        assert [tally.games for tally in await store.journal.tallies()] == [1]


def is_being_written(url: str) -> bool:
    """Return whether a transaction that writes is under way."""
    with changing(url) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            return True
        database.execute("ROLLBACK")
        return False
