"""Appends to a store that several servers write to bring the records of the others, in their own round trips."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import structlog
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import OperationalError

from arbiter.bootstrap.store import Store, open_store
from arbiter.service.ports.journal import Append, JournalConflict, Record, StoredRecord, StoreFailed, Subject
from arbiter.store.appending import UNDISTURBED
from arbiter.store.database import opened
from arbiter.store.dialects import postgres_statements, postgresql
from arbiter.store.dialects.postgres_statements import MOST_BROUGHT
from arbiter.store.journal import SqlJournal
from arbiter.store.reader import Reader
from arbiter.store.writer import Writer
from tests.store.test_appending import until_one_waits
from tests.store.test_journal import bodies, opening, records


@pytest.fixture
async def one(postgres: str, tmp_path: Path) -> AsyncIterator[Store]:
    """Return the store of a server that knows the log up to its opening of the match "a"."""
    async with open_store(postgres, ring=tmp_path / "keys") as store:
        store.journal.know(await store.journal.append(opening("a")))
        yield store


@pytest.fixture
async def other(one: Store, postgres: str, tmp_path: Path) -> AsyncIterator[Store]:
    """Return the same store, of another server with the same keys."""
    async with open_store(postgres, ring=tmp_path / "keys") as store:
        yield store


async def log_of(store: Store) -> list[StoredRecord]:
    return await store.journal.read_all(0, 10_000)


async def test_an_append_brings_the_records_of_others_before_it_as_a_reader_gets_them(one: Store, other: Store) -> None:
    awkward = Record("b", 2, bytes(range(256)) + "„\\x“ \0".encode(), Subject.TOURNAMENT)
    await other.journal.append(opening("b"))
    await other.journal.append(Append((awkward,)))
    assert one.journal.brought() == []
    place = await one.journal.append(Append(records("a", 2)))
    brought = one.journal.brought()
    assert [one.match_id for one in brought] == ["b", "b"]
    assert brought == (await log_of(one))[1:-1]
    assert brought[-1].sequence == place - 1
    assert one.journal.brought() == []


async def test_nothing_is_brought_twice_though_nobody_says_that_it_is_known(one: Store, other: Store) -> None:
    brought = []
    for revision in range(2, 6):
        await other.journal.append(opening(f"b{revision}"))
        await one.journal.append(Append(records("a", revision)))
        brought += one.journal.brought()
    assert bodies(brought) == [f"b{revision} 1" for revision in range(2, 6)]


async def test_nothing_is_brought_that_is_known(one: Store, other: Store) -> None:
    one.journal.know(await other.journal.append(opening("b")))
    await other.journal.append(opening("c"))
    await one.journal.append(Append(records("a", 2)))
    assert bodies(one.journal.brought()) == ["c 1"]


async def test_nothing_is_brought_to_a_server_that_follows_no_log(one: Store, other: Store) -> None:
    one.journal.know(0)
    await other.journal.append(opening("b"))
    await one.journal.append(Append(records("a", 2)))
    assert one.journal.brought() == []


async def test_what_is_committed_while_a_server_waits_for_its_turn_is_brought(one: Store, postgres: str) -> None:
    with opened(postgres) as engine, engine.begin() as connection:
        last = postgresql().number(connection)
        waiting = one.journal.append(Append(records("a", 2)))
        await until_one_waits(postgres)
        postgresql().insert(connection, [(last + 1, "b", 1, b"b 1", "match", True, _seal(one, last + 1))])
    assert await waiting == last + 2
    assert bodies(one.journal.brought()) == ["b 1"]


def _seal(store: Store, number: int) -> bytes:
    return store.journal._seals.sealer()(number, "b", 1, b"b 1", "match")  # type: ignore[attr-defined, no-any-return]


async def test_an_append_that_is_refused_brings_the_records_of_others(one: Store, other: Store) -> None:
    await other.journal.append(Append(records("a", 2)))
    with pytest.raises(JournalConflict):
        await one.journal.append(Append(records("a", 2)))
    assert {record.sequence: record for record in one.journal.brought()} == {2: (await log_of(one))[1]}
    await other.journal.append(opening("b"))
    assert await one.journal.append(Append(records("a", 3))) == 4
    assert bodies(one.journal.brought())[-1:] == ["b 1"]


async def test_a_group_with_a_refused_append_brings_everything(one: Store, other: Store) -> None:
    await other.journal.append(Append(records("a", 2)))
    asked = [opening("b"), Append(records("a", 2)), Append(records("b", 2)), opening("c")]
    answers = await asyncio.gather(*(one.journal.append(append) for append in asked), return_exceptions=True)
    assert [isinstance(answer, JournalConflict) for answer in answers] == [False, True, False, False]
    assert "a 2" in bodies(one.journal.brought())
    await other.journal.append(opening("d"))
    await one.journal.append(opening("e"))
    known = [1, *(record.sequence for record in one.journal.brought()), *(n for n in answers if isinstance(n, int)), 7]
    assert set(known) >= set(range(3, 8))


async def test_a_transaction_that_can_not_commit_brings_what_it_has_read(postgres: str, other_keyless: Store) -> None:
    log = structlog.get_logger()
    with opened(postgres) as engine:
        writer, reader = Writer(engine, log), Reader(engine, log)
        journal = SqlJournal(engine, writer, reader)
        journal.know(await journal.append(opening("a")))
        await other_keyless.journal.append(opening("b"))

        def fail(_: Connection) -> None:
            raise OperationalError("COMMIT", None, Exception("the disk is full"))

        event.listen(engine, "commit", fail)
        with pytest.raises(StoreFailed):
            await journal.append(opening("c"))
        event.remove(engine, "commit", fail)
        assert bodies(journal.brought()) == ["b 1"]
        await other_keyless.journal.append(opening("d"))
        await journal.append(opening("c"))
        assert bodies(journal.brought())[-1] == "d 1"
        await asyncio.to_thread(writer.close)
        reader.close()


@pytest.fixture
async def other_keyless(postgres: str) -> AsyncIterator[Store]:
    async with open_store(postgres) as store:
        yield store


async def test_many_records_are_left_to_who_reads_the_log(one: Store, other: Store) -> None:
    await asyncio.gather(*(other.journal.append(opening(f"b{n}")) for n in range(MOST_BROUGHT + 1)))
    place = await one.journal.append(Append(records("a", 2)))
    assert place == MOST_BROUGHT + 3
    assert one.journal.brought() == []
    one.journal.know(place)
    await asyncio.gather(*(other.journal.append(opening(f"c{n}")) for n in range(MOST_BROUGHT)))
    await one.journal.append(Append(records("a", 3)))
    assert len(one.journal.brought()) == MOST_BROUGHT


async def test_of_damaged_records_only_those_before_are_brought(one: Store, other: Store, postgres: str) -> None:
    for name in "bcd":
        await other.journal.append(opening(name))
    with opened(postgres) as engine, engine.begin() as connection:
        connection.execute(text("UPDATE event SET body = 'x' WHERE match_id = 'c'"))
    place = await one.journal.append(Append(records("a", 2)))
    assert bodies(one.journal.brought()) == ["b 1"]
    await other.journal.append(opening("e"))
    assert await one.journal.append(Append(records("a", 3))) == place + 2
    assert bodies(one.journal.brought()) == ["e 1"]


async def test_if_the_known_record_is_gone_appends_get_the_right_numbers(
    one: Store, other: Store, postgres: str
) -> None:
    place = await other.journal.append(opening("b"))
    with opened(postgres) as engine, engine.begin() as connection:
        connection.execute(text("DELETE FROM event WHERE match_id = 'a'"))
    assert await one.journal.append(opening("c")) == place + 1
    assert one.journal.brought() == []
    one.journal.know(10**6)  # more than there are, as after the database was restored from a backup
    assert await one.journal.append(opening("d")) == place + 2


async def test_a_server_that_guesses_a_wrong_number_gets_what_others_have_written(one: Store, other: Store) -> None:
    revision = 2
    for _ in range(UNDISTURBED + 3):
        await one.journal.append(Append(records("a", revision)))
        revision += 1
    await other.journal.append(opening("b"))
    await one.journal.append(Append(records("a", revision)))
    assert bodies(one.journal.brought()) == ["b 1"]


async def test_numbers_take_no_more_round_trips_when_they_bring_records(
    one: Store, other: Store, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    numbered = postgres_statements.numbered

    def noted(connection: Connection, ask: str) -> object:
        asked.append(ask)
        return numbered(connection, ask)

    monkeypatch.setattr(postgres_statements, "numbered", noted)
    for revision in range(2, 5):
        await one.journal.append(Append(records("a", revision)))
        await other.journal.append(opening(f"b{revision}"))
    assert len(asked) == 6


async def test_a_log_that_several_servers_write_is_complete_at_each_of_them(one: Store, other: Store) -> None:
    """What appends bring, and what was appended, is the whole log, in order, at each server that never reads it."""
    other.journal.know(await other.journal.head())
    first = 1 + await other.journal.head()
    logs: tuple[dict[int, bytes], dict[int, bytes]] = ({}, {})

    def take(store: Store, log: dict[int, bytes]) -> None:
        for record in store.journal.brought():
            assert log.setdefault(record.sequence, record.body) == record.body

    async def write(store: Store, log: dict[int, bytes], name: str) -> None:
        for n in range(30):
            first_of_match = opening(f"{name}{n}", 2)
            more = [Append(records(f"{name}{n}", revision)) for revision in range(3, 6)]
            for append, place in zip(
                (first_of_match, *more),
                await asyncio.gather(*(store.journal.append(append) for append in (first_of_match, *more))),
                strict=True,
            ):
                size = len(append.records)
                log.update({place - size + 1 + k: record.body for k, record in enumerate(append.records)})
            take(store, log)

    await asyncio.gather(*(write(store, log, name) for store, log, name in zip((one, other), logs, "xy", strict=True)))
    for store, log, name in zip((one, other), logs, "xy", strict=True):
        await store.journal.append(opening(f"last-{name}"))
        take(store, log)
    everything = {record.sequence: record.body for record in await log_of(one) if record.sequence >= first}
    for log, name in zip(logs, "xy", strict=True):
        missing = {body for number, body in everything.items() if number not in log}
        assert missing <= {b"last-x 1", b"last-y 1"}, name
        assert log.items() <= everything.items()


@pytest.mark.parametrize(("last", "fits"), [(2, True), (1, False), (3, False), (0, False)])
async def test_rows_are_stored_behind_the_last_record_and_behind_no_other(
    one: Store, other: Store, postgres: str, last: int, fits: bool
) -> None:
    assert await other.journal.append(opening("b")) == 2
    with opened(postgres) as engine, engine.connect() as connection:
        assert postgresql().insert_behind(connection, [(last + 1, "c", 1, b"c 1", "match", True, None)]) is fits
    assert await one.journal.head() == 2 + fits


async def test_rows_are_stored_behind_the_beginning_of_an_empty_log_only(postgres: str) -> None:
    with opened(postgres) as engine, engine.connect() as connection:
        assert not postgresql().insert_behind(connection, [(6, "c", 1, b"c 1", "match", True, None)])
        assert postgresql().insert_behind(connection, [(1, "c", 1, b"c 1", "match", True, None)])
        assert not postgresql().insert_behind(connection, [(1, "d", 1, b"d 1", "match", True, None)])
