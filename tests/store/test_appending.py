"""Appends to a store that other servers write to as well: groups that grow while they wait, and guessed numbers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import psycopg
import pytest
from sqlalchemy import Connection

from arbiter.bootstrap.store import Store, open_store
from arbiter.service.ports.journal import Append, AppendBase, JournalConflict, Record, StoreFailed, Subject
from arbiter.store.appending import MOST_GUESSED, UNDISTURBED
from arbiter.store.database import opened
from arbiter.store.dialects import postgresql
from tests.store.postgres import Cluster
from tests.store.test_journal import bodies, opening, records

LONG_S = 120  #: after which the database ends the session of a test that hangs
OTHERS = "FROM pg_stat_activity WHERE application_name = 'arbiter' AND datname = current_database()"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the answers of the database to the question for the last number; the list grows."""
    answers: list[int] = []
    number = postgresql().number

    def noted(connection: Connection) -> int:
        answers.append(number(connection))
        return answers[-1]

    monkeypatch.setattr(postgresql(), "number", noted)
    return answers


@contextmanager
def numbering_held(url: str) -> Iterator[None]:
    """Keep all writers waiting, as another server does between its number and its commit."""
    with opened(url) as engine, engine.connect() as connection:
        connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = '{LONG_S}s'").close()
        for statement in postgresql().claim:
            connection.exec_driver_sql(statement).close()
        yield


async def until_one_waits(url: str) -> None:
    """Wait until a writer waits for the lock."""
    async with asyncio.timeout(LONG_S), await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        while True:
            cursor = await connection.execute(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            )
            if await cursor.fetchone() == (1,):
                return


@asynccontextmanager
async def undisturbed(url: str) -> AsyncIterator[tuple[Store, list[int]]]:
    """Open a store which nobody else has written to for a while: it guesses numbers. Yield it with its group sizes.

    It has the match "a" with revision 1 and the next ones.
    """
    groups: list[int] = []
    async with open_store(url, lambda writes, _: groups.append(writes)) as store:
        await store.journal.append(opening("a"))
        for revision in range(2, UNDISTURBED + 3):
            await store.journal.append(Append(records("a", revision)))
        groups.clear()
        yield store, groups


NEXT = UNDISTURBED + 3  #: the next revision of the match "a" then


async def test_writes_that_are_queued_while_another_server_writes_share_a_transaction(postgres: str) -> None:
    groups: list[int] = []
    async with open_store(postgres, lambda writes, _: groups.append(writes)) as store:
        with numbering_held(postgres):
            waiting = [store.journal.append(opening("a"))]
            await until_one_waits(postgres)
            waiting += [store.journal.append(Append(records("a", revision))) for revision in range(2, 22)]
            await asyncio.sleep(0)  # the writes of a turn of the event loop are queued at its end
        assert await asyncio.gather(*waiting) == list(range(waiting[0].result(), waiting[0].result() + 21))
        assert groups == [21]


async def test_a_write_that_joins_a_group_and_fails_does_so_alone(postgres: str) -> None:
    async with open_store(postgres) as store:
        with numbering_held(postgres):
            first = store.journal.append(opening("a"))
            await until_one_waits(postgres)
            bad, good = store.journal.append(Append(records("b", 2))), store.journal.append(Append(records("a", 2)))
            await asyncio.sleep(0)
        await first
        with pytest.raises(JournalConflict):
            await bad
        await good
        assert bodies(await store.journal.read("a")) == ["a 1", "a 2"]


async def test_appends_that_lose_to_another_server_cost_their_neighbours_no_transaction_each(postgres: str) -> None:
    groups: list[int] = []
    async with open_store(postgres, lambda writes, _: groups.append(writes)) as store, open_store(postgres) as other:
        names = [f"m{n}" for n in range(20)]
        for name in names:
            await store.journal.append(opening(name))
        lost = names[::3]
        for name in lost:
            await other.journal.append(Append(records(name, 2)))
        await store.journal.append(opening("other"))  # so it does not guess the next number
        groups.clear()
        with numbering_held(postgres):
            waiting = {(name, 1): store.journal.append(Append(records(name, 2), basis=AppendBase())) for name in names}
            await until_one_waits(postgres)
            basis = AppendBase()
            waiting[lost[0], 2] = store.journal.append(Append(records(lost[0], 2, 2), basis=basis))
            waiting[lost[0], 3] = store.journal.append(Append(records(lost[0], 4), basis=basis))
            waiting[names[1], 2] = store.journal.append(Append(records(names[1], 3, 2)))
            waiting[names[1], 3] = store.journal.append(Append(records(names[1], 5)))
            await asyncio.sleep(0)  # the writes of a turn of the event loop are queued at its end
        results = dict(zip(waiting, await asyncio.gather(*waiting.values(), return_exceptions=True), strict=True))
        refused = {key for key, result in results.items() if isinstance(result, JournalConflict)}
        assert refused == {*((name, 1) for name in lost), (lost[0], 2), (lost[0], 3)}
        assert groups == [len(waiting)], "one transaction holds all that fits"
        numbers = [results[key] for key in waiting if key not in refused]
        log = await other.journal.read_all(0, 1_000)
        assert [one.sequence for one in log] == list(range(1, len(log) + 1))
        assert set(numbers) <= {one.sequence for one in log}
        assert bodies(await store.journal.read(names[1])) == [f"m1 {n}" for n in range(1, 6)]
        assert bodies(await store.journal.read(lost[0])) == ["m0 1", "m0 2"]


