"""Backups: taken from a running server, complete or not at all, and restored into either kind of database."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from arbiter_protos.v1 import match_pb2, player_pb2
from sqlalchemy import text

from arbiter.bootstrap.backup import backup_store, restore_store
from arbiter.bootstrap.store import check_store
from arbiter.bootstrap.world import open_world
from arbiter.cli.app import run
from arbiter.errors import OperatorError
from arbiter.store.database import opened
from arbiter.testing.served import served
from tests.forked import run_script
from tests.observability.test_metrics import play
from tests.rpc.calls import Stubs
from tests.store.postgres import Cluster

FILES = {"arbiter.db", "arbiter.keys", "arbiter.keys.mark"}

pytestmark = pytest.mark.long


def quiet(done: int, of: int) -> None:
    pass


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/other.db"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.fresh()


@asynccontextmanager
async def running(store: str, keys: Path) -> AsyncIterator[Stubs]:
    async with served(open_world, store=store, keys=keys, rules_workers=1) as server:
        yield Stubs(server)


async def transcript(stubs: Stubs, match_id: str, metadata: Any) -> list[bytes]:
    request = match_pb2.ObserveRequest(
        match=match_pb2.ObserveMatch(match_id=match_id, after_revision=0), with_record=True
    )
    stream = stubs.matches.Observe(request, metadata=metadata)
    return [item.event.record async for part in stream for item in part.items if item.WhichOneof("item") == "event"]


@pytest.mark.parametrize(
    ("kind", "empty"),
    [
        ("sqlite", "postgres"),
        ("postgres", "sqlite"),
        pytest.param("sqlite", "sqlite", marks=pytest.mark.soak),
        pytest.param("postgres", "postgres", marks=pytest.mark.soak),
    ],
    indirect=["empty"],
)
async def test_a_backup_of_a_running_server_is_restored_into_either_database(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, empty: str
) -> None:
    store = f"sqlite:///{tmp_path}/arbiter.db" if kind == "sqlite" else request.getfixturevalue("cluster").fresh()
    keys, folder = tmp_path / "arbiter.keys", tmp_path / "copy"
    async with running(store, keys) as stubs:
        await stubs.enter()
        match = await stubs.match(game="hop-it")
        await play(stubs, match, 4)
        backup_store(store, keys, folder, quiet)
        await stubs.matches.Resign(
            match_pb2.ResignRequest(request_id="later", match_id=match.match_id), metadata=stubs.bob
        )
    assert {path.name for path in folder.iterdir()} == FILES
    assert folder.stat().st_mode & 0o077 == 0
    new_keys = tmp_path / "elsewhere.keys"
    restored = restore_store(folder, empty, new_keys, quiet)
    assert restored.keys == 1
    assert check_store(empty, quiet, new_keys).faults == ()
    async with running(empty, new_keys) as again:
        again.alice, again.bob = stubs.alice, stubs.bob  # tokens are in a backup too
        await again.matches.Resign(
            match_pb2.ResignRequest(request_id="now", match_id=match.match_id), metadata=stubs.alice
        )
        records = await transcript(again, match.match_id, stubs.alice)
        assert sum(b'"moved"' in record for record in records) == 4
        assert b'"ended"' in records[-1]
        me = await again.players.GetPlayer(player_pb2.GetPlayerRequest(), metadata=stubs.bob)
        assert me.player.name == "bob"


KILLED = """
import os, sys
from pathlib import Path
from sqlalchemy import event
from sqlalchemy.engine import Engine
from arbiter.bootstrap import backup
from arbiter.bootstrap.backup import backup_store, restore_store

what, when, folder, store, keys = sys.argv[1:]

def killed(*_):
    os.kill(os.getpid(), 9)

def progress(done, of):
    if when == "first rows" or (when == "last rows" and done == of):
        killed()

if when == "before the commit":
    event.listen(Engine, "commit", lambda connection: killed() if copied else None)
elif when == "before it appears":
    rename = Path.rename  # the last step of a backup
    Path.rename = lambda path, target: killed() if target == Path(folder) else rename(path, target)

copied = []
copying = backup.copy
def copy(source, target, progress, *more):
    copied.append(True)
    return copying(source, target, progress, *more)
backup.copy = copy

if what == "backup":
    backup_store(store, Path(keys), Path(folder), progress)
else:
    restore_store(Path(folder), store, Path(keys), progress)
