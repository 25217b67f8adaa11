from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arbiter.bootstrap import Store, open_store
from arbiter.testing.memory import MemoryDirectory, MemoryJournal


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/arbiter.db"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, url: str) -> AsyncIterator[Store]:
    """Every store that there is: the contract is one."""
    if request.param == "memory":
        yield Store(MemoryJournal(), MemoryDirectory())
    else:
        async with open_store(url) as opened:
            yield opened
