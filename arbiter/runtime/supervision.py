"""Starts again what ends by itself, after longer and longer pauses if it ends soon."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, NoReturn, Protocol, TypeVar

AGAIN_S: Final = 0.1  #: before a process that has ended is started again, the first time; then twice as long each time
MOST_AGAIN_S: Final = 30.0  #: the longest such time; a process that has run for longer begins with AGAIN_S again


T = TypeVar("T")


async def again_and_again(
    run: Callable[[], Awaitable[T]], tell: Callable[[T, float], object], first_s: float, most_s: float
) -> NoReturn:
    """Run something again whenever it ends, until this task is cancelled or `run` raises.

    tell: gets what `run` has returned, and the seconds until the next start. These are `first_s` at first, and then
    twice as many each time, but at most `most_s`. After a run that took longer than that, they are `first_s` again.
    """
    now, pause_s = asyncio.get_running_loop().time, first_s
    while True:
        began = now()
        ended = await run()
        if now() - began > most_s:
            pause_s = first_s
        tell(ended, pause_s)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, most_s)


class ProcessLog(Protocol):
    """Where it is said that a process has ended (`process_ended`, with `code` and `again_in_s`) and started again."""

    def info(self, event: str, **values: Any) -> Any:
        """Say what an operator may want to know."""

    def warning(self, event: str, **values: Any) -> Any:
        """Say what an operator should look at."""


class EndedEarly(Exception):
    """A process has ended before it was ready. code: its exit code, or the negative number of a signal."""

    def __init__(self, code: int) -> None:
        super().__init__(f"ended with code {code}")
        self.code = code


class _Stopped(Exception):
    """The process is to be started no more."""


class KeptProcess:
    """A process that is kept running. spawn: starts it. ready: waits until it works; raises EndedEarly if it ends."""

    def __init__(
        self,
        name: str,
        spawn: Callable[[], Awaitable[Process]],
        ready: Callable[[Process], Awaitable[None]],
        log: ProcessLog,
    ) -> None:
        self._name = name
        self._spawn = spawn
        self._ready = ready
        self._log = log
        self._process: Process | None = None
        self._stopping = False
        self._is_new = False

    async def start(self) -> None:
        """Start it for the first time. Raises EndedEarly, and what `spawn` raises."""
        self._process = await self._spawn()
        self._is_new = True
        if self._stopping:
            self._process.terminate()
        await self._ready(self._process)

    async def keep(self) -> None:
        """Start it again whenever it ends, until it is stopped."""
        with suppress(_Stopped):
            await again_and_again(self._once, self._ended, AGAIN_S, MOST_AGAIN_S)

    async def _once(self) -> int:
        """Start it, unless `start` has just done so, and wait until it has ended; return its exit code."""
        assert self._process is not None
        if not self._is_new:
            self._stop_if_asked()
            try:
                await self.start()
            except EndedEarly:
                pass
            except OSError as error:
                self._log.warning("process_not_started", process=self._name, error=str(error))
            else:
                self._log.info("process_started", process=self._name, pid=self._process.pid)
        code = await self._process.wait()
        self._is_new = False
        self._stop_if_asked()
        return code

    def _ended(self, code: int, again_in_s: float) -> None:
        self._log.warning("process_ended", process=self._name, code=code, again_in_s=again_in_s)

    def _stop_if_asked(self) -> None:
        if self._stopping:
            raise _Stopped

    def tell(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def stop(self, number: signal.Signals) -> int:
        """Send it a signal to end, and wait until it has ended; return its exit code."""
        self._stopping = True
        if self._process is None:
            return 0
        self.tell(number)
        return await self._process.wait()

    def kill(self) -> None:
        """End it at once."""
        self._stopping = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
