"""`arbiter migrate`: beside servers where the migrations allow it, and killed in the middle."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import inspect, text
from sqlalchemy.engine import make_url

from arbiter.store.database import engine_of, newest, opened, place_of, shown, version_of
from arbiter.store.dialects import postgresql
from tests.cli.command import Arbiter
from tests.forked import run_script
from tests.store.postgres import Cluster
from tests.store.steps import FIRST, add_steps, first_store

pytestmark = pytest.mark.long

RECORDS = 20


@contextmanager
def served(url: str) -> Iterator[None]:
    """Make a store of the first version, with records. Servers hold it during the context, where several can."""
    engine = first_store(url)
    with engine.begin() as connection:
        for number in range(1, RECORDS + 1):
            values = {"n": number, "match": f"m{number % 3}", "revision": 1 + number // 3}
            insert = "INSERT INTO event (sequence, match_id, revision, body) VALUES (:n, :match, :revision, '{}')"
            connection.execute(text(insert), values)
    if engine.dialect.name == "postgresql":
        with postgresql().held(engine, shared=True):
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


def test_tables_are_migrated_beside_servers(cluster: Cluster, steps: Path, arbiter: Arbiter) -> None:
    url = cluster.fresh()
    add_steps(steps, True, True)
    with served(url):
        _, _, log = state(url)
        assert arbiter("migrate", "--store", url, "--check").code == 1
        said = f"The tables of {shown(url)} were brought from version {FIRST} to version {newest()}.\n"
        assert arbiter("migrate", "--store", url).out == said
        assert (state(url)[0], state(url)[2]) == (newest(), log)


def test_a_migration_that_needs_the_store_alone_is_refused_beside_servers(
    cluster: Cluster, steps: Path, arbiter: Arbiter
) -> None:
    url = cluster.fresh()
    add_steps(steps, False, True)
    with served(url):
        before = state(url)
        ran = arbiter("migrate", "--store", url)
        assert ran.code == 2
        assert f"another arbiter serves the store {shown(url)}: stop it first" in ran.complaint
        assert state(url) == before
    assert arbiter("migrate", "--store", url).code == 0
    assert (state(url)[0], state(url)[2]) == (newest(), before[2])


def test_a_migration_that_would_keep_servers_waiting_gives_up(cluster: Cluster, steps: Path, arbiter: Arbiter) -> None:
    url = cluster.fresh()
    add_steps(steps, True)
    with served(url):
        before = state(url)
        with psycopg.connect(cluster.url(str(make_url(url).database))) as reading:
            reading.execute("LOCK TABLE event IN ACCESS SHARE MODE")  # as a long query does
            ran = arbiter("migrate", "--store", url)
            assert ran.code == 2
            assert "lock timeout" in ran.complaint
            assert state(url) == before
        assert arbiter("migrate", "--store", url).code == 0
        assert (state(url)[0], state(url)[2]) == (newest(), before[2])


KILLED = """
import os, sys
from pathlib import Path
from sqlalchemy import event
from sqlalchemy.engine import Engine
from arbiter.store import migrations
from arbiter.store.database import opened

start, steps, url, before = sys.argv[1:]
migrations.STEPS = Path(steps)

def executed(connection, cursor, statement, *_):
    if statement.lstrip().startswith(start):
        os.kill(os.getpid(), 9)

def committed(connection):
    if connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() != before:
        os.kill(os.getpid(), 9)

if start == "COMMIT":
    event.listen(Engine, "commit", committed)
else:
    event.listen(Engine, "after_cursor_execute", executed)
with opened(url):
    pass
"""


@pytest.mark.parametrize(
    ("kind", "statement"), [("sqlite", "ALTER TABLE"), ("sqlite", "COMMIT"), ("postgres", "COMMIT")]
)
def test_a_migration_that_is_killed_has_changed_nothing_and_is_done_again(
    kind: str, statement: str, request: pytest.FixtureRequest, steps: Path
) -> None:
    url = request.getfixturevalue("sqlite") if kind == "sqlite" else request.getfixturevalue("cluster").fresh()
    add_steps(steps, True, True)
    with served(url):
        before = state(url)
        assert run_script(KILLED, statement, str(steps), url, FIRST) == -signal.SIGKILL
        assert state(url) == before
        with opened(url, existing=True, shared=kind != "sqlite", alone=kind == "sqlite"):
            assert (state(url)[0], state(url)[2]) == (newest(), before[2])
