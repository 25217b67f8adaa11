"""Processes that are started in a sandbox for a process outside: their pipes are their only way out."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from arbiter_client.bridge import child
from arbiter_client.bridge.child import Pipes

from arbiter.sandbox.bot_process import BotProcess
from arbiter.sandbox.bubblewrap import Program
from arbiter.sandbox.spawning import SpawnedProcess, SpawnerGone
from tests.processes import WAIT_S
from tests.sandbox.test_bubblewrap import needs_bwrap, sandbox

pytestmark = pytest.mark.long


BOTH = pytest.mark.parametrize("sandboxed", [pytest.param(True, marks=needs_bwrap), False])

TELLING = """
import os, socket, sys, time
print(sorted(os.listdir("/proc/self/fd")), flush=True)
try:
    socket.create_connection(("127.0.0.1", 9))
except OSError as error:
    print(type(error).__name__, flush=True)
for line in sys.stdin:
    if line == "end\\n":
        sys.exit(7)
    print("heard", line, end="", flush=True)
    sys.stderr.write("aside\\n")
"""


class Talk:
    """A spawned process, and the lines that it writes."""

    def __init__(self, process: SpawnedProcess) -> None:
        self.process = process
        self.written = b""
        self._news = asyncio.Event()
        self.pipes = Pipes(process.into, process.out, self._heard)

    async def code(self) -> int | None:
        """Wait until it has ended; return how it did."""
        async with asyncio.timeout(WAIT_S):
            await self.process.wait()
        return self.process.returncode

    def _heard(self, data: bytes) -> None:
        self.written += data
        self._news.set()

    async def until(self, text: str) -> str:
        """Wait until it has written a text; return all that it has."""
        async with asyncio.timeout(WAIT_S):
            while text.encode() not in self.written:
                self._news.clear()
                await self._news.wait()
        return self.written.decode()


@asynccontextmanager
async def spawner(script: str, folder: Path, sandboxed: bool) -> AsyncIterator[tuple[BotProcess, socket.socket]]:
    ours, its = socket.socketpair()
    program = Program((sys.executable, "-I", "-S", "-c", script), folder, {}, spawned=True)
    with ours:
        within = sandbox() if sandboxed else None
        bot = await BotProcess.start(program, "", 0, within, given=its.fileno())
        its.close()
        yield bot, ours
        await bot.end()


@BOTH
async def test_each_process_has_its_pipes_and_nothing_else(sandboxed: bool, tmp_path: Path) -> None:
    async with spawner(TELLING, tmp_path, sandboxed) as (bot, ours):
        one, two = (Talk(SpawnedProcess.start(ours)) for _ in range(2))
        one.pipes.write(b"good morning\n")
        said = await one.until("heard good morning\n")
        assert said.startswith("['0', '1', '2', '3']\n"), "3 is the folder that it lists"
        if sandboxed:
            assert "ConnectionRefusedError" in said, "its loopback is empty"
        async with asyncio.timeout(WAIT_S):
            assert await bot.output.readline() == b"aside\n"
        one.pipes.write(b"end\n")
        assert await one.code() == 7
        assert two.process.returncode is None
        two.process.kill()
        assert await two.code() == -signal.SIGKILL
        assert bot.returncode is None


@BOTH
async def test_what_is_started_ends_with_its_spawner(sandboxed: bool, tmp_path: Path) -> None:
    async with spawner(TELLING, tmp_path, sandboxed) as (bot, ours):
        talk = Talk(SpawnedProcess.start(ours))
        heard = list[bytes]()
        await talk.until("\n")
        talk.pipes._heard = heard.append
        bot.kill()
        async with asyncio.timeout(WAIT_S):
            while b"" not in heard:  # noqa: ASYNC110 - the end of the output
                await asyncio.sleep(0)
        assert await talk.code() == -signal.SIGKILL
        async with asyncio.timeout(WAIT_S):  # what it has started may end before the spawner itself
            assert await asyncio.get_running_loop().sock_recv(ours, 1) == b""
        with pytest.raises(SpawnerGone):
            SpawnedProcess.start(ours)


@BOTH
async def test_what_is_started_ends_with_whoever_asked_for_it(sandboxed: bool, tmp_path: Path) -> None:
    """Its own child too, which holds its output."""
    script = "import subprocess; subprocess.Popen(['sleep', '600']); print('there', flush=True); input(); input()"
    async with spawner(script, tmp_path, sandboxed) as (_, ours):
        talk = Talk(SpawnedProcess.start(ours))
        await talk.until("there")
        heard = list[bytes]()
        talk.pipes._heard = heard.append
        talk.process._control.close()
        async with asyncio.timeout(WAIT_S):
            while b"" not in heard:  # noqa: ASYNC110 - the end of the output
                await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("said", "code"), [(b"7", 7), (b"-6", -6), (b"seven", -9), (b"9" * 99, int("9" * 16)), (b"", -9)]
)
async def test_whatever_a_spawner_says_of_an_end_it_is_an_end(said: bytes, code: int) -> None:
    ours, its = socket.socketpair()
    with ours, its:
        process = SpawnedProcess.start(ours)
        _, handles, _, _ = socket.recv_fds(its, 1, 3)
        with socket.socket(fileno=handles.pop()) as control:
            control.send(said)
        async with asyncio.timeout(WAIT_S):
            await process.wait()
        assert process.returncode == code
        for handle in (*handles, process.into, process.out):
            os.close(handle)


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    ours, its = socket.socketpair()
    with ours, its:
        program = Program(("./nowhere",), tmp_path, {"PATH": os.defpath}, spawned=True)
        bot = await BotProcess.start(program, "", 0, None, given=its.fileno())
        assert b"there is no program ./nowhere: give its path" in await bot.output.read()
        assert await bot.wait() == 127


HOUR_S = 3_600


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says when a pipe was written")
@BOTH
@pytest.mark.parametrize(
    "after", ["", "with contextlib.suppress(OSError): os.utime(1, (0, 0))"], ids=["honest", "lying"]
)
async def test_a_pipe_says_when_a_process_wrote_however_late_it_is_read(
    sandboxed: bool, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"import contextlib, os\ninput()\nos.write(1, b'there')\n{after}\nos.write(2, b'done\\n')\ninput()"
    async with spawner(script, tmp_path, sandboxed) as (bot, ours):
        talk = Talk(SpawnedProcess.start(ours))
        asyncio.get_running_loop().remove_reader(talk.process.out)
        began_s = time.monotonic()
        talk.pipes.write(b"\n")
        async with asyncio.timeout(WAIT_S):
            assert await bot.output.readline() == b"done\n"
        done_s = time.monotonic()
        later = SimpleNamespace(time=lambda: time.time() + HOUR_S, monotonic=lambda: time.monotonic() + HOUR_S)
        monkeypatch.setattr(child, "time", later)
        assert talk.pipes.read()
        written_s = talk.pipes.written_s()
        assert written_s is not None
        assert began_s - child.TICK_S < written_s < done_s + 2 * child.TICK_S
