"""Several processes in one event loop in virtual time: each can be killed between any two steps, or be stopped.

A process is a context (`contextvars`): whatever code of the process starts, its tasks, callbacks and timers, runs in
this context, and the loop asks the process before each of them. Nothing of a dead process runs any more. What a stopped
one would have done meanwhile runs when it is continued, in the order in which it was due, as after SIGSTOP and SIGCONT.
Whatever is outside of all processes (networks, a database) runs in the context `WORLD`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from enum import Enum
from typing import Any, Final, TypeVar, TypeVarTuple

from arbiter.testing.clock import VirtualLoop

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
WORLD: Final = Context()  #: of everything that is outside of all processes
LAST_S: Final = 100.0  #: virtual time in which all tasks must have ended that are cancelled at the end of a run


class _State(Enum):
    RUNS = "runs"
    STOPPED = "stopped"
    DEAD = "dead"


class Process:
    """A process. Start its code by `create_task(…, context=process.context)`.

    died: done once it is dead.
    """

    def __init__(self) -> None:
        self.context = Context()
        self.context.run(_OF.set, self)
        self.died: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._state = _State.RUNS
        self._held: list[asyncio.Handle] = []
        self._steps_left: int | None = None
        self._tasks: set[asyncio.Task[Any]] = set()  # all tasks when it died: those of a dead process are never done

    @property
    def runs(self) -> bool:
        """Whether it is neither dead nor stopped."""
        return self._state is _State.RUNS

    @property
    def is_dead(self) -> bool:
        """Whether it is dead."""
        return self._state is _State.DEAD

    def kill(self) -> None:
        """Kill it at once, even if it is stopped."""
        if self.is_dead:
            return
        self._state = _State.DEAD
        self._tasks = asyncio.all_tasks()
        self.died.set_result(None)

    def kill_after(self, steps: int) -> None:
        """Kill it once it has run this many callbacks or steps of its tasks."""
        self._steps_left = steps

    def stop(self) -> None:
        """Stop it, unless it is dead."""
        if not self.is_dead:
            self._state = _State.STOPPED

    def go_on(self) -> None:
        """Continue it, if it is stopped."""
        if self._state is _State.STOPPED:
            self._run_held()

    def release(self) -> None:
        """Let everything run that it holds, so that its tasks can end: the run is over."""
        self._steps_left = None
        self._run_held()

    def _run_held(self) -> None:
        self._state = _State.RUNS
        held, self._held = self._held, []
        for step in held:
            asyncio.get_running_loop().call_soon(_repeat, step, context=WORLD)

    def may_run(self, step: asyncio.Handle) -> bool:
        """Return whether a step may run now. If not, it is kept."""
        if self._steps_left is not None and self.runs:
            self._steps_left -= 1
            if self._steps_left < 0:
                self.kill()
        if self._state is _State.RUNS:
            return True
        self._held.append(step)
        return False


_OF: Final[ContextVar[Process]] = ContextVar("process")


def _repeat(step: asyncio.Handle) -> None:
    """Run what a stopped process has held, unless it was cancelled meanwhile."""
    if not step.cancelled():
        step._run()


class _Step(asyncio.Handle):
    """A callback of a process."""

    __slots__ = ("process",)
    process: Process

    def _run(self) -> None:
        if self.process.may_run(self):
            asyncio.Handle._run(self)


class _TimedStep(asyncio.TimerHandle):
    """A callback of a process at an instant."""

    __slots__ = ("process",)
    process: Process

    def _run(self) -> None:
        if self.process.may_run(self):
            asyncio.Handle._run(self)


class ProcessLoop(VirtualLoop):
    """An event loop in virtual time that asks processes whether their callbacks may run."""

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Have a callback called soon; see the base class."""
        process = _OF.get(None) if context is None else context.get(_OF)
        if process is None:
            return super().call_soon(callback, *args, context=context)
        step = _Step(callback, args, self, context)
        step.process = process
        self._ready.append(step)
        return step

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Have a callback called at an instant; see the base class. `call_later` comes here too."""
        process = _OF.get(None) if context is None else context.get(_OF)
        if process is None:
            return super().call_at(when, callback, *args, context=context)
        step = _TimedStep(when, callback, args, self, context)
        step.process = process
        self._set(step)
        return step


def run_processes(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a `ProcessLoop` and return its result. It must call `end_all` before it returns."""
    loop = ProcessLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()


async def end_all(processes: list[Process]) -> None:
    """Cancel all other tasks, and wait until they have ended, also those of dead processes."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    for process in processes:
        process.release()
    if others:
        await asyncio.wait(others, timeout=LAST_S)
