"""What `arbiter doctor` finds of a PostgreSQL and of the servers that share it: each fault has a name and an advice."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from arbiter.bootstrap import examination
from arbiter.bootstrap.examination import examine
from arbiter.bootstrap.findings import Finding, Grade
from arbiter.bootstrap.store import open_record
from arbiter.config import Settings, load
from arbiter.store import looking
from tests.store.postgres import Cluster
from tests.store.test_appending import numbering_held, until_one_waits
from tests.store.test_journal import opening

LONG_AGO_MS = 60_000


@pytest.fixture
def settings(postgres: str, tmp_path: Path) -> Settings:
    return load(None, store=postgres, keys=tmp_path / "arbiter.keys", listen="127.0.0.1:0", rules_workers=1)


async def found(settings: Settings, subject: str) -> list[Finding]:
    examined = await asyncio.to_thread(examine, settings)
    return [each for each in examined.findings if each.subject == subject]


async def test_settings_that_could_lose_moves_are_named(settings: Settings) -> None:
    async with open_record(settings, shared=True):
        [unsafe] = await found(settings, "durability")  # the database of the tests, for speed
    assert unsafe.grade is Grade.WRONG
    assert unsafe.text.startswith("fsync is off in the database")
    assert "postgresql.conf" in unsafe.advice


async def test_the_way_to_the_database_its_connections_and_its_clock_are_looked_at(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_record(settings, shared=True):
        for name, value in (("SLOW_ROUND_TRIP_MS", 1e6), ("FEW_CONNECTIONS", 0), ("CLOCKS_APART_MS", 1e6)):
            monkeypatch.setattr(examination, name, value)
        assert {(each.grade, each.advice) for each in await found(settings, "database")} == {(Grade.GOOD, "")}
        for name, value in (("SLOW_ROUND_TRIP_MS", 0), ("FEW_CONNECTIONS", 1_000), ("CLOCKS_APART_MS", -1)):
            monkeypatch.setattr(examination, name, value)
        trip, connections, clock = await found(settings, "database")
    assert {each.grade for each in (trip, connections, clock)} == {Grade.NOTE}
    assert trip.text.startswith("a round trip to the database takes ")
    assert "nearer" in trip.advice
    assert "max_connections" in connections.advice
    assert clock.text.startswith("the database's clock differs by ")
    assert "NTP" in clock.advice


async def test_servers_are_counted_and_a_silent_one_is_noted(
    settings: Settings, cluster: Cluster, postgres: str
) -> None:
    def heard(replica: str, silent_ms: int) -> None:
        now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        cluster.ask(f"INSERT INTO replica VALUES ('{replica}', {now} - {silent_ms}, '', 0)", database)

    database = str(make_url(postgres).database)
    assert await found(settings, "servers") == []
    async with AsyncExitStack() as stack:  # servers without their heartbeats
        for servers in ("a server serves", "2 servers serve"):
            await stack.enter_async_context(open_record(settings, shared=True))
            assert [each.text for each in await found(settings, "lock")] == [f"{servers} the store"]
        heard("alive", -LONG_AGO_MS)  # however busy this machine is
        [alive] = await found(settings, "servers")
        assert (alive.grade, alive.advice) == (Grade.GOOD, "")
        heard("silent", LONG_AGO_MS)
        [silent] = await found(settings, "servers")
    assert silent.grade is Grade.NOTE
    assert re.fullmatch(r"1 of the 2 servers of the store last said \d+ s ago that they are alive", silent.text)
    assert "look at their logs" in silent.advice


async def test_who_waits_for_a_lock_is_named_with_who_holds_it(
    settings: Settings, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LONG_WAIT_S", 0.0)
    async with open_record(settings, shared=True) as (store, _):
        with numbering_held(postgres):
            waiting = store.journal.append(opening("a"))
            await until_one_waits(postgres)
            served, lock = await found(settings, "lock")
        assert served.text == "a server serves the store"
        assert lock.grade is Grade.NOTE
        waits = r"session \d+ has waited \d+ s for a lock of session \d+"
        assert re.fullmatch(rf"in the database, {waits} \(arbiter, idle in transaction\)", lock.text)
        assert "pg_terminate_backend" in lock.advice
        await waiting
        assert [each.text for each in await found(settings, "lock")] == ["a server serves the store"]
