"""A program that reads lines on its standard input and writes lines on its standard output."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from arbiter_client.bot import Choice
from arbiter_client.bridge.child import TICK_S, Child, Pipes, Start
from arbiter_client.bridge.language import AnswerMalformed, Introduction, Language, NotUnderstood, Question, quoted
from arbiter_client.values.play import LiveMatch

logger = logging.getLogger("arbiter_client")

LONGEST_LINE: Final = 1_000_000  #: bytes of a line that is read; a longer one is skipped
LONGEST_LOGGED: Final = 1_000  #: characters of a line in the log of a dialogue
MOST_LINES: Final = 100_000  #: how many lines that are no answers a program may write before its next answer,
MOST_BYTES: Final = 10_000_000  #: and of how many bytes; more of them end it
MOST_PIECES: Final = 100  #: that are read before something is asked
FAREWELL_S: Final = 2.0  #: how long a program has to end after it was asked to
EMPTYING_S: Final = 2.0  #: how long a program without an answer has to flush its buffers after its input is closed
FLUSH: Final = (
    "it must flush after each line (in Python `print(line, flush=True)`, in C `fflush(stdout)`), and read line by line"
)


class ProgramFailed(Exception):
    """A program has ended, does not answer, or its answer can't be read; the text is a sentence for people."""


