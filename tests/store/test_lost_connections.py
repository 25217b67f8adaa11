"""A PostgreSQL that is down or read-only, cuts connections or ends a write: what is stored, and what is refused."""

from __future__ import annotations

import asyncio
import itertools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import structlog
from sqlalchemy import Connection, Engine, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from arbiter.bootstrap.store import Store, open_store
from arbiter.errors import OperatorError, Reason
from arbiter.service.ports.directory import Player
from arbiter.service.ports.journal import Append, JournalConflict, StoreFailed
from arbiter.store import tables
from arbiter.store.database import opened
from arbiter.store.dialects import postgres_locks
from arbiter.store.directory import player_columns
from arbiter.store.writer import Writer
from tests.store.postgres import Cluster
from tests.store.test_journal import bodies, opening, records

LONG_S = 120  #: after which a test that hangs fails
CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'arbiter'"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a second server not wait for the first one to end."""
    monkeypatch.setattr(postgres_locks, "LET_GO_MS", 200)


@pytest.fixture
def running(cluster: Cluster) -> Iterator[Cluster]:
    """Return the cluster, which a test may stop: it runs again afterwards."""
    yield cluster
    if not cluster.runs:
        cluster.start()


class MatchWriter:
    """Writes a match, one record after the other, and reads it again after a refused append."""

    def __init__(self, store: Store, match_id: str, progress: asyncio.Event) -> None:
        self._journal = store.journal
        self._progress = progress
        self.match_id = match_id
        self.acknowledged = 0
        self.refused = 0

    async def write(self, stop: asyncio.Event) -> None:
        """Write until the test stops it; `acknowledged` is the last acknowledged revision."""
        revision = 1
        while not stop.is_set():
            append = opening(self.match_id) if revision == 1 else Append(records(self.match_id, revision))
            try:
                await self._journal.append(append)
                self.acknowledged = revision
                self._progress.set()
                revision += 1
            except (StoreFailed, JournalConflict):
                self.refused += 1
                with suppress(StoreFailed):
                    revision = len(await self._journal.read(self.match_id)) + 1


@pytest.mark.parametrize(
    ("how", "times"),
    [
        *(("sessions ended", 3), ("stopped", 1), ("crashed", 1)),
        *(pytest.param(how, 10, marks=pytest.mark.soak) for how in ("sessions ended", "stopped", "crashed")),
    ],
)
async def test_nothing_acknowledged_is_lost_with_a_connection(
    running: Cluster, postgres: str, how: str, times: int
) -> None:
    """Whatever happens to the database, acknowledged records are stored, and writing goes on without a restart."""
    async with open_store(postgres, alone=True) as store:
        stop, progress = asyncio.Event(), asyncio.Event()
        match_writers = [MatchWriter(store, name, progress) for name in "abcdef"]
        writing = [asyncio.create_task(writer.write(stop)) for writer in match_writers]
        for number in itertools.count():
            if number >= times and any(writer.refused for writer in match_writers):
                break  # one whose next record is not on its way is spared
            await _a_hundred_more(match_writers, progress)
            await _cut(running, how)
        await _a_hundred_more(match_writers, progress)
        stop.set()
        await asyncio.gather(*writing)
        for writer in match_writers:
            kept = [record.revision for record in await store.journal.read(writer.match_id)]
            assert kept == list(range(1, len(kept) + 1))
            assert len(kept) >= writer.acknowledged > 1


async def _a_hundred_more(match_writers: list[MatchWriter], progress: asyncio.Event) -> None:
    """Wait until a hundred more records are acknowledged."""
    least = sum(writer.acknowledged for writer in match_writers) + 100
    while sum(writer.acknowledged for writer in match_writers) < least:
        progress.clear()
        await progress.wait()


async def _cut(cluster: Cluster, how: str) -> None:
    if how == "sessions ended":
        await asyncio.to_thread(cluster.ask, CUT)
    else:
        await asyncio.to_thread(cluster.stop, signal.SIGINT if how == "stopped" else signal.SIGQUIT)
        cluster.start()


