"""One server and one browser for all tests of a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest
import pytest_asyncio
from playwright.async_api import async_playwright

from arbiter.bootstrap import open_world
from arbiter.runtime.loopback import free_port
from arbiter.testing.served import Served, served
from tests.clients.toolchains import require
from tests.web.chromium import Open, opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    store = f"sqlite:///{tmp_path_factory.mktemp('page')}/page.db"
    async with served(open_world, store=store, web=f"127.0.0.1:{free_port()}") as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(server: Served) -> AsyncIterator[Open]:
    require("chromium", why="the page is tried in it")
    async with async_playwright() as tools:
        chromium = await tools.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield partial(opened, chromium, server)
        await chromium.close()
