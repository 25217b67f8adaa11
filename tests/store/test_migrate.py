"""`arbiter migrate`: beside servers where the migrations allow it, and killed in the middle."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from sqlalchemy import inspect, text
from sqlalchemy.engine import make_url

from arbiter.store.database import engine_of, newest, opened, place_of, shown, version_of
from arbiter.store.dialects import POSTGRES, dialect_of
from arbiter.store.migrations.run import upgrade
from tests.cli.command import COMMAND, WAIT_S, clean_environment
from tests.store.postgres import Cluster

pytestmark = pytest.mark.long

BESIDE = "0012"  #: from here on, migrations can run beside servers
ALONE = "0011"
RECORDS = 20


@contextmanager
def old(url: str, version: str) -> Iterator[None]:
    """Make a store of an earlier version, with records. Servers hold it during the context, where several can."""
    engine = engine_of(place_of(url))
    upgrade(engine, dialect_of(engine).begin, version)
    with engine.begin() as connection:
        for number in range(1, RECORDS + 1):
            values = {"n": number, "match": f"m{number % 3}", "revision": 1 + number // 3}
            insert = "INSERT INTO event (sequence, match_id, revision, body) VALUES (:n, :match, :revision, '{}')"
            connection.execute(text(insert), values)
    if engine.dialect.name == "postgresql":
        with POSTGRES.held(engine, shared=True):
            yield
    else:
        yield
    engine.dispose()


def state(url: str) -> tuple[str | None, list[str], list[tuple[object, ...]]]:
    """Return the version of a store, its tables, and its log."""
    engine = engine_of(place_of(url))
    with engine.connect() as connection:
        log = connection.execute(text("SELECT sequence, match_id, revision, body FROM event ORDER BY sequence"))
        found = version_of(engine), sorted(inspect(connection).get_table_names()), [tuple(row) for row in log]
    engine.dispose()
    return found


def migrate(url: str, *options: str) -> tuple[int, str]:
    """Run the command; return its exit code, and what it says."""
    command = [*COMMAND, "migrate", "--store", url, *options]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S, env=clean_environment())
    return ran.returncode, ran.stdout + ran.stderr


def test_tables_are_migrated_beside_servers(cluster: Cluster) -> None:
    url = cluster.fresh()
    with old(url, BESIDE):
        _, _, log = state(url)
        assert migrate(url, "--check")[0] == 1
        said = f"The tables of {shown(url)} were brought from version {BESIDE} to version {newest()}.\n"
        assert migrate(url) == (0, said)
        assert (state(url)[0], state(url)[2]) == (newest(), log)
        assert migrate(url) == (0, f"The tables of {shown(url)} are of version {newest()}, which is the newest.\n")


def test_a_migration_that_needs_the_store_alone_is_refused_beside_servers(cluster: Cluster) -> None:
    url = cluster.fresh()
    with old(url, ALONE):
        before = state(url)
        code, said = migrate(url)
        assert code == 2
        assert f"another arbiter serves the store {shown(url)}: stop it first" in said
        assert state(url) == before
    assert migrate(url)[0] == 0
    assert (state(url)[0], state(url)[2]) == (newest(), before[2])


def test_a_migration_that_would_keep_servers_waiting_gives_up(cluster: Cluster) -> None:
    url = cluster.fresh()
    with old(url, BESIDE):
        before = state(url)
        with psycopg.connect(cluster.url(str(make_url(url).database))) as reading:
            reading.execute("LOCK TABLE event IN ACCESS SHARE MODE")  # as a long query does
            code, said = migrate(url)
            assert code == 2
            assert "lock timeout" in said
            assert state(url) == before
        assert migrate(url)[0] == 0
        assert (state(url)[0], state(url)[2]) == (newest(), before[2])


KILLED = """
import os, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from arbiter.cli.app import run

start, nth, *words = sys.argv[1:]
left = int(nth)

def executed(connection, cursor, statement, *_):
    global left
    left -= statement.lstrip().startswith(start)
    if not left:
        os.kill(os.getpid(), 9)

def committed(connection):
    if connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() != words[-1]:
        os.kill(os.getpid(), 9)

if start == "COMMIT":
    event.listen(Engine, "commit", committed)
else:
    event.listen(Engine, "after_cursor_execute", executed)
sys.exit(run(words[:-1]))
"""

POINTS = [
    ("sqlite", "ALTER TABLE", 1),
    ("sqlite", "UPDATE alembic_version", 4),
    ("sqlite", "COMMIT", 1),
    ("postgres", "INSERT INTO event", 1),
    ("postgres", "UPDATE alembic_version", 3),
    ("postgres", "COMMIT", 1),
]


@pytest.mark.parametrize(("kind", "statement", "nth"), POINTS)
def test_a_migration_that_is_killed_has_changed_nothing_and_is_done_again(
    kind: str, statement: str, nth: int, request: pytest.FixtureRequest
) -> None:
    version = "0005" if kind == "sqlite" else BESIDE
    url = request.getfixturevalue("sqlite") if kind == "sqlite" else request.getfixturevalue("cluster").fresh()
    with old(url, version):
        before = state(url)
        command = [sys.executable, "-c", KILLED, statement, str(nth), "migrate", "--store", url, version]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=clean_environment())
        assert ran.returncode == -signal.SIGKILL, ran.stderr
        assert state(url) == before
        assert migrate(url)[0] == 0
        assert (state(url)[0], state(url)[2]) == (newest(), before[2])
    with opened(url, existing=True, shared=kind != "sqlite", alone=kind == "sqlite"):
        pass
