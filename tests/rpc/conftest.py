"""The stubs of one server, or of several that share a store."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.rpc.calls import Stubs
from tests.rpc.servers import ONE_OR_TWO, served_by


@pytest.fixture(params=ONE_OR_TWO)
async def stubs(request: pytest.FixtureRequest) -> AsyncIterator[Stubs]:
    async with served_by(request.param) as server:
        yield await Stubs(server).enter()
