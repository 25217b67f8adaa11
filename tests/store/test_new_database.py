"""The commands and statements of deploy/STORE.md for a PostgreSQL: a database is made, and its tables are moved."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from pathlib import Path

import pytest

from arbiter.bootstrap.archiving import archive_store
from arbiter.cli.app import run
from arbiter.keys.watermark import Watermark
from arbiter.runtime.loopback import free_port
from arbiter.store.database import shown
from arbiter.store.tables import PARTITIONS
from tests.documents import ROOT, block, commands
from tests.e2e.processes import Server
from tests.store.postgres import NOBODY, Cluster
from tests.store.records import NOON
from tests.store.test_derived import silent
from tests.store.test_seals import fill

pytestmark = pytest.mark.long


def test_a_database_is_made_as_the_page_says(tmp_path: Path) -> None:
    cluster = Cluster("postgres")
    try:
        create, serve = commands(block("deploy/STORE.md", "createuser"))
        path = os.pathsep.join((str(cluster.programs), os.environ["PATH"]))
        there = {**os.environ, "PATH": path, "PGHOST": str(cluster.folder), "PGUSER": "postgres"}
        subprocess.run(["bash", "-euc", create], env=there, check=True)
        store = serve.split()[3]
        assert store.startswith("postgresql://arbiter@db.example/")
        # A socket in a folder instead of the page's host; and keys in a folder of this test.
        url = store.replace("db.example", "") + f"?host={cluster.folder}"
        server = Server(tmp_path, free_port(), store=url, options=["--keys", str(tmp_path / "arbiter.keys")])
        server.start()
        assert server.arbiter("player", "list")
        assert server.stop() == 0
        assert (tmp_path / "arbiter.keys").exists()
    finally:
        cluster.remove()


def test_the_log_and_the_archive_are_moved_to_other_disks_as_the_page_says(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, ring = cluster.fresh(), tmp_path / "arbiter.keys"
    database = url.partition("?")[0].rpartition("/")[2]
    Watermark(ring, shown(url)).reached(asyncio.run(fill(url, ring)), 0)
    assert archive_store(url, ring, 2 * NOON, 2 * NOON, silent).matches > 1
    page = " ".join((ROOT / "deploy" / "STORE.md").read_text().split())
    statements = re.findall(r"`((?:ALTER TABLE|VACUUM FULL) [^`]+)`", page)
    assert sorted(each.split()[2] for each in statements) == ["archived_match", "event", "event_3", "event_3"]
    disks = re.findall(r"SET TABLESPACE (\w+)", page)
    for disk in disks:
        folder = cluster.folder / disk
        folder.mkdir()
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        cluster.ask(f"CREATE TABLESPACE {disk} LOCATION '{folder}'")
    try:
        for statement in statements:
            for number in range(PARTITIONS):  # the page names one of them
                cluster.ask(statement.replace("event_3", f"event_{number}"), database)
        moved = "SELECT tablespace, count(*) FROM pg_tables WHERE tablespace IN ('second', 'old') GROUP BY 1 ORDER BY 1"
        assert cluster.ask(moved, database) == [("old", 1), ("second", PARTITIONS)]
        assert cluster.ask("SELECT count(DISTINCT tableoid) > 1 FROM event", database) == [(True,)]
        assert run(("store", "check", "--store", url, "--keys", str(ring))) == 0
        assert "No fault found" in capsys.readouterr().out
    finally:
        cluster.ask(f"DROP DATABASE {database} (FORCE)")
        for disk in disks:
            cluster.ask(f"DROP TABLESPACE {disk}")
