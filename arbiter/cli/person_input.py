"""What a person types: lines of a pipe or a file, or of a terminal, where they can be edited and called up again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from typing import Protocol

from arbiter.cli.terminal import on_terminal, write_text


class Typing(Protocol):
    """Where lines come from."""

    async def next(self, prompt: str, words: Sequence[str]) -> str | None:
        """Return the next line without its line end, or None at the end of input. words: what Tab may complete."""


def typing() -> Typing:
    """Return what reads standard input: with line editing if both ends are a terminal."""
    return TerminalLines() if sys.stdin.isatty() and on_terminal() else InputLines()


class TerminalLines:
    """Reads lines from a terminal, with editing, the history of this game (arrow keys) and completion (Tab).

    What is printed meanwhile stands above the line that is typed.
    """

    def __init__(self) -> None:
        from prompt_toolkit import PromptSession  # only those who play at a terminal wait for this import

        self._session: PromptSession[str] = PromptSession(complete_while_typing=False)

    async def next(self, prompt: str, words: Sequence[str]) -> str | None:
        """Return the next line, or None after Ctrl-D."""
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.patch_stdout import patch_stdout

        sys.stdout.flush()
        try:
            with patch_stdout(raw=True):
                return await self._session.prompt_async(prompt, completer=WordCompleter(list(words), sentence=True))
        except EOFError:
            return None


class InputLines:
    """Reads standard input line by line in a thread of its own, which never delays the end of the program."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._over = False
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), name="standard input", daemon=True).start()

    async def next(self, prompt: str, words: Sequence[str]) -> str | None:
        """Return the next line without its line end, or None at the end of input. A person sees the prompt."""
        if self._over:
            return None
        if sys.stdin.isatty():
            write_text(prompt)
        line = await self._queue.get()
        self._over = line is None
        return line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        # os.read, because a thread that waits inside sys.stdin holds a lock that the interpreter needs at exit.
        rest = b""
        with contextlib.suppress(RuntimeError, OSError):  # the loop is closed: nobody needs more lines
            while data := os.read(sys.stdin.fileno(), 65_536):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    loop.call_soon_threadsafe(self._queue.put_nowait, line.decode(errors="replace"))
            if rest:
                loop.call_soon_threadsafe(self._queue.put_nowait, rest.decode(errors="replace"))
            loop.call_soon_threadsafe(self._queue.put_nowait, None)
