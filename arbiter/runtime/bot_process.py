"""Bots as processes: in a sandbox or without one, each tied to this process, with an environment of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from arbiter.runtime import launch
from arbiter.runtime.limits import in_words
from arbiter.runtime.sandbox import Program, Sandbox, guarded

KEPT: Final = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "VIRTUAL_ENV", "PYTHONPATH", "JAVA_HOME")
"""What a bot inherits of the environment of who runs it: where programs lie, and how texts and times are written.

All else may be secret, or of another server.
"""

ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""A bot thinks on one core, unless its author says otherwise: the others are other bots'."""

END_WAIT_S: Final = 5.0  #: what a bot gets to end by itself
PIECE: Final = 4_096  #: bytes of a guard's report that are taken at a time


class Hit(NamedTuple):
    """A limit that a bot has hit, and its value."""

    limit: str
    value: int

    @property
    def words(self) -> str:
        """What the bot did, as a clause whose subject it is."""
        return in_words(self.limit, self.value)


class BotProcess:
    """A bot that runs. `output` is what it writes, on standard output and on standard error. `hits`: limits, as hit."""

    def __init__(self, process: asyncio.subprocess.Process, report: int | None = None) -> None:
        self._process = process
        self._guarded = report is not None
        self._report = report
        self._reported = b""
        if report is not None:
            os.set_blocking(report, False)
            asyncio.get_running_loop().add_reader(report, self._take_report)
        assert process.stdout is not None
        self.output: asyncio.StreamReader = process.stdout
        self.hits: tuple[Hit, ...] = ()

    @classmethod
    async def start(cls, program: Program, host: str, port: int, sandbox: Sandbox | None) -> Self:
        """Start a bot that finds its arbiter at an address. Raises OSError, OperatorError."""
        program = program._replace(environment=environment(program.environment))
        if sandbox is None:
            command = [sys.executable, "-I", "-S", launch.__file__, "--", *program.command]
            return cls(await _spawned(command, program, dict(program.environment), ()))
        job = _memory_file(sandbox.job(program, (host, port)))
        report, its = os.pipe()
        try:
            command = [*guarded(Path(f"/dev/fd/{job}")), str(its)]
            return cls(await _spawned(command, program, None, (job, its)), report)
        except BaseException:
            os.close(report)
            raise
        finally:
            os.close(job)
            os.close(its)

    @property
    def returncode(self) -> int | None:
        """Its exit code, or the negative number of the signal that ended it; None while it runs."""
        return self._process.returncode

    async def wait(self) -> int:
        """Wait until the bot has ended; return its exit code, or the negative number of the signal."""
        ended = self._process.returncode is not None
        code = await self._process.wait()
        if not ended:
            self._signal(signal.SIGKILL)  # what it has started and left behind
        while self._report is not None:
            self._take_report()
        return code

    def terminate(self) -> None:
        """Tell the bot to end."""
        if self._process.returncode is not None:
            return
        if self._guarded:
            self._process.terminate()  # its guard hands that on; bubblewrap, beside it, would end at once
        else:
            self._signal(signal.SIGTERM)

    async def end(self) -> None:
        """End the bot, and all that it has started."""
        self.terminate()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), END_WAIT_S)
        self.kill()
        await self.wait()

    def kill(self) -> None:
        """End the bot at once."""
        if self._process.returncode is None:
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _take_report(self) -> None:
        """Take in what the guard has written of limits that the bot has hit; nothing more comes once it has ended."""
        assert self._report is not None
        try:
            data = os.read(self._report, PIECE)
        except BlockingIOError:
            data = b""
            if self._process.returncode is None:
                return
        *lines, self._reported = (self._reported + data).split(b"\n")
        self.hits += tuple(Hit(**json.loads(line)) for line in lines)
        if not data:
            asyncio.get_running_loop().remove_reader(self._report)
            os.close(self._report)
            self._report = None


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return a bot's environment."""
    return {**{name: os.environ[name] for name in KEPT if name in os.environ}, **ONE_THREAD, **given}


def _memory_file(job: dict[str, Any]) -> int:
    """Return a file in memory with a job, of which nobody else can read the bot's token."""
    handle = os.memfd_create("job")
    with os.fdopen(handle, "w", closefd=False) as file:
        json.dump(job, file)
    return handle


async def _spawned(
    command: list[str], program: Program, surroundings: dict[str, str] | None, passed: tuple[int, ...]
) -> asyncio.subprocess.Process:
    """Start a process. surroundings: its environment; None for a guard, which has ours and gives the bot another."""
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=program.folder if surroundings is not None else None,
        env=surroundings,
        pass_fds=passed,
        process_group=0,  # a Ctrl-C in the terminal is for us; we end the bot
    )