async def test_while_the_database_is_down_everything_is_refused_with_a_reason(running: Cluster, postgres: str) -> None:
    async with open_store(postgres, alone=True) as store:
        await store.journal.append(opening("a"))
        running.stop()
        asked = [store.journal.append(Append(records("a", revision))) for revision in range(2, 100)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        for answer in answers:
            assert isinstance(answer, StoreFailed)
            assert answer.reason is Reason.STORE_UNAVAILABLE
            assert "it can't be reached" in answer.message
            assert str(running.folder) not in answer.message, "players need not know where the database is"
        with pytest.raises(StoreFailed, match="it can't be reached"):
            await store.journal.read("a")
        with pytest.raises(StoreFailed, match="it can't be reached"):
            await store.directory.add_player(Player("alice", 1), None)
        running.start()
        await store.journal.append(Append(records("a", 2)))
        assert bodies(await store.journal.read("a")) == ["a 1", "a 2"]


async def test_a_server_that_lost_its_store_to_another_writes_no_more(cluster: Cluster, postgres: str) -> None:
    async with open_store(postgres, alone=True) as first:
        await first.journal.append(opening("a"))
        cluster.ask(CUT)
        with opened(postgres, alone=True):
            with pytest.raises(StoreFailed, match="another arbiter serves it"):
                await first.journal.append(Append(records("a", 2)))
            with pytest.raises(StoreFailed, match="another arbiter serves it"):
                await first.journal.read("a")
        await first.journal.append(Append(records("a", 2)))  # the other server has stopped
        with pytest.raises(OperatorError, match="another arbiter serves the store"), opened(postgres, alone=True):
            pass


def test_a_cut_connection_does_not_lock_a_server_out_of_its_own_store(postgres: str) -> None:
    """If the network is cut, the database takes the session for alive, and its lock for held, until it notices."""
    hold = postgres_locks._Hold(make_url(postgres))
    hold.take()
    cut, hold._connection = hold._connection, None
    assert cut is not None
    hold.take()
    with pytest.raises(DBAPIError):
        cut.exec_driver_sql("SELECT 1")
    cut.close()
    hold.close()
    with opened(postgres, alone=True):
        pass


async def test_a_write_that_is_ended_because_of_a_deadlock_is_repeated(postgres: str) -> None:
    """Two servers that clean up after a dead one may lock rows of its players in different orders."""
    first, second = (text(f"UPDATE player SET created_ms = created_ms + 1 WHERE name = '{name}'") for name in "ab")
    has_one, is_waited_for = threading.Event(), threading.Event()
    attempts = []

    def write(connection: Connection) -> None:
        attempts.append(connection)
        connection.execute(text("SET LOCAL deadlock_timeout = '10ms'")).close()  # so it is this one that is ended
        connection.execute(first).close()
        has_one.set()
        assert is_waited_for.wait(LONG_S)
        connection.execute(second).close()

    def write_in_the_other_order(other: Connection) -> None:
        other.execute(text(f"SET LOCAL deadlock_timeout = '{LONG_S}s'")).close()
        other.execute(second).close()
        assert has_one.wait(LONG_S)
        other.execute(first).close()  # waits for the write, which ends it by its deadlock
        other.commit()

    with opened(postgres) as engine:
        with engine.begin() as connection:
            players = [player_columns(Player(name, 0)) for name in "ab"]
            connection.execute(tables.player.insert(), players)
        writer = Writer(engine, structlog.get_logger())
        with engine.connect() as other:
            others = asyncio.create_task(asyncio.to_thread(write_in_the_other_order, other))
            await asyncio.to_thread(until_locked, engine, "b")
            written = writer.write(write)
            await asyncio.to_thread(until_one_waits, engine)
            is_waited_for.set()
            await written
            await others
        await asyncio.to_thread(writer.close)
        assert len(attempts) == 2
        with engine.connect() as connection:
            assert connection.execute(select(tables.player.c.created_ms)).scalars().all() == [2, 2]


def until_locked(engine: Engine, player: str) -> None:
    """Wait until a transaction holds a player's row."""
    query = text("SELECT 1 FROM player WHERE name = :name FOR UPDATE SKIP LOCKED")
    until(engine, lambda connection: connection.execute(query, {"name": player}).first() is None)


def until_one_waits(engine: Engine) -> None:
    """Wait until a transaction waits for another one."""
    query = text("SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted")
    until(engine, lambda connection: connection.execute(query).scalar_one() == 1)


def until(engine: Engine, holds: Callable[[Connection], bool]) -> None:
    """Ask the database until a condition holds."""
    ends = time.monotonic() + LONG_S
    while True:
        with engine.connect() as connection:
            if holds(connection):
                return
        assert time.monotonic() < ends, "it does not come to hold"


def test_a_read_only_database_is_not_served(cluster: Cluster) -> None:
    url = cluster.fresh()
    with opened(url):
        pass
    name = url.partition("?")[0].rpartition("/")[2]
    cluster.ask(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(OperatorError, match=r"it can only be read .*: make .* writable"), opened(url, alone=True):
        pass