"""


def kill_in(what: str, when: str, folder: Path, store: str, keys: Path) -> None:
    assert run_script(KILLED, what, when, str(folder), store, str(keys)) == -signal.SIGKILL


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path, empty: str) -> str:
    """Return the URL of a database for a server, of the same kind as the empty one."""
    if empty.startswith("sqlite"):
        return f"sqlite:///{tmp_path}/arbiter.db"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.fresh()


ALL_POINTS = ("first rows", "last rows", "before the commit", "before it appears")


@pytest.mark.parametrize(
    ("empty", "points"),
    [
        ("sqlite", ALL_POINTS),
        ("postgres", ("before the commit",)),
        pytest.param("postgres", ALL_POINTS, marks=pytest.mark.soak),
    ],
    indirect=["empty"],
)
async def test_what_is_killed_in_the_middle_leaves_nothing_half_and_is_done_again(
    tmp_path: Path, source: str, empty: str, points: tuple[str, ...]
) -> None:
    keys, folder = tmp_path / "arbiter.keys", tmp_path / "copy"
    async with running(source, keys) as stubs:
        await stubs.enter()
        await play(stubs, await stubs.match(game="hop-it"), 2)
    for when in points:
        kill_in("backup", when, folder, source, keys)
        assert not folder.exists()
    assert check_store(source, quiet, keys).faults == ()
    made = backup_store(source, keys, folder, quiet)
    assert {path.name for path in folder.iterdir()} == FILES
    assert not folder.with_name("copy.part").exists()
    new_keys = tmp_path / "elsewhere.keys"
    for when in points:
        if when == "before it appears":
            continue  # a restore makes no folder
        kill_in("restore", when, folder, empty, new_keys)
        with opened(empty) as engine, engine.connect() as connection:
            assert connection.execute(text("SELECT count(*) FROM event")).scalar() == 0
    with pytest.raises(OperatorError, match="holds 0 records, and has held"):  # nobody begins on half a restore
        async with running(empty, new_keys):
            pass
    assert restore_store(folder, empty, new_keys, quiet) == made
    found = check_store(empty, quiet, new_keys)
    assert (found.faults, found.sealed) == ((), True)
    async with running(empty, new_keys):
        pass


@pytest.mark.parametrize("prefix", [[], ["store"]])
async def test_the_commands_copy_a_store_to_the_folder_that_is_named_and_back(
    tmp_path: Path, prefix: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    keys, folder, new_keys = tmp_path / "arbiter.keys", tmp_path / "copy", tmp_path / "other.keys"
    store, other = f"sqlite:///{tmp_path}/arbiter.db", f"sqlite:///{tmp_path}/other.db"
    async with running(store, keys) as stubs:
        await stubs.enter()
        await stubs.match()
    assert run([*prefix, "backup", str(folder), "--store", store, "--keys", str(keys)]) == 0
    assert {path.name for path in folder.iterdir()} == FILES
    assert run([*prefix, "restore", str(folder), "--store", other, "--keys", str(new_keys)]) == 0
    assert f"{folder} is restored to {other}" in capsys.readouterr().out
    assert check_store(other, quiet, new_keys) == check_store(store, quiet, keys)


async def test_nothing_is_overwritten_and_no_damaged_backup_is_restored(tmp_path: Path) -> None:
    store, keys, folder = f"sqlite:///{tmp_path}/arbiter.db", tmp_path / "arbiter.keys", tmp_path / "copy"
    async with running(store, keys) as stubs:
        await stubs.enter()
        await stubs.match()
    backup_store(store, keys, folder, quiet)
    with pytest.raises(OperatorError, match="is there already: name a folder that is not"):
        backup_store(store, keys, folder, quiet)
    with pytest.raises(OperatorError, match=r"is not empty \(\w+\): name another"):
        restore_store(folder, store, keys, quiet)
    other = tmp_path / "other.keys"
    other.write_bytes(keys.read_bytes())
    other.chmod(0o600)
    with pytest.raises(OperatorError, match=r"no server has served .* with the keys in"):
        backup_store(store, other, tmp_path / "another", quiet)
    with pytest.raises(OperatorError, match="is no backup: it has no "):
        restore_store(tmp_path / "nothing", store, keys, quiet)
    other.write_text("{}")
    with pytest.raises(OperatorError, match="there are other signing keys at"):
        restore_store(folder, f"sqlite:///{tmp_path}/new.db", other, quiet)
    with closing(sqlite3.connect(folder / "arbiter.db", isolation_level=None)) as changed:
        changed.execute("UPDATE event SET body = replace(CAST(body AS TEXT), 'alice', 'alicf') WHERE revision = 1")
    with pytest.raises(OperatorError, match="is damaged, so nothing was restored"):
        restore_store(folder, f"sqlite:///{tmp_path}/new.db", tmp_path / "new.keys", quiet)
