"""Jobs in a worker process, so that a long job never blocks the event loop. This file holds both ends of the pipe.

A job is (kind, arguments). Its answer is one frame as in `arbiter.workers.rules_worker`: ("done", value) or ("failed",
traceback).
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, BinaryIO, Final

from arbiter.service.ports.meter import NO_METER, Meter
from arbiter.service.shielding import Shielded
from arbiter.workers.rules_worker import HEAD, frame
from arbiter.workers.worker import Worker

NICE: Final = 5  #: live matches have priority

Jobs = Mapping[str, Callable[..., object]]
"""The job handlers of a worker, by kind."""


class JobProcess:
    """A worker process. The first job starts it; if it has died, the next job starts a new one.

    Jobs run one after the other: hold the lock `turn` during an exchange. Do not cancel an exchange, because the next
    job would read its answer. Use `arbiter.service.shielding`.

    doing: the worker's purpose for messages, as in "the process that pairs". failed: the exception to raise, with the
    details, if a job gets no answer. renewed: called when the worker's kept state is lost.
    """

    def __init__(
        self,
        module: str,
        doing: str,
        longest_s: float,
        failed: Callable[[str], Exception],
        renewed: Callable[[], None] = lambda: None,
        meter: Meter = NO_METER,
    ) -> None:
        self._module = module
        self._doing = doing
        self._longest_s = longest_s
        self._failed = failed
        self._renewed = renewed
        self._meter = meter
        self._shielded = Shielded()
        self._worker: Worker | None = None
        self._closed = False
        self.turn = asyncio.Lock()

    async def close(self) -> None:
        """Stop the process; pending jobs fail."""
        self._closed = True
        await self._dismiss()

    async def ask(self, kind: str, arguments: tuple[Any, ...]) -> Any:
        """Run a job and return its result. Raises `failed`."""
        return await self._shielded.run(self._ask(kind, arguments))

    async def _ask(self, kind: str, arguments: tuple[Any, ...]) -> Any:
        async with self.turn:
            await self.ready()
            return await self.exchange(kind, arguments)

    async def ready(self) -> None:
        """Start the process if it does not run, and wait until it takes jobs. Raises `failed`."""
        if self._closed:
            raise self._failed("the server is stopping")
        if self._worker is not None and self._worker.gone:
            await self._dismiss()
        try:
            if self._worker is None:
                self._worker = await Worker.start(self._module)
            await self._worker.ready()
        except (OSError, EOFError, TimeoutError) as error:
            await self._dismiss()
            raise self._failed(f"no process that {self._doing} could be started ({error!r})") from None

    async def exchange(self, kind: str, arguments: tuple[Any, ...]) -> Any:
        """Send a job and return its result; the process must be ready. Raises `failed`."""
        assert self._worker is not None
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self._longest_s):
                [body] = await self._worker.exchange(frame((kind, arguments), last=True))
        except (OSError, EOFError, TimeoutError) as error:
            await self._dismiss()
            raise self._failed(f"the process that {self._doing} gave no answer ({error!r})") from None
        self._meter.job_done(kind, time.perf_counter() - began)
        said, value = pickle.loads(body)
        if said == "failed":
            self._renewed()  # the worker's kept state may be inconsistent now
            raise self._failed(f"the process that {self._doing} failed:\n{value}")
        return value

    async def _dismiss(self) -> None:
        worker, self._worker = self._worker, None
        self._renewed()
        if worker is not None:
            await worker.end()


# In the process


def answer(jobs: Jobs, kind: str, arguments: tuple[Any, ...]) -> bytes:
    """Return the frame that answers a job."""
    try:
        return frame(("done", jobs[kind](*arguments)), last=True)
    except Exception:
        return frame(("failed", traceback.format_exc(limit=-8)), last=True)


def serve(jobs: Jobs, asked: BinaryIO, answers: BinaryIO) -> None:
    """Announce that the worker is ready, and answer jobs until the stream ends."""
    answers.write(frame(("done", None), last=True))
    answers.flush()
    while head := asked.read(HEAD.size):
        _, length = HEAD.unpack(head)
        answers.write(answer(jobs, *pickle.loads(asked.read(length))))
        answers.flush()


def work(jobs: Jobs) -> None:
    """Serve jobs on standard input and output at a lower priority, until the input ends."""
    os.nice(NICE)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a game's print must not mix with the answers
    with suppress(BrokenPipeError):  # the parent process has ended
        serve(jobs, sys.stdin.buffer, answers)