class Program:
    """One running program. Its standard error is that of this process.

    Its lines are read as they come, at any time. One that is no answer, or comes when nothing was asked, is skipped:
    the log quotes the first of them, the tenth, the hundredth and so on. So a program that writes an answer twice, or
    the messages of a library, goes on.
    """

    def __init__(self, child: Child, language: Language, called: str, dialogue: bool = False) -> None:
        self._dialogue = dialogue
        self._child = child
        self._language = language
        self._called = called
        self._log_name = called  # in the log: with its match, while it plays one
        self._answered = False
        self._reads: Callable[[str], Any] = language.choice  # what makes an answer of a line; None: not yet
        self._asked: asyncio.Future[Any] | None = None
        self._failure = ""  # why no more lines will come
        self._skipped = 0
        self._misread = ""  # the last line that was not understood since something was asked, and why
        self._lines = self._bytes = 0  # since its last answer
        self._rest = b""  # the beginning of a line
        self._long = False  # it is longer than is read, and its beginning is dropped
        self._silent = asyncio.Event()  # its output has ended
        self._pipes = Pipes(child.into, child.out, self._heard)
        self._asked_s = 0.0
        self.thought_s = 0.0  #: how long its last answer took it, as far as the system says when it wrote it
        self._ending: asyncio.Task[None] | None = None
        self.introduction = Introduction()

    @classmethod
    async def start(
        cls, start: Start, language: Language, limit_s: float, called: str, dialogue: bool = False
    ) -> Program:
        """Start a program and read its introduction; log a warning after half of the time. Raises ProgramFailed.

        called: its name in messages. dialogue: whether each line that it reads and writes is logged.
        """
        try:
            child = await start()
        except OSError as error:
            raise ProgramFailed(f"it can't be started: {error.strerror or error}") from None
        program = cls(child, language.of_program(), called, dialogue)
        silence = "%s has not introduced itself for %g s: if it has written its lines, they wait in a buffer: " + FLUSH
        warning = asyncio.get_running_loop().call_later(limit_s / 2, logger.warning, silence, called, limit_s / 2)
        try:
            async with asyncio.timeout(limit_s):
                await program._introduce()
        except TimeoutError:
            why = program._misread or "does it write these lines at all?"
            if not program._lines and await program._writes_at_the_end():
                why = f"it wrote only once its input was closed: {FLUSH}"
            await program.kill()
            raise ProgramFailed(f"it did not introduce itself within {limit_s:g} s ({why})") from None
        except BaseException:
            await program.kill()
            raise
        finally:
            warning.cancel()
        return program

    @property
    def agrees_to_draw(self) -> bool:
        """Whether it accepts a draw now, by the scores of its moves."""
        return self._language.agrees

    @property
    def running(self) -> bool:
        """Whether it is running."""
        return self._child.returncode is None

    async def _introduce(self) -> None:
        def introduced(line: str) -> Introduction | None:
            self.introduction, complete = self._language.introduction(line, self.introduction)
            return self.introduction if complete else None

        await self._ask(self._language.greeting(), introduced)
        self._reads = self._language.choice

    async def begin(self, match: LiveMatch, limit_s: float) -> None:
        """Tell it of a match, and wait until it is prepared, if it says so in its language. Raises ProgramFailed."""
        self._log_name = f"{self._called} in {match.match_id}"
        lines = self._language.match(match)
        if not self._language.prepares:
            await self._write(lines)
            return
        try:
            async with asyncio.timeout(limit_s):
                await self._ask(lines, lambda line: self._language.prepared(line) or None)
        except TimeoutError:
            raise ProgramFailed(f"it was not prepared for the match within {limit_s:g} s") from None
        self._reads = self._language.choice

    async def ask(self, question: Question, limit_s: float | None) -> Choice:
        """Return its choice, within a time limit in seconds. Raises ProgramFailed."""
        self._read_all()  # what it wrote before answers nothing
        late = None
        if limit_s is not None:
            late = asyncio.get_running_loop().call_later(limit_s, self._is_late, limit_s)
        try:
            choice: Choice = await self._ask(self._language.question(question), self._language.choice)
        finally:
            if late is not None:
                late.cancel()
        self._answered = True
        return choice

    def _read_all(self) -> None:
        """Read what it has written."""
        for _ in range(MOST_PIECES):
            if not self._pipes.read():
                break

    def _is_late(self, limit_s: float) -> None:
        """Fail, since the time limit for an answer is over, unless the answer is there and was not read yet."""
        self._read_all()
        why = f" ({self._misread})" if self._misread else ""
        if not (self._answered or why):
            why = f" (if it has, its line waits in a buffer: {FLUSH})"
        self._settle(ProgramFailed(f"it did not answer within {limit_s:g} s{why}"))

    async def think_ahead(self, question: Question, choice: Choice, spent_ms: int) -> None:
        """Let it think on after its choice, if it does in its language. Its next turn shows if it has ended."""
        if lines := self._language.ahead(question, choice, spent_ms):
            with contextlib.suppress(ProgramFailed):
                await self._write(lines)

    async def end(self, outcome: str, reason: str) -> None:
        """Tell it how its match ended. Raises ProgramFailed."""
        await self._write(self._language.end(outcome, reason))
        self._log_name = self._called

    async def close(self) -> None:
        """Ask it to end, and end it if it does not."""
        with contextlib.suppress(ProgramFailed, TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await self._write(self._language.goodbye())
                self._pipes.close_input()
                await self._child.wait()
        await self.kill()

    async def kill(self) -> None:
        """End it, and every process that it has started; wait until it has ended, and what it wrote is read.

        The end of its output may never come: where it has started a process that has left its group, and holds it. More
        may have been written than is read.
        """
        self._child.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await self._silent.wait()
        self._pipes.close_input()
        self._pipes.close_output()
        await self._child.wait()

    async def _writes_at_the_end(self) -> bool:
        """Close its input, end it, and return whether it wrote a line before: one that had waited in a buffer."""
        self._pipes.close_input()
        try:
            async with asyncio.timeout(EMPTYING_S):
                await self._ask([], lambda line: line or True)
        except (ProgramFailed, TimeoutError):
            return False
        finally:
            await self.kill()
        return True

    async def _ask(self, lines: Sequence[str], reads: Callable[[str], Any]) -> Any:
        """Write lines, and return what `reads` makes of the first line that it makes something of."""
        self._reads, self._misread = reads, ""
        asked = self._asked = asyncio.get_running_loop().create_future()
        try:
            if lines:
                await self._write(lines)
            self._asked_s = time.monotonic()
            if self._failure and not asked.done():
                raise ProgramFailed(self._failure)
            return await asked
        finally:
            self._asked = None
            if asked.done() and not asked.cancelled():
                asked.exception()  # if it was not raised here, another one was

    async def _write(self, lines: Sequence[str]) -> None:
        if self._dialogue:
            for line in lines:
                logger.info("%s < %s", self._log_name, line)
        try:
            self._pipes.write("".join(f"{line}\n" for line in lines).encode())
        except BrokenPipeError:
            raise ProgramFailed(await self._ended()) from None

    def _heard(self, data: bytes) -> None:
        """Read the lines in what it has written; b'' at the end of its output."""
        if not data:
            self._silent.set()
            self._ending = asyncio.ensure_future(self._fail_as_it_ended())
            return
        if self._failure:
            return
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = self._rest + lines[0]
            for line in lines:
                self._hear(line, self._long)
                self._long = False
                if self._wrote_too_much():
                    return
        else:
            rest = self._rest + rest
        if len(rest) > LONGEST_LINE:
            self._long = True
            self._bytes += len(rest)
            rest = b""
        self._rest = rest
        self._wrote_too_much()

    def _wrote_too_much(self) -> bool:
        """Return whether it has written too much without an answer; then it is ended."""
        if self._lines <= MOST_LINES and self._bytes <= MOST_BYTES:
            return False
        self._fail(f"it wrote {self._lines} lines, {self._bytes} bytes, without an answer: {self._misread}")
        self._child.kill()
        return True

    async def _fail_as_it_ended(self) -> None:
        self._fail(await self._ended())

    def _fail(self, failure: str) -> None:
        """Say that no more lines will come, and why."""
        self._failure = self._failure or failure
        self._settle(ProgramFailed(self._failure))

    def _settle(self, failure: ProgramFailed) -> None:
        """Raise a failure where an answer is awaited."""
        if self._asked is not None and not self._asked.done():
            self._asked.set_exception(failure)

    def _hear(self, data: bytes, long: bool) -> None:
        """Read a line: an answer, or one to skip. `long`: it is the end of a line that is longer than is read."""
        self._lines += 1
        self._bytes += len(data) + 1
        line = data.decode(errors="replace").strip("\r\n\ufeff")
        if self._dialogue:
            logger.info("%s > %s", self._log_name, line[:LONGEST_LOGGED])
        asked = self._asked if self._asked is not None and not self._asked.done() else None
        try:
            if long:
                raise NotUnderstood(line, f"at most {LONGEST_LINE} bytes in a line")
            said = self._reads(line)
        except AnswerMalformed as error:
            self._skip(str(error))
            if asked is not None:
                asked.set_exception(ProgramFailed(str(error)))
            return
        except NotUnderstood as error:
            self._skip(str(error))
            said = error.readable
        if said is None:
            return
        if asked is None:
            self._skip(f"{quoted(line)}: nothing was asked")
            return
        self.thought_s = self._thought_s()
        asked.set_result(said)
        self._lines = self._bytes = 0

    def _thought_s(self) -> float:
        """Return how long its answer, which was just read, took it.

        Within a tick of the question the system can't tell more than when the answer was read.
        """
        now = time.monotonic()
        written_s = self._pipes.written_s() if now > self._asked_s + TICK_S else None
        return max(0.0, min(now, written_s or now) - self._asked_s)

    def _skip(self, why: str) -> None:
        self._misread = why
        self._skipped += 1
        if str(self._skipped).strip("0") == "1":
            logger.warning("%s wrote a line that is skipped (so far %d): %s", self._log_name, self._skipped, why)

    async def _ended(self) -> str:
        """Return how a program that has closed its streams ended; one that still runs is ended."""
        await self.kill()
        code = self._child.returncode or 0
        ended = f"it ended with signal {-code}" if code < 0 else f"it ended with exit code {code}"
        return f"{ended}, after a line that was skipped: {self._misread}" if self._misread else ended
