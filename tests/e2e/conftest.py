from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Return a server that accepts connections, with an empty store."""
    running = Server.begun(tmp_path)
    yield running
    if running.process is not None and running.process.poll() is None:
        running.kill()


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return one server for the tests of a module that kill nothing: each has players with names of its own."""
    running = Server.begun(tmp_path_factory.mktemp("server"))
    yield running
    assert running.stop() == 0
