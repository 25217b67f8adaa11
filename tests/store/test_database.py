"""Opening stores: URLs, locks, migrations, and errors."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import alembic.op
import pytest
import structlog
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text
from sqlalchemy.engine.interfaces import ReflectedIndex
from structlog.testing import capture_logs

from arbiter.bootstrap.running_server import serving
from arbiter.bootstrap.store import open_store
from arbiter.config import load
from arbiter.errors import OperatorError, Reason
from arbiter.service.ports.directory import Player
from arbiter.service.ports.journal import Append, MatchEnd, StoreFailed, StoreTooNew
from arbiter.store import database, migrations, tables
from arbiter.store.database import engine_of, newest, opened, place_of, shown
from arbiter.store.dialects import dialect_of, postgres_locks, postgresql
from arbiter.store.dialects import sqlite as dialect
from arbiter.store.reader import Reader
from tests.store.postgres import Cluster
from tests.store.records import appends
from tests.store.steps import add_steps, first_store
from tests.store.test_journal import opening, records


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a database without tables, on every kind of database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/arbiter.db"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.fresh()


@pytest.mark.long
def test_tables_of_the_first_version_are_brought_up_to_those_of_a_new_store(empty: str) -> None:
    with opened(empty) as engine:
        new = _described(engine)
        _emptied(engine)
    first_store(empty).dispose()
    with opened(empty) as engine:
        assert _described(engine) == new, "tables have changed without a step that changes them (see deploy/ADDING.md)"


def _described(engine: Engine) -> dict[str, object]:
    """Return the structure of each table: columns with types and defaults, keys, indexes; and the version."""
    found: dict[str, object] = {}
    engine = engine.execution_options(**dialect_of(engine).lone_reads)  # a busy machine pauses between statements
    seen = inspect(engine)
    for table in seen.get_table_names():
        indexes = [each | {"dialect_options": _shown(each)} for each in seen.get_indexes(table)]
        rules = seen.get_unique_constraints(table), indexes, seen.get_foreign_keys(table)
        found[table] = (
            [f"{column} {column['type']!r}" for column in seen.get_columns(table)],
            seen.get_pk_constraint(table)["constrained_columns"],
            [sorted(map(repr, rule)) for rule in rules],
        )
    with engine.connect() as connection:
        found["version"] = connection.execute(text("SELECT version_num FROM alembic_version")).all()
    return found


def _shown(index: ReflectedIndex) -> dict[str, str]:
    """Return the options of an index as texts: its condition is an object, and is quoted as its statement was."""
    return {name: str(value).replace('"', "") for name, value in index.get("dialect_options", {}).items()}


def _emptied(engine: Engine) -> None:
    with engine.begin() as connection:
        tables.metadata.drop_all(connection)
        connection.execute(text("DROP TABLE alembic_version"))


def test_the_log_is_in_partitions_on_postgresql(postgres: str) -> None:
    with opened(postgres) as engine, engine.begin() as connection:
        for number in range(1, 201):
            connection.execute(
                tables.event.insert(), {"sequence": number, "match_id": f"m{number}", "revision": 1, "body": b"{}"}
            )
        parts = [name for (name,) in connection.execute(text("SELECT DISTINCT tableoid::regclass::text FROM event"))]
        last = connection.execute(text("EXPLAIN SELECT max(sequence) FROM event")).scalars().all()
    assert sorted(parts) == [f"event_{part}" for part in range(tables.PARTITIONS)]
    assert not [line for line in last if "Seq Scan" in line], last


def test_lists_are_sorted_by_bytes_on_every_database(database: str) -> None:
    """PostgreSQL sorts by a collation unless a column says otherwise; the columns of pages say otherwise."""
    with opened(database) as engine:
        for table in tables.metadata.sorted_tables:
            keys = {key.name for key in table.primary_key} - {"digest", "result", "cause"}
            for column in inspect(engine).get_columns(table.name):
                if column["name"] in keys and hasattr(column["type"], "collation"):
                    assert column["type"].collation == "C", (table.name, column["name"])


def test_a_commit_is_flushed_to_the_disk(sqlite: str) -> None:
    with opened(sqlite) as engine, engine.connect() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
        }
    assert settings == {"journal_mode": "wal", "synchronous": 2}


@pytest.mark.parametrize(("default", "meant"), [("off", "on"), ("on", "on"), ("remote_apply", "remote_apply")])
def test_a_commit_to_postgresql_is_flushed_to_the_disk(cluster: Cluster, default: str, meant: str) -> None:
    url = cluster.fresh()
    name = url.partition("?")[0].rpartition("/")[2]
    cluster.ask(f"ALTER DATABASE {name} SET synchronous_commit = '{default}'")
    cluster.ask(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    with opened(url) as engine, engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == meant
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"


def test_opening_again_changes_nothing(sqlite: str, tmp_path: Path) -> None:
    with opened(sqlite):
        pass
    before = (tmp_path / "arbiter.db").read_bytes()
    with opened(sqlite, alone=True):
        pass
    assert (tmp_path / "arbiter.db").read_bytes() == before


@pytest.mark.long
def test_a_migration_happens_whole_or_not_at_all(empty: str, steps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the plug was pulled")

    with opened(empty) as engine:
        before = _described(engine)
    version = add_steps(steps, True, True)
    with monkeypatch.context() as patch:
        patch.setattr(alembic.op, "create_index", fail)
        with pytest.raises(RuntimeError, match="plug"), opened(empty):
            pass
    engine = engine_of(place_of(empty))
    assert _described(engine) == before
    engine.dispose()
    with opened(empty) as engine:
        assert database.version_of(engine) == version == newest()
        assert {f"more_{int(version) - 1}", f"more_{int(version)}"} <= _described(engine).keys()


def test_a_new_store_has_all_tables_or_none(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(database, "newest", object)  # the last step fails: to store the version
        with pytest.raises(OperatorError, match="can't be used"), opened(empty):
            pass
    with opened(empty) as engine, engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == newest()


def test_a_database_of_a_newer_version_is_not_changed(empty: str) -> None:
    with opened(empty) as engine, engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreTooNew, match="9999"), opened(empty):
        pass
    with pytest.raises(StoreTooNew, match="9999"), opened(empty, alone=True):
        pass


@pytest.mark.long
def test_a_store_from_before_the_first_release_is_refused_and_not_changed(empty: str) -> None:
    with opened(empty) as engine:
        with engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '0012'"))
        before = _described(engine)
    says = r"is of version 0012, from before the first release \(0023\), .*: use the arbiter that wrote it, or begin a"
    for options in ({}, {"alone": True}, {"existing": True}):
        with pytest.raises(OperatorError, match=says), opened(empty, **options):
            pass
    engine = engine_of(place_of(empty))
    assert _described(engine) == before
    engine.dispose()


def test_a_database_of_another_program_is_not_changed(empty: str) -> None:
    place = empty.replace("postgresql://", "postgresql+psycopg://")
    with opened(empty) as engine, engine.begin() as connection:
        tables.metadata.drop_all(connection)
        connection.execute(text("DROP TABLE alembic_version"))
        connection.execute(text("CREATE TABLE player (shirt integer)"))
    says = r"holds tables of another program \(player\): name another"
    with pytest.raises(OperatorError, match=says), opened(place):
        pass


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite:///{tmp}/no/such/folder/arbiter.db", "does not exist: make it"),
        ("sqlite:///{tmp}", "make it a file that this user may read and write"),
        ("sqlite:///{tmp}/text.db", "it is no database (file is not a database): name another file"),
        ("sqlite:///:memory:", "would lose matches"),
        ("sqlite://", "would lose matches"),
        ("sqlite:///{tmp}/a.db?mode=ro", "nothing else"),
        ("sqlite+aiosqlite:///{tmp}/a.db", "is not a store"),
        ("sqlite://somewhere/a.db", "nothing else"),
        (
            "mysql://localhost/arbiter",
            "'mysql' is not a store that this arbiter knows: write sqlite:///FILE or postgre",
        ),
        ("postgresql://localhost", "names no database"),
        ("postgresql+asyncpg://localhost/arbiter", "is not a store"),
        ("postgresql://arbiter:secret@/arbiter?host={tmp}", "can't be reached"),
        ("postgresql://arbiter@/arbiter?host={tmp}&password=secret", "see that it runs"),
        ("postgresql://arbiter@/arbiter?host={tmp}&colour=secret", "can't be used"),
        ("arbiter.db", "is not a store"),
        ("", "is not a store"),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_an_unusable_store_is_named(url: str, says: str, alone: bool, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("This is no database, but a letter to a friend. " * 50)
    with pytest.raises(OperatorError) as caught, opened(url.format(tmp=tmp_path), alone):
        pass
    message = str(caught.value)
    assert says in message
    assert "\n" not in message
    assert "secret" not in message or "colour" in message


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///arbiter.db", "sqlite:///arbiter.db"),
        ("postgresql://ann:secret@db:5432/cup", "postgresql://ann:***@db:5432/cup"),
        ("postgresql://ann@/cup?host=/run&password=secret", "postgresql://ann@/cup?host=%2Frun"),
        ("postgresql://ann@/cup?sslpassword=secret", "postgresql://ann@/cup"),
    ],
)
def test_a_store_is_shown_without_its_password(url: str, expected: str) -> None:
    assert shown(url) == expected


async def test_everything_is_stored_when_the_store_is_opened_again(url: str) -> None:
    end = MatchEnd("draw", 0, "draw_agreed", "agreement", "players", 0, "", 5, "p", 3)
    async with open_store(url) as store:
        await store.journal.append(opening("a", 2))
        asked = store.journal.append(Append(records("a", 3), closed=end))  # the test does not wait for it: closing does
        await store.directory.add_player(Player("alice", 1), None)
    assert asked.done()
    async with open_store(url) as store:
        assert [record.body for record in await store.journal.read("a")] == [b"a 1", b"a 2", b"a 3"]
        found = await store.journal.summary("a")
        assert found is not None
        assert found.end == end
        assert await store.journal.append(opening("b")) == 4
        assert await store.directory.player("alice") == Player("alice", 1)


async def test_a_read_that_fails_is_a_refusal(url: str) -> None:
    with opened(url) as engine:
        reader = Reader(engine, structlog.get_logger())
        with pytest.raises(StoreFailed, match=r"no such table|does not exist") as caught:
            await reader.read(lambda connection: connection.exec_driver_sql("SELECT * FROM nobody"))
        assert caught.value.reason is Reason.STORE_UNAVAILABLE
        reader.close()


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a second server not wait for the first one to end."""
    monkeypatch.setattr(postgres_locks, "LET_GO_MS", 50)


