from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.forking import forking

SLOWEST = ("test_typescript", "test_rust", "test_java")  #: modules, by how long they keep a worker busy
HERE = f"{Path(__file__).parent}/"


@pytest.fixture
def forked() -> Iterator[dict[str, str]]:
    """Return an environment in which the tests of a client start arbiters quickly."""
    with forking() as program:
        yield {"ARBITER_COMMAND": program}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder `toolchain`: they need other languages' tools. The slowest modules come first.

    Tests that need all clients built come last.
    """
    ours = [item for item in items if str(item.path).startswith(HERE)]
    for item in ours:
        item.add_marker(pytest.mark.toolchain)
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    if "everybody" in getattr(item, "fixturenames", ()):
        return len(SLOWEST) + 1
    return SLOWEST.index(item.path.stem) if item.path.stem in SLOWEST else len(SLOWEST)
