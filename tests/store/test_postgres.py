"""What is special about PostgreSQL: several writers, lost connections, the lock of a server."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from unittest.mock import ANY

import pytest
from structlog.testing import capture_logs

from arbiter.bootstrap.store import Store, open_store
from arbiter.errors import OperatorError
from arbiter.matches import Receipt
from arbiter.matches.commands import Play
from arbiter.matches.events import Cause
from arbiter.matches.match import with_position
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import check_chain
from arbiter.service.play.session import EndedItem, TurnItem
from arbiter.service.ports.journal import Append, JournalConflict, StoredRecord, StoreFailed
from arbiter.store import tables
from arbiter.store.database import opened
from arbiter.store.dialects import postgres_locks
from arbiter.store.dialects import postgres_statements as statements
from arbiter.store.looking import look
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader, items_of
from tests.processes import until
from tests.service.tournaments.contest import GAME
from tests.store.postgres import Cluster
from tests.store.test_journal import opening, records


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a second server not wait for the first one to end."""
    monkeypatch.setattr(postgres_locks, "LET_GO_MS", 200)


async def follow(store: Store, upto: int) -> list[StoredRecord]:
    """Read the whole log as a reader that looks only behind the last number that it has seen."""
    seen: list[StoredRecord] = []
    while len(seen) < upto:
        seen += await store.journal.read_all(seen[-1].sequence if seen else 0, 50)
    return seen


async def test_numbers_become_visible_in_order_with_several_writers(postgres: str) -> None:
    async with open_store(postgres) as one, open_store(postgres) as other, open_store(postgres) as third:
        reader = asyncio.create_task(follow(third, 2 * 40 * 5))
        await asyncio.gather(*(_write(store, name, 40) for store, name in ((one, "a"), (other, "b"))))
        seen = await reader
        assert seen == await third.journal.read_all(0, 1_000)
        assert [record.sequence for record in seen] == list(range(1, 401))


async def _write(store: Store, name: str, matches: int) -> None:
    for number in range(matches):
        match_id = f"{name}{number}"
        asked = [store.journal.append(opening(match_id))]
        asked += [store.journal.append(Append(records(match_id, revision))) for revision in range(2, 6)]
        await asyncio.gather(*asked)


async def test_plans_of_a_new_store_use_the_indexes(postgres: str) -> None:
    """PostgreSQL keeps a generic plan after a few executions; it must not read the whole table for each group."""
    with opened(postgres) as engine, engine.connect() as connection:

        def plan(query: str) -> str:
            return "\n".join(connection.exec_driver_sql(f"EXPLAIN {query}").scalars())

        connection.exec_driver_sql("SET plan_cache_mode = force_generic_plan")
        connection.exec_driver_sql(statements.PREPARE)
        appends = [
            plan(f"EXECUTE {name}({', '.join(['NULL'] * 7)})") for name in (statements.INSERT, statements.INSERT_BEHIND)
        ]
        last = plan(f"EXECUTE {statements.LAST}")
        brought = plan(f"EXECUTE {statements.FROM}(1)")
        connection.exec_driver_sql(
            "PREPARE follow AS SELECT * FROM event WHERE sequence > $1 ORDER BY sequence LIMIT $2"
        )
        follow = plan("EXECUTE follow(1, 500)")
        connection.exec_driver_sql("PREPARE read AS SELECT * FROM event WHERE match_id = $1 ORDER BY revision")
        read = plan("EXECUTE read('m1')")
    for append in appends:
        assert "Index Cond: ((match_id = new.match_id) AND (revision = (new.revision - 1)))" in append
    for append in (appends[1], last):
        assert "Index Only Scan Backward using event_0_sequence_idx" in append
    assert f"Subplans Removed: {tables.PARTITIONS - 1}" in read, "the partitions of other matches are not asked"
    assert "event_0_sequence_idx" in brought  # by a bitmap where the database has counted a few rows meanwhile
    assert not [each for each in (*appends, last, brought, follow, read) if "Seq Scan" in each]