@pytest.mark.usefixtures("_impatient")
def test_a_store_is_locked_by_one_server_at_a_time(url: str) -> None:
    with opened(url, alone=True):
        with pytest.raises(OperatorError, match="another arbiter serves the store"), opened(url, alone=True):
            pass
        with opened(url):  # for commands that may run beside a server
            pass
    secret = f"{url}&password=secret" if "?" in url else url
    with opened(secret, alone=True):
        with pytest.raises(OperatorError) as caught, opened(secret, alone=True):
            pass
        assert "password" not in str(caught.value)
    with opened(url, alone=True):
        pass


@pytest.mark.usefixtures("_impatient")
def test_a_store_in_use_by_a_server_is_not_migrated(empty: str, steps: Path) -> None:
    with opened(empty, alone=True):
        add_steps(steps, False)
        with pytest.raises(OperatorError, match="another arbiter serves the store"), opened(empty):
            pass


@pytest.mark.usefixtures("_impatient")
def test_some_migrations_run_beside_servers(cluster: Cluster, steps: Path) -> None:
    url = cluster.fresh()
    engine = first_store(url)
    with postgresql().held(engine, shared=True):  # as a server of that version does
        version = add_steps(steps, True, True)
        with opened(url, shared=True) as beside:
            assert database.version_of(beside) == version
        add_steps(steps, True, False, True)
        with pytest.raises(OperatorError, match="another arbiter serves the store"), opened(url, shared=True):
            pass
    engine.dispose()


