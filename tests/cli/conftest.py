"""Fixtures that run commands in this process, and a real server as another process."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbiter.bootstrap.store import open_record
from arbiter.cli.app import run
from arbiter.config import load
from tests.cli.command import Arbiter, Ran, Server
from tests.cli.hostile_server import hostile_server as hostile_server
from tests.processes import empty_store
from tests.store.records import appends
from tests.store.steps import steps as steps


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    empty_store(folder)
    running = Server(folder)
    try:
        yield running
    finally:
        assert running.stop() == 0


@pytest.fixture
def arbiter(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> Arbiter:
    """Run a command in this process; it talks to the module's server if the module uses one."""
    for name in list(os.environ):
        if name.startswith("ARBITER_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ARBITER_CREDENTIALS", str(tmp_path / "credentials.json"))
    if "server" in request.fixturenames:
        running: Server = request.getfixturevalue("server")
        monkeypatch.setenv("ARBITER_CREDENTIALS", running.environment["ARBITER_CREDENTIALS"])
        monkeypatch.setenv("ARBITER_SERVER", running.address)

    def ask(*arguments: str) -> Ran:
        code = run(arguments)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return ask


@pytest.fixture
def runs() -> Iterator[list[subprocess.Popen[str]]]:
    """Yield a list for processes (`begin`); kill them at the end."""
    begun: list[subprocess.Popen[str]] = []
    yield begun
    for process in begun:
        process.kill()
        process.communicate()


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Return a store that a server has sealed, with 16 matches, ended ones and others."""
    settings = load(None, store=f"sqlite:///{tmp_path}/arbiter.db")

    async def fill() -> None:
        async with open_record(settings) as (opened, _):
            await asyncio.gather(*(opened.journal.append(append) for append in appends(1)))

    asyncio.run(fill())
    return settings.store
