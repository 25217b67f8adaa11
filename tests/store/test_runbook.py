"""The commands of the runbook make a database for a server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from arbiter.runtime.loopback import free_port
from tests.documents import block, commands
from tests.e2e.processes import Server
from tests.store.postgres import Cluster

pytestmark = pytest.mark.long


def test_a_database_is_made_as_the_runbook_says(tmp_path: Path) -> None:
    cluster = Cluster("postgres")
    try:
        create, serve = commands(block("deploy/README.md", "createuser"))
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
