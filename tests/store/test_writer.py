from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, Text, event, select

from arbiter.service.ports.journal import StoreFailed
from arbiter.store.database import opened
from arbiter.store.writer import Write, Writer

NOTE = Table("note", MetaData(), Column("id", Integer, primary_key=True), Column("text", Text, nullable=False))


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with opened(url) as made:
        with made.begin() as connection:
            NOTE.create(connection)
        yield made
        with made.begin() as connection:
            NOTE.drop(connection)


@pytest.fixture
def writer(engine: Engine) -> Iterator[Writer]:
    made = Writer(engine, structlog.get_logger(), commits_a_checkpoint=2)
    yield made
    made.close()


def notes(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.execute(select(NOTE.c.text).order_by(NOTE.c.id)).scalars())


def note(text: str | None) -> Write[str | None]:
    def write(connection: Connection) -> str | None:
        connection.execute(NOTE.insert(), {"text": text}).close()
        return text

    return write


async def stopped(writer: Writer) -> threading.Event:
    """Keep the writer busy until the returned event is set: writes meanwhile become one group."""
    begun, go_on = threading.Event(), threading.Event()

    def hold(_: Connection) -> None:
        begun.set()
        go_on.wait()

    writer.write(hold)
    await asyncio.to_thread(begun.wait)
    return go_on


async def test_waiting_writes_share_a_transaction(engine: Engine, writer: Writer) -> None:
    go_on = await stopped(writer)
    commits: list[int] = []
    event.listen(engine, "commit", lambda connection: commits.append(1))
    asked = [writer.write(note(f"n{n}")) for n in range(100)]
    go_on.set()
    assert await asyncio.gather(*asked) == [f"n{n}" for n in range(100)]
    assert len(commits) == 2  # the transaction of the write that kept it busy, and one more
    assert notes(engine) == [f"n{n}" for n in range(100)]


async def test_writes_of_one_turn_of_the_event_loop_share_a_transaction_while_the_writer_is_idle(
    engine: Engine, writer: Writer
) -> None:
    await writer.write(note("first"))  # it has a connection now, and waits
    commits: list[int] = []
    event.listen(engine, "commit", lambda connection: commits.append(1))
    asked = [writer.write(note(f"n{n}")) for n in range(20)]
    assert writer.queued() == 20
    await asyncio.gather(*asked)
    assert len(commits) == 1


async def test_writes_of_one_turn_share_a_transaction_though_the_writer_wakes_at_the_first(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Queue(queue.SimpleQueue[Any]):
        """Waits until the writer's thread has taken the first write."""

        taken = False

        def put(self, item: object, *_: object) -> None:
            super().put(item)
            while not self.taken:
                self.taken = self.empty()

    monkeypatch.setattr(queue, "SimpleQueue", Queue)
    writer = Writer(engine, structlog.get_logger(), unlocked=False)
    commits: list[int] = []
    event.listen(engine, "commit", lambda connection: commits.append(1))
    await asyncio.gather(*[writer.write(note(f"n{n}")) for n in range(20)])
    assert len(commits) == 1
    writer.close()


async def test_a_write_that_fails_among_those_of_one_turn_fails_alone(engine: Engine, writer: Writer) -> None:
    asked = [writer.write(note(text)) for text in ("a", None, "b")]
    a, none, b = await asyncio.gather(*asked, return_exceptions=True)
    assert (a, b) == ("a", "b")
    assert isinstance(none, StoreFailed)
    assert notes(engine) == ["a", "b"]


async def test_close_finishes_the_writes_of_this_turn(engine: Engine) -> None:
    writer = Writer(engine, structlog.get_logger())
    asked = writer.write(note("last"))
    writer.close()
    await asked
    assert notes(engine) == ["last"]


async def test_a_group_has_a_maximal_size(engine: Engine) -> None:
    writer = Writer(engine, structlog.get_logger(), largest_group=10)
    go_on = await stopped(writer)
    commits: list[int] = []
    event.listen(engine, "commit", lambda connection: commits.append(1))
    asked = [writer.write(note("n")) for _ in range(25)]
    go_on.set()
    await asyncio.gather(*asked)
    writer.close()
    assert len(commits) == 4


async def test_a_write_that_fails_in_a_group_fails_alone(engine: Engine, writer: Writer) -> None:
    def broken(_: Connection) -> None:
        raise KeyError("a mistake")

    go_on = await stopped(writer)
    texts = ("a", "b", None, "c")
    asked: list[asyncio.Future[Any]] = [writer.write(note(text)) for text in texts]
    asked += [writer.write(broken), writer.write(note("d"))]
    go_on.set()
    a, b, none, c, mistake, d = await asyncio.gather(*asked, return_exceptions=True)
    assert (a, b, c, d) == ("a", "b", "c", "d")
    assert isinstance(none, StoreFailed)
    assert "null" in none.message.lower()
    assert "INSERT" not in none.message
    assert isinstance(mistake, KeyError)
    assert notes(engine) == ["a", "b", "c", "d"]


async def test_a_write_that_fails_does_not_give_each_of_its_neighbours_a_transaction(
    engine: Engine, writer: Writer
) -> None:
    go_on = await stopped(writer)
    asked: list[asyncio.Future[Any]] = [writer.write(note(f"n{n}" if n != 40 else None)) for n in range(64)]
    commits: list[int] = []
    event.listen(engine, "commit", lambda connection: commits.append(1))
    go_on.set()
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert [n for n, result in enumerate(results) if isinstance(result, Exception)] == [40]
    assert notes(engine) == [f"n{n}" for n in range(64) if n != 40], "in the order of the calls"
    assert len(commits) <= 1 + 6  # that of the write that kept it busy, and one for each halving


async def test_a_write_whose_caller_was_cancelled_is_done(engine: Engine, writer: Writer) -> None:
    go_on = await stopped(writer)
    left = writer.write(note("left"))
    left.cancel()
    go_on.set()
    await writer.write(note("stayed"))
    assert notes(engine) == ["left", "stayed"]


async def test_close_finishes_all_requested_writes(engine: Engine) -> None:
    idle = engine.pool.status()
    writer = Writer(engine, structlog.get_logger())
    go_on = await stopped(writer)
    asked = [writer.write(note(str(n))) for n in range(50)]
    closing = asyncio.create_task(asyncio.to_thread(writer.close))
    await asyncio.sleep(0)
    go_on.set()
    await closing
    with pytest.raises(StoreFailed, match="closed"):
        await writer.write(note("too late"))
    await asyncio.gather(*asked)
    assert engine.pool.status() == idle
    assert len(notes(engine)) == 50
