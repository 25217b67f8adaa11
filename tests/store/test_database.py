from __future__ import annotations

import sqlite3
from pathlib import Path

import alembic.op
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from arbiter.bootstrap import open_store
from arbiter.errors import OperatorError, Reason
from arbiter.service.ports import Append, MatchEnd, Player, StoreFailed, StoreTooNew
from arbiter.store import migrations, tables
from arbiter.store.database import held, newest, open_database
from arbiter.store.journal import Reader
from tests.store.test_journal import opening, records


def test_the_migrations_build_the_tables(url: str) -> None:
    engine = open_database(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, tables.metadata) == []
    engine.dispose()


def test_a_commit_survives_a_power_cut(url: str) -> None:
    engine = open_database(url)
    with engine.connect() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
        }
    engine.dispose()
    assert settings == {"journal_mode": "wal", "synchronous": 2}


def test_opening_again_changes_nothing(url: str, tmp_path: Path) -> None:
    open_database(url).dispose()
    before = (tmp_path / "arbiter.db").read_bytes()
    open_database(url).dispose()
    assert (tmp_path / "arbiter.db").read_bytes() == before


def test_a_migration_happens_whole_or_not_at_all(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the plug was pulled")

    with monkeypatch.context() as patch:
        patch.setattr(alembic.op, "create_index", fail)
        with pytest.raises(RuntimeError, match="plug"):
            open_database(url)
    with sqlite3.connect(tmp_path / "arbiter.db") as raw:
        assert raw.execute("SELECT name FROM sqlite_master").fetchall() == []
    raw.close()
    open_database(url).dispose()


def test_a_database_of_a_newer_version_is_left_alone(url: str, tmp_path: Path) -> None:
    open_database(url).dispose()
    with sqlite3.connect(tmp_path / "arbiter.db") as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.close()
    with pytest.raises(StoreTooNew, match="9999"):
        open_database(url)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite:///{tmp}/no/such/folder/arbiter.db", "does not exist: make it"),
        ("sqlite:///{tmp}", "unable to open"),
        ("sqlite:///{tmp}/text.db", "not a database"),
        ("sqlite:///:memory:", "would lose matches"),
        ("sqlite://", "would lose matches"),
        ("sqlite:///{tmp}/a.db?mode=ro", "nothing else"),
        ("sqlite+aiosqlite:///{tmp}/a.db", "nothing else"),
        ("sqlite://somewhere/a.db", "nothing else"),
        ("postgresql://localhost/arbiter", "'postgresql' is not a store"),
        ("arbiter.db", "is not a store"),
        ("", "is not a store"),
    ],
)
def test_a_store_that_can_not_be_used_is_named(url: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("This is no database, but a letter to a friend. " * 50)
    with pytest.raises(OperatorError) as caught:
        open_database(url.format(tmp=tmp_path))
    message = str(caught.value)
    assert says in message
    assert "\n" not in message


async def test_everything_is_there_after_opening_again(url: str) -> None:
    end = MatchEnd("draw", 0, "draw_agreed", "agreement", "players", 0, "", 5, "p", 3)
    async with open_store(url) as store:
        await store.journal.append(opening("a", 2))
        asked = store.journal.append(Append(records("a", 3), closed=end))  # not waited for: closing does
        await store.directory.add_player(Player("alice", 1), None)
    assert asked.done()
    async with open_store(url) as store:
        assert [record.body for record in await store.journal.read("a")] == [b"a 1", b"a 2", b"a 3"]
        found = await store.journal.row("a")
        assert found is not None
        assert found.end == end
        assert await store.journal.append(opening("b")) == 4
        assert await store.directory.player("alice") == Player("alice", 1)


async def test_a_read_that_fails_is_a_refusal(url: str) -> None:
    engine = open_database(url)
    reader = Reader(engine)
    with pytest.raises(StoreFailed, match="no such table") as caught:
        await reader.read(lambda connection: connection.exec_driver_sql("SELECT * FROM nobody"))
    assert caught.value.reason is Reason.STORE_UNAVAILABLE
    reader.close()
    engine.dispose()


async def test_a_full_disk_refuses_and_then_goes_on(url: str) -> None:
    """The database's own limit on its pages stands for the end of the disk."""
    async with open_store(url) as store:
        journal = store.journal
        await journal.append(opening("a"))
        await journal._writer.write(  # type: ignore[attr-defined]
            lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 1").close()
        )
        big = records("a", 2)[0]._replace(body=b"x" * 1_000_000)
        with pytest.raises(StoreFailed, match="full"):
            await journal.append(Append((big,)))
        await journal._writer.write(  # type: ignore[attr-defined]
            lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 1000000").close()
        )
        await journal.append(Append((big,)))
        assert [record.revision for record in await journal.read("a")] == [1, 2]


def test_one_server_at_a_time_holds_a_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'arbiter.db'}"
    with held(url), pytest.raises(OperatorError, match="another arbiter serves"), held(url):
        pass
    with held(url):
        pass


def test_the_newest_version_is_that_of_the_last_step() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_heads() == [newest()]