async def test_the_query_for_the_records_before_an_append_is_planned_once(postgres: str) -> None:
    with opened(postgres) as engine, engine.connect() as connection:
        connection.exec_driver_sql(statements.PREPARE)
        for number in range(50):
            connection.exec_driver_sql(f"EXECUTE {statements.FROM}({number})").close()
        plans = f"SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE name = '{statements.FROM}'"
        assert connection.exec_driver_sql(plans).one() == (45, 5)  # so many the database tries in any case


async def test_of_two_writers_of_a_revision_one_wins(postgres: str) -> None:
    async with open_store(postgres) as one, open_store(postgres) as other:
        await one.journal.append(opening("a"))
        for revision in range(2, 30):
            asked = [store.journal.append(Append(records("a", revision))) for store in (one, other)]
            answers = await asyncio.gather(*asked, return_exceptions=True)
            assert sorted(isinstance(answer, JournalConflict) for answer in answers) == [False, True]
        assert [record.revision for record in await one.journal.read("a")] == list(range(1, 30))


async def test_two_servers_with_the_same_move_play_it_once_and_both_answer_so(postgres: str) -> None:
    """Every append is a race here. Nothing is interrupted, and no error is logged."""
    async with open_store(postgres) as here, open_store(postgres) as there:
        one = InMemoryArbiter(here)
        other = InMemoryArbiter(there, ids=one.ids)
        match = await one.create("pondlife", policy=Policy(start=ClockStart.AT_ONCE))
        with capture_logs() as logs:
            for ply in range(20):
                move, now = min(match.game.moves(match.position)), one.clock.now_ms()
                player = match.players[match.turn - 1]
                make = partial(Play, request=f"r{ply}", ply=ply, move=move, arrived=now)
                answers = await asyncio.gather(
                    *(server.arbiter.matches.request(player, match.id, make) for server in (one, other))
                )
                assert isinstance(answers[0], Receipt)
                assert answers[0] == answers[1]
                match = with_position(await one.arbiter.matches.match(match.id))
        assert [entry for entry in logs if entry["log_level"] in ("warning", "error")] == []
        kinds = [
            event.kind.value for event in check_chain([record.body for record in await here.journal.read(match.id)])
        ]
        assert kinds == ["created", "started"] + ["moved"] * 20


async def test_players_on_two_servers_play_each_other_to_the_end(postgres: str) -> None:
    """Each server gets the other's moves by the log alone; nothing is interrupted, and both players get each result
    once."""
    async with open_store(postgres, shared=True) as here, open_store(postgres, shared=True) as there:
        one = InMemoryArbiter(here)
        other = InMemoryArbiter(there, ids=one.ids)
        with capture_logs() as logs:
            for server in (one, other):
                await server.share()
            matches = [await one.create(GAME, policy=Policy(start=ClockStart.AT_ONCE)) for _ in range(3)]
            alice, bob = await one.connect("alice"), await other.connect("bob")
            ids = sorted(match.id for match in matches)
            assert sorted(await asyncio.gather(play_to_the_end(alice, 3), play_to_the_end(bob, 3))) == [ids, ids]
        assert [entry for entry in logs if entry["log_level"] in ("warning", "error")] == []
        for match_id in ids:
            events = check_chain([record.body for record in await here.journal.read(match_id)])
            assert "interrupted" not in [event.kind.value for event in events]