@pytest.mark.usefixtures("_impatient")
def test_servers_that_start_at_once_migrate_once_beside_another(cluster: Cluster, steps: Path) -> None:
    url = cluster.fresh()
    engine = first_store(url)
    version = add_steps(steps, True, True)

    def start() -> str | None:
        with opened(url, shared=True) as beside:
            return database.version_of(beside)

    with postgresql().held(engine, shared=True), ThreadPoolExecutor(4) as threads:
        assert {each.result() for each in [threads.submit(start) for _ in range(4)]} == {version}
    engine.dispose()


def test_the_newest_version_is_that_of_the_last_step() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_heads() == [newest()]


def test_an_empty_file_without_a_version_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "arbiter.db").touch()
    with opened(f"sqlite:///{tmp_path}/arbiter.db"):
        pass
    with sqlite3.connect(tmp_path / "arbiter.db") as raw:
        assert raw.execute("SELECT version_num FROM alembic_version").fetchall() == [(newest(),)]
    raw.close()


@pytest.mark.long
async def test_a_record_without_its_signing_keys_is_sealed_by_new_ones_only_on_request(
    sqlite: str, tmp_path: Path
) -> None:
    settings = load(None, store=sqlite, listen="127.0.0.1:0", rules_workers=1)

    async def warnings(new: bool = False) -> set[str]:
        with capture_logs() as logs:
            async with serving(settings, new=new) as running:
                assert running.matches
        said = {line["event"] for line in logs if line["log_level"] in ("warning", "error")}
        return said - {"clock_behind_record"}

    async with open_store(sqlite) as store:
        await asyncio.gather(*(store.journal.append(append) for append in appends(1)))
    assert await warnings() == {"keys_made_anew", "records_sealed"}
    assert await warnings() == set()
    (tmp_path / "arbiter.keys").rename(tmp_path / "elsewhere.keys")
    with pytest.raises(OperatorError, match=r"are sealed by key \w{16}, which is not in .*arbiter.keys: put the right"):
        await warnings()
    assert not (tmp_path / "arbiter.keys").exists()
    assert await warnings(new=True) == {"keys_made_anew", "records_sealed"}
    assert await warnings() == set()
    (tmp_path / "elsewhere.keys").rename(tmp_path / "arbiter.keys")
    with pytest.raises(OperatorError, match="put the right signing keys there"):
        await warnings()


def test_the_log_of_a_file_does_not_keep_the_size_of_a_burst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, usual = 1 << 20, f"PRAGMA journal_size_limit={dialect.KEPT_LOG}"
    others = [pragma for pragma in dialect._PRAGMAS if pragma != usual]
    assert len(others) == len(dialect._PRAGMAS) - 1
    monkeypatch.setattr(dialect, "_PRAGMAS", (*others, f"PRAGMA journal_size_limit={limit}"))
    log = tmp_path / "arbiter.db-wal"
    with opened(f"sqlite:///{tmp_path}/arbiter.db", alone=True) as engine, engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE burst (page BLOB)")
        connection.exec_driver_sql("INSERT INTO burst VALUES (zeroblob(?))", (4 * limit,))
        connection.commit()
        assert log.stat().st_size > 4 * limit
        dialect_of(engine).checkpoint(connection)
        connection.exec_driver_sql("INSERT INTO burst VALUES (zeroblob(1))")
        connection.commit()
        assert log.stat().st_size <= limit
