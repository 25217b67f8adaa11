from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import Server, free_port


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that listens, on an empty record."""
    running = Server(tmp_path, free_port())
    running.start()
    yield running
    if running.process is not None and running.process.poll() is None:
        running.kill()
