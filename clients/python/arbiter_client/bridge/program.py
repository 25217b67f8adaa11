"""A program that reads lines on its standard input and writes lines on its standard output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from typing import Final

from arbiter_client.bot import Choice
from arbiter_client.bridge.language import Introduction, Language, NotUnderstood, Question
from arbiter_client.values.play import LiveMatch

LONGEST_LINE: Final = 1_000_000  #: bytes that a program may write in a line
FAREWELL_S: Final = 2.0  #: how long a program has to end once it is told to


class ProgramFailed(Exception):
    """A program has ended, is silent, or says what nobody understands; the text is a sentence for people."""


class Program:
    """One running program. Its standard error is that of who started it."""

    def __init__(self, process: asyncio.subprocess.Process, language: Language) -> None:
        self._process = process
        self._language = language
        self.introduction = Introduction()

    @classmethod
    async def start(cls, command: Sequence[str], language: Language, limit_s: float) -> Program:
        """Start a program and let it introduce itself. Raises ProgramFailed."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,  # Ctrl-C is for the bridge, and what the program starts ends with it
            )
        except OSError as error:
            raise ProgramFailed(f"{command[0]} can't be started: {error.strerror or error}") from None
        program = cls(process, language)
        try:
            async with asyncio.timeout(limit_s):
                await program._introduce()
        except BaseException as error:
            await program.kill()
            if isinstance(error, TimeoutError):
                raise ProgramFailed(f"it did not introduce itself within {limit_s:g} s") from None
            raise
        return program

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
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
        """Return what it chooses, within so many seconds. Raises ProgramFailed."""
        try:
            async with asyncio.timeout(limit_s):
                await self._write(self._language.question(question))
                while True:
                    try:
                        choice = self._language.choice(await self._line())
                    except NotUnderstood as error:
                        raise ProgramFailed(str(error)) from None
                    if choice is not None:
                        return choice
        except TimeoutError:
            raise ProgramFailed(f"it did not answer within {limit_s:g} s") from None

    async def end(self, outcome: str, reason: str) -> None:
        """Tell it how its match ended. Raises ProgramFailed."""
        await self._write(self._language.end(outcome, reason))

    async def close(self) -> None:
        """Tell it to end, and end it if it does not."""
        with contextlib.suppress(ProgramFailed, TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await self._write(self._language.goodbye())
                assert self._process.stdin is not None
                self._process.stdin.close()
                await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """End it, and whatever it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()

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
        """Return how the program ended that has closed its streams; one that still runs is ended."""
        await self.kill()
        code = self._process.returncode or 0
        return f"it ended with signal {-code}" if code < 0 else f"it ended with exit code {code}"
