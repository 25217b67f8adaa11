"""A program that reads lines on its standard input and writes lines on its standard output."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import signal
from collections.abc import Sequence
from typing import Final

from arbiter_client.bot import Choice
from arbiter_client.bridge.language import Introduction, Language, NotUnderstood, Question
from arbiter_client.values.play import LiveMatch

logger = logging.getLogger("arbiter_client")

LONGEST_LINE: Final = 1_000_000  #: bytes that a program may write in a line
FAREWELL_S: Final = 2.0  #: how long a program has to end after it was asked to
EMPTYING_S: Final = 2.0  #: how long a program without an answer has to flush its buffers after its input is closed
FLUSH: Final = (
    "it must flush after each line (in Python `print(line, flush=True)`, in C `fflush(stdout)`), and read line by line"
)


class ProgramFailed(Exception):
    """A program has ended, does not answer, or has written a malformed line; the text is a sentence for people."""


class Program:
    """One running program. Its standard error is that of this process."""

    def __init__(self, process: asyncio.subprocess.Process, language: Language) -> None:
        self._process = process
        self._language = language
        self._answered = False
        self.introduction = Introduction()

    @classmethod
    async def start(cls, command: Sequence[str], language: Language, limit_s: float, called: str = "") -> Program:
        """Start a program and read its introduction; log a warning after half of the time. Raises ProgramFailed.

        called: its name in messages, by default its command.
        """
        called = called or shlex.join(command)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,  # Ctrl-C ends the bridge, which ends the program and all its processes
            )
        except OSError as error:
            raise ProgramFailed(f"it can't be started: {error.strerror or error}") from None
        program = cls(process, language)
        silence = "%s has not introduced itself for %g s: if it has written its lines, they wait in a buffer: " + FLUSH
        warning = asyncio.get_running_loop().call_later(limit_s / 2, logger.warning, silence, called, limit_s / 2)
        try:
            async with asyncio.timeout(limit_s):
                await program._introduce()
        except TimeoutError:
            late = await program._writes_at_the_end()
            why = f"it wrote only once its input was closed: {FLUSH}" if late else "does it write these lines at all?"
            raise ProgramFailed(f"it did not introduce itself within {limit_s:g} s ({why})") from None
        except BaseException:
            await program.kill()
            raise
        finally:
            warning.cancel()
        return program

    @property
    def running(self) -> bool:
        """Whether it is running."""
        return self._process.returncode is None

    async def _introduce(self) -> None:
        await self._write(self._language.greeting())
        complete = False
        while not complete:
            line = await self._line()
            try:
                self.introduction, complete = self._language.introduction(line, self.introduction)
            except NotUnderstood as error:
                raise ProgramFailed(str(error)) from None

    async def begin(self, match: LiveMatch) -> None:
        """Tell it of a match. Raises ProgramFailed."""
        await self._write(self._language.match(match))

    async def ask(self, question: Question, limit_s: float | None) -> Choice:
        """Return its choice, within a time limit in seconds. Raises ProgramFailed."""
        try:
            async with asyncio.timeout(limit_s):
                await self._write(self._language.question(question))
                while True:
                    try:
                        choice = self._language.choice(await self._line())
                    except NotUnderstood as error:
                        raise ProgramFailed(str(error)) from None
                    if choice is not None:
                        self._answered = True
                        return choice
        except TimeoutError:
            why = "" if self._answered else f" (if it has, its line waits in a buffer: {FLUSH})"
            raise ProgramFailed(f"it did not answer within {limit_s:g} s{why}") from None

    async def end(self, outcome: str, reason: str) -> None:
        """Tell it how its match ended. Raises ProgramFailed."""
        await self._write(self._language.end(outcome, reason))

    async def close(self) -> None:
        """Ask it to end, and end it if it does not."""
        with contextlib.suppress(ProgramFailed, TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await self._write(self._language.goodbye())
                assert self._process.stdin is not None
                self._process.stdin.close()
                await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """End it, and every process that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()

    async def _writes_at_the_end(self) -> bool:
        """Close its input, end it, and return whether it wrote a line before: one that had waited in a buffer."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(EMPTYING_S):
                await self._line()
        except (ProgramFailed, TimeoutError):
            return False
        finally:
            await self.kill()
        return True

    async def _write(self, lines: Sequence[str]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("".join(f"{line}\n" for line in lines).encode())
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise ProgramFailed(await self._ended()) from None

    async def _line(self) -> str:
        assert self._process.stdout is not None
        try:
            data = await self._process.stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            raise ProgramFailed(await self._ended()) from None
        except asyncio.LimitOverrunError:
            raise ProgramFailed(f"it wrote a line of more than {LONGEST_LINE} bytes") from None
        try:
            return data.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise ProgramFailed(f"it wrote a line that is not UTF-8: {data[:60]!r}") from None

    async def _ended(self) -> str:
        """Return how a program that has closed its streams ended; one that still runs is ended."""
        await self.kill()
        code = self._process.returncode or 0
        return f"it ended with signal {-code}" if code < 0 else f"it ended with exit code {code}"
