"""Bot processes, sandboxed or not. Each ends with this process, and has an environment of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from arbiter.sandbox import launch
from arbiter.sandbox.bubblewrap import Program, Sandbox, guarded
from arbiter.sandbox.limits import in_words

KEPT: Final = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "VIRTUAL_ENV", "PYTHONPATH", "JAVA_HOME")
"""The environment variables that a bot inherits: where programs are, and how text and time are written.

All others may be secret, or belong to another server.
"""

ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""A bot uses one core unless its author says otherwise; the other cores are for other bots."""

END_WAIT_S: Final = 5.0  #: time for a bot to end by itself after SIGTERM
PIECE: Final = 4_096  #: bytes to read from a guard's report at a time


class Hit(NamedTuple):
    """A limit that a bot has reached, and its value."""

    limit: str
    value: int

    @property
    def words(self) -> str:
        """What the bot did, as a clause with the bot as its subject."""
        return in_words(self.limit, self.value)


class BotProcess:
    """A running bot. `output`: its standard output and standard error. `hits`: the limits that it reached, in order.

    note: called with each limit as soon as the guard has reported it.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, report: int | None = None, note: Callable[[Hit], None] | None = None
    ) -> None:
        self._process = process
        self._guarded = report is not None
        self._report = report
        self._reported = b""
        self._note = note
        if report is not None:
            os.set_blocking(report, False)
            asyncio.get_running_loop().add_reader(report, self._take_report)
        assert process.stdout is not None
        self.output: asyncio.StreamReader = process.stdout
        self.hits: tuple[Hit, ...] = ()

    @classmethod
    async def start(
        cls,
        program: Program,
        host: str,
        port: int,
        sandbox: Sandbox | None,
        note: Callable[[Hit], None] | None = None,
        given: int = asyncio.subprocess.DEVNULL,
    ) -> Self:
        """Start a bot, which finds its arbiter at the given address. Raises OSError, OperatorError.

        given: the file descriptor that is its standard input. host: '' if it is to reach no arbiter.
        """
        program = program._replace(environment=environment(program.environment))
        if sandbox is None:
            command = [sys.executable, "-I", "-S", launch.__file__, "--", *program.words]
            return cls(await _spawned(command, program, dict(program.environment), (), given))
        job = memory_file(sandbox.job(program, (host, port) if host else None))
        report, its = os.pipe()
        try:
            command = [*guarded(Path(f"/dev/fd/{job}")), str(its)]
            return cls(await _spawned(command, program, None, (job, its), given), report, note)
        except BaseException:
            os.close(report)
            raise
        finally:
            os.close(job)
            os.close(its)

    @property
    def returncode(self) -> int | None:
        """The exit code, or the negative signal number; None while the process runs."""
        return self._process.returncode

    async def wait(self) -> int:
        """Wait until the bot has ended. Return its exit code, or the negative signal number."""
        ended = self._process.returncode is not None
        code = await self._process.wait()
        if not ended:
            self._signal(signal.SIGKILL)  # processes that the bot started and left behind
        while self._report is not None:
            self._take_report()
        return code

    def terminate(self) -> None:
        """Ask the bot to end (SIGTERM)."""
        if self._process.returncode is not None:
            return
        if self._guarded:
            self._process.terminate()  # the guard forwards SIGTERM; bubblewrap in the same group would end at once
        else:
            self._signal(signal.SIGTERM)

    async def end(self) -> None:
        """End the bot and every process that it has started."""
        self.terminate()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), END_WAIT_S)
        self.kill()
        await self.wait()

    def kill(self) -> None:
        """Kill the bot at once."""
        if self._process.returncode is None:
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _take_report(self) -> None:
        """Read what the guard has reported about limits that the bot reached.

        After the guard's end there is nothing more.
        """
        assert self._report is not None
        try:
            data = os.read(self._report, PIECE)
        except BlockingIOError:
            data = b""
            if self._process.returncode is None:
                return
        *lines, self._reported = (self._reported + data).split(b"\n")
        for line in lines:
            hit = Hit(**json.loads(line))
            self.hits += (hit,)
            if self._note is not None:
                self._note(hit)
        if not data:
            asyncio.get_running_loop().remove_reader(self._report)
            os.close(self._report)
            self._report = None


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of a bot."""
    return {**{name: os.environ[name] for name in KEPT if name in os.environ}, **ONE_THREAD, **given}


def memory_file(job: Mapping[str, Any]) -> int:
    """Return an in-memory file that holds a job. Nobody else can read the bot's token in it."""
    handle = os.memfd_create("job")
    with os.fdopen(handle, "w", closefd=False) as file:
        json.dump(dict(job), file)
    return handle


async def _spawned(
    command: list[str], program: Program, surroundings: dict[str, str] | None, passed: tuple[int, ...], given: int
) -> asyncio.subprocess.Process:
    """Start a process.

    surroundings: its environment variables. None for a guard: the guard inherits ours, and gives the bot other ones.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=given,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=program.folder if surroundings is not None else None,
        env=surroundings,
        pass_fds=passed,
        start_new_session=True,  # Ctrl-C in the terminal is for this process, which then ends the bot
    )
    if program.cores and hasattr(os, "sched_setaffinity"):  # what it starts inherits them, and Python starts first
        with contextlib.suppress(OSError):  # it has ended, or a processor was taken away
            os.sched_setaffinity(process.pid, program.cores)
    return process
