"""What is special about PostgreSQL: several writers, lost connections, the lock of a server."""

from __future__ import annotations

import asyncio
import itertools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from unittest.mock import ANY

import pytest
import structlog
from sqlalchemy import Connection, Engine, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from structlog.testing import capture_logs

from arbiter.bootstrap import Store, open_store
from arbiter.errors import OperatorError, Reason
from arbiter.matches import Receipt
from arbiter.matches.commands import Play
from arbiter.matches.events import Cause
from arbiter.matches.match import with_position
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import check_chain
from arbiter.service.play.session import EndedItem, TurnItem
from arbiter.service.ports.directory import Player
from arbiter.service.ports.journal import Append, JournalConflict, StoredRecord, StoreFailed
from arbiter.store import tables
from arbiter.store.database import opened
from arbiter.store.dialects import postgres_locks
from arbiter.store.dialects import postgres_statements as statements
from arbiter.store.directory import player_columns
from arbiter.store.looking import look
from arbiter.store.writer import Writer
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader, items_of
from tests.service.tournaments.contest import GAME
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
        again = await other.connect("alice")  # before any server knows that the other one has died
        while b'"interrupted"' not in b"".join(await bodies_of(there, match.id)):  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)
        played = await asyncio.gather(play_to_the_end(again, 1), play_to_the_end(bob, 1))
        assert [*played] == [[match.id], [match.id]]
        ended = await other.arbiter.matches.match(match.id)
        assert ended.result is not None
        assert ended.result.cause is not Cause.TIME


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


@pytest.mark.parametrize(("how", "times"), [("sessions ended", 5), ("stopped", 1), ("crashed", 1)])
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
    assert not look(url).served
    assert state.unsafe == ("fsync is off",), "the tests start PostgreSQL with this setting"
    assert state.free_connections is not None
    assert 0 < state.free_connections < 1_000
    assert state.clock_ms is not None
    assert abs(state.clock_ms) < 5_000
