"""Pages of servers in memory; a server and a browser for all tests of a file; each template is compiled once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from types import CodeType

import pytest
import pytest_asyncio
from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket

from arbiter.bootstrap.world import open_world
from arbiter.runtime.loopback import free_port
from arbiter.testing.served import Served, served
from arbiter.web import rendering
from tests.web.chromium import Open, chromium, opened
from tests.web.site import SITES, Site, site


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    store = f"sqlite:///{tmp_path_factory.mktemp('page')}/page.db"
    async with served(open_world, store=store, web=f"127.0.0.1:{free_port()}") as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(server: Served) -> AsyncIterator[Open]:
    async with chromium() as started:
        yield partial(opened, started, server)


class CompiledTemplates(BytecodeCache):
    """The code of templates, for all servers of a process: most tests start one of their own."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, CodeType | None]] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Set the code of a template, unless it is not known, or of another source."""
        source, code = self._known.get(bucket.key, ("", None))
        if source == bucket.checksum:
            bucket.code = code

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template."""
        self._known[bucket.key] = bucket.checksum, bucket.code


@pytest.fixture(autouse=True, scope="session")
def _templates_are_compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering, "Environment", partial(Environment, bytecode_cache=CompiledTemplates()))
        yield


@pytest.fixture(params=SITES)
async def page(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path, request.param) as served:
        yield served
        await served.server.arbiter.tournaments.stop()
