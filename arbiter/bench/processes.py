"""The processes of a benchmark: the server and its drivers share neither an interpreter nor a lock.

A part is a module that runs as a process of its own (`python -m arbiter.bench.measured_server`). It reads orders as
lines of JSON from standard input, and answers each with a line of JSON on standard output.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from arbiter.runtime.grpc_events import new_loop
from arbiter.runtime.loop import GRPC_ENVIRONMENT, run_process

STREAM_ENDED: Final = 3  #: exit code of a process whose stream has ended: the results of such a run are not valid
OPENING: Final = 50  #: streams that a process opens at the same time
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
END_WAIT_S = 20.0  #: time for a part to end by itself


class BenchError(Exception):
    """A benchmark could not be carried out; the message gives the reason in one line."""


class BenchProcess:
    """A process of a benchmark. Leaving the context ends it."""

    COMMAND: ClassVar[tuple[str, ...]] = (sys.executable, "-m")

    def __init__(self, module: str, **plan: Any) -> None:
        """Start `python -m module` and send it its plan."""
        self._name = module
        self._process = subprocess.Popen(
            [*self.COMMAND, module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**GRPC_ENVIRONMENT, **os.environ},
        )
        self.send(**plan)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.close()  # the end of its orders ends a part
            process.wait(END_WAIT_S)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        finally:
            process.stdout.close()

    def send(self, **order: Any) -> None:
        """Send an order. Raises BenchError if the part has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._end() from None

    def next_answer(self) -> Any:
        """Wait for the next answer. Raises BenchError if the part has ended instead."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._end()
        return json.loads(line)

    def _end(self) -> BenchError:
        return BenchError(f"{self._name} ended by itself, with exit code {self._process.wait()}")

    def ask(self, **order: Any) -> Any:
        """Send an order and wait for its answer."""
        self.send(**order)
        return self.next_answer()

    @property
    def id(self) -> int:
        """The process's id."""
        return self._process.pid

    def cpu_s(self) -> float:
        """Return the processor time used so far, of all threads, those that have ended too, user and system."""
        return spent_s(self.id)

    def resident_bytes(self) -> int:
        """Return its resident memory."""
        return int(Path(f"/proc/{self.id}/statm").read_text().split()[1]) * PAGE_BYTES

    def most_resident_bytes(self) -> int:
        """Return the most resident memory that it has had so far (Linux)."""
        lines = Path(f"/proc/{self.id}/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def spent_s(process: int, with_ended: bool = False) -> float:
    """Return the processor time of a process; with that of its children that have ended. 0 if it has ended itself."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11 : 15 if with_ended else 13])) / TICKS_A_SECOND


def order() -> dict[str, Any] | None:
    """In a part: wait for the next order; None at the end of the orders."""
    line = sys.stdin.readline()
    return json.loads(line) if line else None


def answer(**values: Any) -> None:
    """In a part: answer an order."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def give_way() -> None:
    """Never preempt the server that this process drives, if the system supports that (Linux).

    With both on one machine, a message from the server can wake this process, which then preempts the server. A client
    on another machine cannot do that. The time that the client waits for a processor is part of the measurement.
    """
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def go_last() -> None:
    """Run only while no other process wants to (Linux): this one stands for programs on machines of their own."""
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def run_part(
    run: Callable[..., Coroutine[Any, Any, None]],
    loop_factory: Callable[[], asyncio.AbstractEventLoop] = new_loop,
    priority: Callable[[], None] = lambda: None,
) -> None:
    """In a part: run its coroutine function with the plan, the first order. priority: `give_way` or `go_last`."""
    plan = order()
    assert plan is not None
    priority()
    run_process(run(**plan), loop_factory)