async def test_a_server_that_writes_alone_does_not_ask_for_the_last_number(postgres: str, asked: list[int]) -> None:
    async with undisturbed(postgres) as (store, _):
        before = len(asked)
        places = [await store.journal.append(Append(records("a", NEXT + n))) for n in range(5)]
        assert places == list(range(places[0], places[0] + 5))
        assert len(asked) == before
        assert [one.sequence for one in await store.journal.read("a", NEXT - 1)] == places


async def test_a_guess_is_wrong_once_another_server_has_written(postgres: str, asked: list[int]) -> None:
    async with undisturbed(postgres) as (store, _), open_store(postgres) as other:
        place = await other.journal.append(opening("b"))
        before = len(asked)
        assert await store.journal.append(Append(records("a", NEXT))) == place + 1
        assert asked[before:] == [place]
        for n in range(1, UNDISTURBED + 1):
            await store.journal.append(Append(records("a", NEXT + n)))
        assert len(asked) == before + 1 + UNDISTURBED, "it asks until it has been alone for a while"
        await store.journal.append(Append(records("a", NEXT + UNDISTURBED + 1)))
        assert len(asked) == before + 1 + UNDISTURBED
        log = await other.journal.read_all(0, 1_000)
        assert [one.sequence for one in log] == list(range(log[0].sequence, log[0].sequence + len(log)))


async def test_a_guess_waits_for_the_commit_of_another_server(postgres: str) -> None:
    async with undisturbed(postgres) as (store, _):
        with opened(postgres) as engine, engine.begin() as connection:
            last = postgresql().number(connection)
            waiting = store.journal.append(Append(records("a", NEXT)))
            await until_one_waits(postgres)
            postgresql().insert(connection, [(last + 1, "b", 1, b"b 1", "match", True, None)])
        assert await waiting == last + 2


async def test_a_conflict_fails_a_guessed_append_and_none_after_it(postgres: str) -> None:
    async with undisturbed(postgres) as (store, _):
        for revision in (NEXT - 1, NEXT + 1):
            with pytest.raises(JournalConflict):
                await store.journal.append(Append(records("a", revision)))
        await store.journal.append(Append(records("a", NEXT)))
        assert (await store.journal.read("a"))[-1].revision == NEXT


@pytest.mark.parametrize("guessing", [False, True])
async def test_statements_that_the_driver_had_the_database_forget_are_prepared_again(
    postgres: str, guessing: bool
) -> None:
    async with undisturbed(postgres) as (store, _), open_store(postgres) as other:
        for n in range(20):  # it prepares what is executed often, and forgets that after a transaction was rolled back
            await store.journal.append(opening(f"m{n}"))
        with pytest.raises(JournalConflict):
            await asyncio.gather(*[store.journal.append(opening(name)) for name in ("b", "a")])
        await store.journal.append(opening("c"))
        for n in range(UNDISTURBED + 2):
            await store.journal.append(Append(records("a", NEXT + n)))
            if not guessing:
                await other.journal.append(opening(f"o{n}"))
        await store.journal.append(opening("d"))
        await store.journal.append(Append(records("a", NEXT + UNDISTURBED + 2)))


async def test_a_large_group_that_waits_for_another_server_keeps_no_thread_waiting(postgres: str) -> None:
    """More than the socket takes: the rest is sent once the database reads it, and other threads run until then."""
    async with undisturbed(postgres) as (store, _):
        large = tuple(Record("a", NEXT + n, b"x" * 50_000, Subject.MATCH) for n in range(MOST_GUESSED))
        with numbering_held(postgres):
            waiting = store.journal.append(Append(large))
            await until_one_waits(postgres)
        await waiting
        assert len(await store.journal.read("a", NEXT - 1)) == MOST_GUESSED


@pytest.mark.parametrize("guessing", [False, True])
async def test_a_connection_that_was_ended_while_nothing_was_written_fails_no_write(
    cluster: Cluster, postgres: str, guessing: bool
) -> None:
    async with undisturbed(postgres) as (store, _), open_store(postgres) as other:
        if not guessing:
            await other.journal.append(opening("b"))
            await store.journal.append(Append(records("a", NEXT)))
        name = postgres.split("/")[3].split("?")[0]
        cluster.ask(f"SELECT pg_terminate_backend(pid) {OTHERS}", name)
        async with asyncio.timeout(LONG_S):
            while await asyncio.to_thread(cluster.ask, f"SELECT pid {OTHERS}", name):
                pass
        await store.journal.append(Append(records("a", NEXT + (not guessing))))


async def test_a_write_whose_connection_is_ended_while_it_waits_fails_and_the_next_one_does_not(
    cluster: Cluster, postgres: str
) -> None:
    async with undisturbed(postgres) as (store, _):
        with numbering_held(postgres):
            waiting = store.journal.append(Append(records("a", NEXT)))
            await until_one_waits(postgres)
            cluster.ask("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
            with pytest.raises(StoreFailed, match="can't use its database now"):
                await waiting
        await store.journal.append(Append(records("a", NEXT)))
