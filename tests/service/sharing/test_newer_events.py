"""Servers of two versions share a store, and the newer one writes an event of a kind that the older does not know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Final

import pytest
from structlog.testing import capture_logs

from arbiter.bootstrap.store import Store
from arbiter.errors import Reason
from arbiter.event_json.canonical import Json, digest, encode
from arbiter.matches import Receipt
from arbiter.matches.match import Phase
from arbiter.matches.policy import ClockStart, Policy
from arbiter.service.ports.journal import Append, Record, RecordTooNew, StoredRecord, Subject
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas

AT_ONCE: Final = Policy(start=ClockStart.AT_ONCE)
HEARD_S: Final = 1.0  #: the others have read the log by then
CHAIN: Final = ("at", "match", "previous", "revision")  #: fields that `write` sets


async def server() -> InMemoryArbiter:
    """Return an older server; the test writes what a newer one does."""
    made = InMemoryArbiter(Store(MemoryJournal(), MemoryDirectory(), replicas=MemoryReplicas()))
    await made.share()
    return made


async def write(older: InMemoryArbiter, match_id: str, kind: str, **fields: Json) -> None:
    """Append an event to a match as a newer server does."""
    last = (await older.journal.read(match_id))[-1]
    event: dict[str, Json] = {**fields, "kind": kind, "match": match_id, "previous": digest(last.body)}
    event |= {"at": json.loads(last.body)["at"] + 1, "revision": last.revision + 1}
    await older.journal.append(Append((Record(match_id, last.revision + 1, encode(event), Subject.MATCH),)))


async def ended_elsewhere(older: InMemoryArbiter) -> StoredRecord:
    """Return the last record of another match that has ended."""
    match = await older.create("pondlife", ("erin", "finn"), time="1s", policy=AT_ONCE)
    while (await older.arbiter.matches.match(match.id)).phase is not Phase.ENDED:  # noqa: ASYNC110
        await asyncio.sleep(HEARD_S)  # its flag falls
    return (await older.journal.read(match.id))[-1]


async def read(stream: AsyncIterator[object]) -> None:
    async for _ in stream:
        pass


@virtually
async def test_players_of_such_a_match_are_sent_to_other_servers_and_the_rest_goes_on() -> None:
    older = await server()
    alice, bob, carol = [await older.connect(name) for name in ("alice", "bob", "carol")]
    match = await older.create("pondlife", policy=AT_ONCE)
    other = await older.create("pondlife", ("carol", "dave"), policy=AT_ONCE)
    await asyncio.sleep(HEARD_S)
    with capture_logs() as logs:
        await write(older, match.id, "adjourned", until=0)
        await asyncio.sleep(HEARD_S)
    assert [entry["event"] for entry in logs if entry["log_level"] != "info"] == ["match_too_new"]
    for reader in (alice, bob):
        assert reader.session.ended is not None
        assert reader.session.ended.reason is Reason.STORE_UNAVAILABLE, "a client tries the next address"
    for call in (older.connect("alice"), older.arbiter.matches.match(match.id)):
        with pytest.raises(RecordTooNew, match=f"of match {match.id} was written by a newer version"):
            await call
    assert carol.session.ended is None
    request = carol.reply(await carol.turn())
    await carol.receive()
    assert isinstance(carol.answer(request), Receipt)
    assert (await older.arbiter.matches.match(other.id)).ply == 1


@virtually
async def test_its_players_may_come_back_once_it_has_ended() -> None:
    older = await server()
    match = await older.create("pondlife", policy=AT_ONCE)
    await asyncio.sleep(HEARD_S)
    await write(older, match.id, "adjourned", until=0)
    await asyncio.sleep(HEARD_S)
    with pytest.raises(RecordTooNew):
        await older.connect("alice")
    ended = json.loads((await ended_elsewhere(older)).body)
    await write(older, match.id, **{name: value for name, value in ended.items() if name not in CHAIN})
    await asyncio.sleep(HEARD_S)
    assert (await older.connect("alice")).session.ended is None


@virtually
async def test_observers_of_it_are_sent_to_other_servers_and_miss_nothing() -> None:
    older = await server()
    match = await older.create("pondlife", policy=AT_ONCE)
    feed = older.arbiter.feed
    async with feed.of_match(match.id, 0) as one, feed.of_all(0, "") as everything:
        reading = [asyncio.create_task(read(stream)) for stream in (one, everything)]
        await asyncio.sleep(HEARD_S)
        await write(older, match.id, "adjourned", until=0)
        await older.create("pondlife", ("carol", "dave"), policy=AT_ONCE)
        await asyncio.sleep(HEARD_S)
        for task in reading:
            assert task.done()
            assert isinstance(task.exception(), RecordTooNew)


@virtually
async def test_a_server_that_starts_sets_it_aside_and_lets_its_players_in() -> None:
    """After an update was taken back, no newer server may be there to send them to."""
    older = await server()
    match = await older.create("pondlife", policy=AT_ONCE)
    await write(older, match.id, "adjourned", until=0)
    await older.die()
    again = older.beside()
    assert await again.share() == 0
    assert (await again.connect("alice")).session.ended is None
    with pytest.raises(RecordTooNew):
        await again.arbiter.matches.match(match.id)
