"""Servers that share a PostgreSQL: they start at once, have the same signing keys, and exclude exclusive users."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psycopg
import pytest
import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from arbiter.bootstrap.store import Store, open_record, rebuild_store
from arbiter.config import load
from arbiter.errors import OperatorError
from arbiter.keys import seals
from arbiter.keys.key_ring import KeyRing, rotate
from arbiter.service.ports.journal import Append, StoreFailed
from arbiter.store.database import may_be_shared, opened
from arbiter.store.dialects import postgresql
from arbiter.store.looking import look
from arbiter.store.reader import Reader
from tests.processes import until
from tests.store.postgres import Cluster
from tests.store.test_derived import silent
from tests.store.test_journal import bodies, opening, records


@asynccontextmanager
async def server(url: str, folder: Path, new: bool = False) -> AsyncIterator[tuple[Store, KeyRing]]:
    """Open a store as one of its servers does, on a machine with its keys in a folder."""
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    async with open_record(load(None, store=url, keys=folder / "arbiter.keys"), new=new, shared=True) as opened_record:
        yield opened_record


def start_in_thread(url: str, folder: Path, match_id: str) -> str:
    """Open a store in an event loop of its own, append a match to it, and return the key."""

    async def start() -> str:
        async with server(url, folder) as (store, ring):
            await store.journal.append(opening(match_id))
            [key] = ring.public_keys()
            return key.key_id

    return asyncio.run(start())


async def test_servers_that_start_at_once_on_a_new_store_make_one_key_and_one_set_of_tables(
    cluster: Cluster, tmp_path: Path
) -> None:
    url = cluster.fresh()
    starts = [asyncio.to_thread(start_in_thread, url, tmp_path / "machine", match_id) for match_id in "abc"]
    assert len(set(await asyncio.gather(*starts))) == 1
    async with server(url, tmp_path / "machine") as (store, _):
        assert len(await store.journal.read_all(0, 10)) == 3, (
            "each server reads the records that the others have sealed"
        )


async def test_a_server_on_another_machine_needs_the_keys_of_the_first_one(postgres: str, tmp_path: Path) -> None:
    async with server(postgres, tmp_path / "one") as (store, _):
        with pytest.raises(OperatorError, match=r"use signing key .* not in .*other.arbiter.keys: copy their file"):
            async with server(postgres, tmp_path / "other"):
                pass
        assert not (tmp_path / "other" / "arbiter.keys").exists(), "no key is made"
        shutil.copy(tmp_path / "one" / "arbiter.keys", tmp_path / "other")
        async with server(postgres, tmp_path / "other") as (beside, _):
            await store.journal.append(opening("a"))
            assert bodies(await beside.journal.read("a")) == ["a 1"]
            with pytest.raises(OperatorError, match="other servers serve the store"):
                async with server(postgres, tmp_path / "third", new=True):
                    pass
    async with server(postgres, tmp_path / "third", new=True) as (store, _):  # the keys are lost
        assert bodies(await store.journal.read("a")) == ["a 1"]


def dated(append: Append) -> Append:
    """Return an append whose records have times: a seal by an old key is valid for older records."""
    return append._replace(records=tuple(record._replace(body=b'{"at":1}') for record in append.records))


async def test_a_server_without_a_key_of_the_others_refuses_all_until_it_has_the_key(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seals, "LOOK_S", 0.0)
    one, other = (tmp_path / name / "arbiter.keys" for name in ("one", "other"))
    async with AsyncExitStack() as stack:
        first, _ = await stack.enter_async_context(server(postgres, one.parent))
        other.parent.mkdir()
        shutil.copy(one, other.parent)
        second, _ = await stack.enter_async_context(server(postgres, other.parent))
        await second.journal.append(dated(opening("a")))
        rotate(one, time.time_ns() // 1_000_000)
        await first.journal.append(dated(Append(records("a", 2))))
        with pytest.raises(StoreFailed, match=r"other servers use signing key .*copy their file"):
            await second.journal.append(dated(Append(records("a", 3))))
        with pytest.raises(StoreFailed, match="other servers use signing key"):  # this is no damage
            await second.journal.read("a")
        shutil.copy(one, other.parent)
        await second.journal.append(dated(Append(records("a", 3))))
        for store in (first, second):
            assert [record.revision for record in await store.journal.read("a")] == [1, 2, 3]


async def test_servers_and_exclusive_users_of_the_store_lock_each_other_out(postgres: str, tmp_path: Path) -> None:
    assert may_be_shared(postgres)
    async with server(postgres, tmp_path / "one"), server(postgres, tmp_path / "one"):
        assert look(postgres).servers == 2
        with pytest.raises(OperatorError, match="another arbiter serves the store"):
            await asyncio.to_thread(rebuild_store, postgres, silent)
    until(lambda: not look(postgres).served)  # PostgreSQL notices the end of a connection a little later
    with opened(postgres, alone=True), pytest.raises(OperatorError, match=r"another program needs the store .* itself"):
        async with server(postgres, tmp_path / "one"):
            pass
    async with server(postgres, tmp_path / "one"):
        until(lambda: look(postgres).servers == 1)


async def test_a_server_that_is_suspended_while_it_writes_does_not_block_the_others(
    postgres: str, tmp_path: Path
) -> None:
    with opened(postgres, shared=True) as stopped, stopped.connect() as connection:
        for statement in postgresql().claim:
            connection.exec_driver_sql(statement).close()
        async with server(postgres, tmp_path / "one") as (store, _):
            await store.journal.append(opening("a"))
        with pytest.raises(DBAPIError, match="idle-in-transaction"):
            connection.exec_driver_sql("SELECT 1")


async def test_reads_use_no_transaction_that_the_database_could_time_out(postgres: str) -> None:
    def status(connection: Connection) -> str:
        connection.exec_driver_sql("SELECT 1").close()
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        return driver.info.transaction_status.name

    with opened(postgres, shared=True) as engine:
        reader = Reader(engine, structlog.get_logger())
        assert await reader.read(status) == "IDLE"
        assert await reader.read(status, snapshot=True) == "INTRANS", "its statements are told apart"
        reader.close()


def test_a_file_is_not_shared(sqlite: str) -> None:
    assert not may_be_shared(sqlite)
