"""A server replaces a lost store, whose keys are still there, only on request; it serves no edited record."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace

import arbiter_client as arb
import pytest

from tests.arbiter_process import ran
from tests.e2e.processes import Server
from tests.processes import until

pytestmark = pytest.mark.long


def create_match(server: Server) -> None:
    """Create a match of two players who never connect."""
    with server.client() as client:
        for name in ("alice", "bob"):
            client.create_token(name)
        client.create_match("hop-it", ("alice", "bob"), time_control="1m")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Return a server that has stored a match, and was stopped."""
    folder = tmp_path_factory.mktemp("once")
    server = Server.begun(folder)
    create_match(server)
    assert server.stop() == 0
    shutil.copytree(folder, folder.with_name("kept"))
    return server


@pytest.fixture
def played(once: Server) -> Iterator[Server]:
    """Return it as it was then."""
    shutil.rmtree(once.folder)
    shutil.copytree(once.folder.with_name("kept"), once.folder)
    server = replace(once, process=None)
    yield server
    if server.process is not None and server.process.poll() is None:
        server.kill()


def refused(server: Server) -> str:
    """Start the server, which does not start; return its message."""
    store = f"sqlite:///{server.folder / 'arbiter.db'}"
    run = ran("serve", "--listen", server.address, "--store", store, env=server.environment)
    assert run.returncode == 2
    return " ".join((run.stdout + run.stderr).split())


def test_a_deleted_store_is_replaced_by_a_new_one_only_on_request(played: Server) -> None:
    for file in played.folder.glob("arbiter.db*"):
        file.unlink()
    said = refused(played)
    assert "holds 0 records, and has held" in said
    assert "--new" in said
    played.options = ("--new",)
    played.start()
    assert played.stop() == 0
    played.options = ()
    played.start()


def test_an_old_copy_is_served_only_on_request(played: Server) -> None:
    store = played.folder / "arbiter.db"
    copy = played.folder / "copy.db"
    shutil.copy(store, copy)
    played.start()
    create_match(played)
    assert played.stop() == 0
    for file in played.folder.glob("arbiter.db*"):
        file.unlink()
    copy.rename(store)
    assert "it is an old copy" in refused(played)


def test_a_log_that_is_deleted_after_a_kill_is_noticed(server: Server) -> None:
    create_match(server)
    mark = server.folder / "arbiter.keys.mark"
    with sqlite3.connect(server.folder / "arbiter.db") as store:
        [(records,)] = store.execute("SELECT max(sequence) FROM event").fetchall()
    store.close()
    until(lambda: f'"records": {records},' in mark.read_text())  # the watermark is written every second
    server.kill()
    (server.folder / "arbiter.db-wal").unlink()
    assert "records, and has held" in refused(server)


def test_an_edited_record_is_refused_by_name_and_not_retried(played: Server) -> None:
    with sqlite3.connect(played.folder / "arbiter.db") as store:
        [(match_id,)] = store.execute("SELECT match_id FROM event WHERE revision = 1").fetchall()
        store.execute("UPDATE event SET body = replace(body, 'hop-it', 'hop-at') WHERE revision = 1")
    store.close()
    played.start()
    with played.client() as client:
        for call in (client.get_match, client.transcript):
            with pytest.raises(arb.ArbiterError, match="its operator has to repair it") as refused:
                call(match_id)
            assert (refused.value.reason, refused.value.code) == (arb.Reason.RECORD_DAMAGED, "DATA_LOSS")
            assert (refused.value.temporary, refused.value.retry_after_s) == (False, 0.0)
            assert refused.value.facts["id"] == match_id
    assert "match_set_aside" in played.log.read_text()