async def test_a_player_goes_on_at_another_server_when_its_own_has_died(postgres: str) -> None:
    async with open_store(postgres, shared=True) as here, open_store(postgres, shared=True) as there:
        one = InMemoryArbiter(here)
        other = InMemoryArbiter(there, ids=one.ids)
        for server in (one, other):
            await server.share()
        match = await one.create(GAME, time="1s", policy=Policy(start=ClockStart.AT_ONCE))
        alice, bob = await one.connect("alice"), await other.connect("bob")
        assert any(isinstance(item, TurnItem) for item in await items_of(alice.session))
        await one.die()
        again = await connected(other, "alice")  # before any server knows that the other one has died
        while b'"interrupted"' not in b"".join(await bodies_of(there, match.id)):  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)
        played = await asyncio.gather(play_to_the_end(again, 1), play_to_the_end(bob, 1))
        assert [*played] == [[match.id], [match.id]]
        ended = await other.arbiter.matches.match(match.id)
        assert ended.result is not None
        assert ended.result.cause is not Cause.TIME


async def connected(server: InMemoryArbiter, name: str) -> StreamReader:
    """Connect a player, as clients do: again while the store of a busy machine does not answer in time."""
    while True:
        with suppress(StoreFailed):
            return await server.connect(name)


async def bodies_of(store: Store, match_id: str) -> list[bytes]:
    return [record.body for record in await store.journal.read(match_id)]


async def play_to_the_end(reader: StreamReader, matches: int) -> list[str]:
    """Answer the turns on a stream until it has sent this many results; return the ids of their matches, sorted."""
    ended: list[str] = []
    while len(ended) < matches:
        for item in await items_of(reader.session):
            if isinstance(item, TurnItem):
                reader.reply(item)
            elif isinstance(item, EndedItem):
                ended.append(item.match_id)
    return sorted(ended)


def test_a_user_without_rights_gets_an_error_that_says_so(cluster: Cluster) -> None:
    url = cluster.fresh()
    cluster.ask("DROP ROLE IF EXISTS guest")
    cluster.ask("CREATE ROLE guest LOGIN")
    guest = url.replace("arbiter@", "guest@")
    with pytest.raises(OperatorError, match=r"it does not let this user do that .*: grant"), opened(guest):
        pass


async def test_stores_share_a_database_with_separate_schemas(cluster: Cluster) -> None:
    url = cluster.fresh()
    name = url.partition("?")[0].rpartition("/")[2]
    for schema in ("cup", "league"):
        cluster.ask(f"CREATE SCHEMA {schema}", name)
    async with (
        open_store(f"{url}&options=-csearch_path%3Dcup", alone=True) as cup,
        open_store(f"{url}&options=-csearch_path%3Dleague", alone=True) as league,
    ):
        assert await cup.journal.append(opening("a", 3)) == 3
        assert await league.journal.append(opening("a")) == 1
        assert [record.revision for record in await cup.journal.read("a")] == [1, 2, 3]
        assert [record.revision for record in await league.journal.read("a")] == [1]


def test_the_first_of_several_hosts_that_answers_is_taken(cluster: Cluster) -> None:
    """libpq's way to name a standby; settings in a URL have precedence over the adapter's."""
    url = cluster.fresh()
    name = url.partition("?")[0].rpartition("/")[2]
    several = f"postgresql://arbiter@/{name}?host=/nowhere&host={cluster.folder}&application_name=mine"
    with opened(several) as engine, engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW application_name").scalar() == "mine"


def test_an_inspected_database_is_not_changed(cluster: Cluster) -> None:
    url = cluster.fresh()
    empty = look(url)
    assert (empty.version, empty.records, empty.served) == ("", 0, False)
    same = empty._replace(round_trip_ms=ANY, clock_ms=ANY, free_connections=ANY)
    assert look(url) == same, "an inspection makes no tables"
    with opened(url, alone=True):
        state = look(url)
    assert state.database.startswith("PostgreSQL ")
    assert state.version == state.newest
    assert state.served
    until(lambda: not look(url).served)
    assert state.unsafe == ("fsync is off",), "the tests start PostgreSQL with this setting"
    assert state.free_connections is not None
    assert 0 < state.free_connections < 1_000
    assert state.clock_ms is not None
    assert abs(state.clock_ms) < 5_000
