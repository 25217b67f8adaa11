"""A server process that is killed and restarted on the same store: see `tests.e2e.crashing`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from arbiter.runtime.loopback import free_port
from tests.e2e.crashing import STORE_AWAY, CrashPlan

ROOT = Path(__file__).parents[2]
LONGEST_S = 600  #: seconds for a run to begin, or to end
MOST_STARTS = 20  #: of one run, while the database does not answer


class CrashingServer:
    """The runs of a server, one after another.

    ends: when each run ended, by the system's clock. within: for each run, the thread within whose transaction it was
    killed, '' for none. store: the URL. keys: the file of the keys.
    """

    def __init__(self, process: asyncio.subprocess.Process, address: str, store: str, keys: Path, log: Path) -> None:
        self.address = address
        self.store = store
        self.keys = keys
        self.ends: list[int] = []
        self.within: list[str] = []
        self.matches = 0
        self.admin_token = ""
        self._process = process
        self._log = log
        self._serving = 0
        self._killed_within = ""

    @property
    def resident_kib(self) -> int:
        """How much of the memory of this run's process is in RAM, in KiB (VmRSS of proc_pid_status(5))."""
        status = Path(f"/proc/{self._serving}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    async def begin(self, plan: CrashPlan) -> bool:
        """Start a run; return whether it accepts calls, or was killed before that.

        A server ends if the database does not answer while it starts. It is started again, as a service manager does.
        """
        assert self._process.stdin is not None
        said: dict[str, Any] = {"gone": STORE_AWAY}
        for _ in range(MOST_STARTS):
            if said.get("gone") == STORE_AWAY:
                self._process.stdin.write(plan.line().encode())
                said = await self._said()
        if "gone" in said:
            self._end(said)
            return False
        self._serving, self.matches = said["serving"], said["matches"]
        self.admin_token = said["token"] or self.admin_token
        return True

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to this run's process."""
        os.kill(self._serving, number)

    async def ended(self) -> int:
        """Wait until this run has ended, and return its exit status."""
        return self._end(await self._said())

    def _end(self, said: dict[str, Any]) -> int:
        self.ends.append(time.time_ns() // 1_000_000)
        self.within.append(self._killed_within)
        self._killed_within = ""
        status: int = said["gone"]
        assert status in (0, -signal.SIGKILL), self._log.read_text()
        return status

    async def _said(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), LONGEST_S)
        assert line, self._log.read_text()
        said: dict[str, Any] = json.loads(line)
        if "within" in said:
            self._killed_within = said["within"]
            return await self._said()
        return said


@asynccontextmanager
async def crashing_server(
    folder: Path,
    store: str = "",
    shared: bool = False,
    name: str = "server",
    clock_ahead_ms: int = 0,
    address: str = "",
    code: Path | None = None,
    **given: str,
) -> AsyncIterator[CrashingServer]:
    """Prepare runs on a store, by default a file in a folder; none has started yet.

    `shared`: the server is one of several, each with its own name and all with the same keys. clock_ahead_ms: how wrong
    the clock of its machine is. address: a free one by default. code: a folder with another version of the package.
    given: further settings of it.
    """
    address, log = address or f"127.0.0.1:{free_port()}", folder / f"{name}.log"
    store, keys = store or f"sqlite:///{folder / 'arbiter.db'}", folder / "arbiter.keys"
    settings = {f"ARBITER_{setting.upper()}": text for setting, text in given.items()}
    environment = {**os.environ, "ARBITER_KEYS": str(keys), **settings}
    # The package of another version, or the compiled one, comes before that of the working folder.
    before = [str(code)] if code is not None else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    environment["PYTHONPATH"] = os.pathsep.join([*filter(None, before), str(ROOT)])
    with log.open("w") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.e2e.crashing"),
            *("--listen", address, "--store", store),
            *(["--shared"] if shared else []),
            *("--clock-ahead-ms", str(clock_ahead_ms)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env=environment,
            cwd=code,
        )
    assert process.stdin is not None
    try:
        yield CrashingServer(process, address, store, keys, log)
    finally:
        process.stdin.close()  # this ends a run that is still going on
        await asyncio.wait_for(process.wait(), LONGEST_S)
