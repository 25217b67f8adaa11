"""The bot under test as a process, started with the environment variables that every client understands."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from arbiter.errors import OperatorError
from arbiter.sandbox.bot_process import environment
from arbiter.sandbox.bubblewrap import Program, Sandbox, guarded

LAST_WORDS: Final = 20  #: lines of the bot's output in a report


def words_of(command: str, folder: Path | None = None) -> list[str]:
    """Split a command line into words. If a folder is given, the command runs in it.

    Raises OperatorError if the command is empty, has an open quote, or names no existing program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise OperatorError(f"{command!r} is no command: {error}") from None
    if not words:
        raise OperatorError("which bot? Give its command: --bot 'python first_move.py'")
    program = str((folder or Path()) / words[0]) if "/" in words[0] else words[0]
    if shutil.which(program) is None:
        raise OperatorError(f"there is no program {program!r} to start the bot with")
    return words


class Launch(NamedTuple):
    """How to start a bot: its command, the file for its output, and its working folder.

    sandbox: the sandbox to run it in, or None. sees: what it sees there besides its folder and the files of its
    command.
    """

    command: str
    log: Path
    folder: Path | None = None
    sandbox: Sandbox | None = None
    sees: tuple[Path, ...] = ()


class TestedBot:
    """A process of the bot, started without a shell, in its own process group. Its output goes to a file."""

    def __init__(self, launch: Launch, environment: Mapping[str, str]) -> None:
        self._launch = launch
        self._words = words_of(launch.command, launch.folder)
        self._environment = environment
        self._log = launch.log
        self._folder = launch.folder
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it. Raises OSError or OperatorError if that is not possible."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ARBITER_")}
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(self._words if self._launch.sandbox is None else self._guarded(self._launch.sandbox)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=kept if self._launch.sandbox is not None else {**kept, **self._environment},
                cwd=self._folder if self._launch.sandbox is None else None,
                process_group=0,
            )

    def check_visible(self) -> None:
        """Raise OperatorError if the bot is to run in a sandbox that can't show it what it needs."""
        if self._launch.sandbox is not None:
            self._launch.sandbox.job(self._program(), None)

    def _program(self) -> Program:
        certificate = self._environment.get("ARBITER_ROOT_CERTIFICATE")
        sees = (*self._launch.sees, *([Path(certificate)] if certificate else []))
        folder = (self._folder or Path()).absolute()
        return Program(tuple(self._words), folder, environment(self._environment), sees)

    def _guarded(self, sandbox: Sandbox) -> list[str]:
        """Return the command line that runs it in a sandbox, from which it can reach the arbiter of its environment."""
        host, _, port = self._environment["ARBITER_SERVER"].rpartition(":")
        file = self._log.with_suffix(".job")
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as job:
            json.dump(sandbox.job(self._program(), (host, int(port))), job)
        return guarded(file)

    @property
    def exit_status(self) -> int | None:
        """The exit code, negative for a signal that ended it; None while it runs."""
        return self._process.returncode if self._process is not None else None

    def terminate(self) -> None:
        """Send it SIGTERM."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.terminate()

    async def ended(self) -> int:
        """Wait for its end; return its exit code."""
        assert self._process is not None
        return await self._process.wait()

    async def kill(self) -> None:
        """Kill it and every process that it started."""
        if self._process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()

    def last_words(self) -> str:
        """Return the last lines of its standard output and error."""
        with suppress(OSError):
            lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
            return "\n".join(lines[-LAST_WORDS:])
        return ""
