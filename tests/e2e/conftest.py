from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from arbiter.runtime.loopback import free_port
from tests.e2e.processes import Server
from tests.processes import empty_store


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Return a server that accepts connections, with an empty store."""
    empty_store(tmp_path)
    running = Server(tmp_path, free_port())
    running.start()
    yield running
    if running.process is not None and running.process.poll() is None:
        running.kill()
