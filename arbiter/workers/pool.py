"""Worker processes of one kind, and jobs for them: each has a time limit, and callers take turns."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from arbiter.service.ports.meter import NO_METER, Meter
from arbiter.workers.process import frame
from arbiter.workers.worker import Worker

NICE: Final = 5  #: live matches have priority

Job = Callable[[bool], Awaitable[bytes]]
"""Makes a job's frame when its worker is ready for it. The argument: whether the worker has had no job before."""


class NotStarted(Exception):
    """No process could be started for a job."""


class OutOfTime(Exception):
    """A job took too long. Its process was killed."""


class Died(Exception):
    """A process ended while it worked on a job."""


class Stopped(Exception):
    """The pool was closed before a job had an answer."""


class _Ticket:
    __slots__ = ("answer", "caller", "job")

    def __init__(self, caller: str, job: Job) -> None:
        self.caller = caller
        self.job = job
        self.answer: asyncio.Future[list[bytes]] = asyncio.get_running_loop().create_future()

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class WorkerPool:
    """Processes that take the jobs of a module (`arbiter.workers.process`).

    A caller has one running job, and a queue. The workers serve the callers round-robin: after a job, its caller goes
    to the end of the line. So a caller with heavy requests only waits for itself. Another caller waits at most for the
    rest of one running job, and not at all while a worker is free.

    A worker is started when a job waits and none is free, unless `begin` or `warm` has been called. A worker that dies,
    or takes longer than `longest_s` for a job, is replaced with the next job.
    """

    def __init__(self, module: str, size: int, longest_s: float, nice: int = NICE, memory_bytes: int = 0) -> None:
        self._arguments = (module, str(nice), *([str(memory_bytes)] if memory_bytes else []))
        self._size = size
        self._longest_s = longest_s
        self._waiting: OrderedDict[str, deque[_Ticket]] = OrderedDict()
        self._running: set[str] = set()
        self._work = asyncio.Condition()
        self._idle = 0  #: tasks that wait for a job
        self._tasks: list[asyncio.Task[None]] = []
        self._warm = asyncio.Event()  # a worker has been ready, or could not be
        self._closed = False

    def begin(self) -> None:
        """Have a worker start now, unless there is one, so that it is soon ready for the first job."""
        if not self._tasks:
            self._add()

    async def warm(self) -> None:
        """Begin, and wait until the worker is ready. If it can't be started, the first job says why."""
        self.begin()
        await self._warm.wait()

    def _add(self) -> None:
        self._tasks.append(asyncio.create_task(self._serve(), name="worker"))

    async def close(self) -> None:
        """End the workers. Jobs without an answer raise Stopped, and so do later ones."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for tickets in self._waiting.values():
            for ticket in tickets:
                ticket.fail(Stopped())

    @property
    def busy(self) -> int:
        """The number of running jobs."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a worker."""
        return sum(map(len, list(self._waiting.values())))

    def waiting_of(self, caller: str) -> int:
        """Return the number of a caller's jobs that wait for a worker."""
        return len(self._waiting.get(caller, ()))

    async def ask(self, caller: str, job: Job) -> list[bytes]:
        """Run a job; return the bodies of the frames that answer it.

        Raises NotStarted, OutOfTime, Died, Stopped, and what `job` raises.
        """
        if self._closed:
            raise Stopped
        ticket = _Ticket(caller, job)
        self._waiting.setdefault(caller, deque()).append(ticket)
        ready = sum(caller not in self._running for caller in self._waiting)
        if ready > self._idle and len(self._tasks) < self._size:
            self._add()
        async with self._work:
            self._work.notify()
        try:
            return await ticket.answer
        except asyncio.CancelledError:
            self._forget(ticket)
            raise

    def _forget(self, ticket: _Ticket) -> None:
        """Remove a job whose caller has left, so that it no longer counts against that caller's limit."""
        tickets = self._waiting.get(ticket.caller)
        if tickets is not None and ticket in tickets:
            tickets.remove(ticket)
            if not tickets:
                del self._waiting[ticket.caller]

    async def _serve(self) -> None:
        worker: Worker | None = None
        try:
            with suppress(OSError, EOFError, TimeoutError):  # a job is told why
                worker = await self._hire()
                await worker.ready()  # while it starts, others take the jobs
            self._warm.set()
            is_new = True
            while True:
                ticket = await self._next()
                try:
                    if worker is not None and worker.gone:  # the worker died while it was idle
                        await worker.end()
                        worker = None
                    if worker is None:
                        worker, is_new = await self._hired(), True
                    is_new = not await self._run(worker, ticket, is_new) and is_new
                except Exception as error:  # whatever the error is, the next job needs a worker
                    ticket.fail(error)
                    if worker is not None:
                        gone, worker = worker, None
                        await gone.end()
                finally:
                    ticket.fail(Stopped())  # every job gets an answer, whatever happens
                    await self._done(ticket.caller)
        finally:
            if worker is not None:
                await worker.end()

    async def _done(self, caller: str) -> None:
        self._running.discard(caller)
        if caller in self._waiting:
            self._waiting.move_to_end(caller)  # behind the callers that arrived while the job ran
        async with self._work:
            self._work.notify_all()

    async def _next(self) -> _Ticket:
        async with self._work:
            while True:
                for caller, tickets in self._waiting.items():
                    if caller not in self._running:
                        ticket = tickets.popleft()
                        if not tickets:
                            del self._waiting[caller]
                        if ticket.answer.cancelled():  # the caller has left
                            break
                        self._running.add(caller)
                        return ticket
                else:
                    self._idle += 1
                    try:
                        await self._work.wait()
                    finally:
                        self._idle -= 1

    async def _run(self, worker: Worker, ticket: _Ticket, is_new: bool) -> bool:
        """Run a job; return whether the worker has got it. Raises NotStarted, OutOfTime, or Died."""
        await _ready(worker)
        try:
            job = await ticket.job(is_new)
        except Exception as error:  # the worker knows nothing of it
            ticket.fail(error)
            return False
        try:
            async with asyncio.timeout(self._longest_s):
                frames = await worker.exchange(job)
        except TimeoutError as error:
            raise OutOfTime(f"it took longer than {self._longest_s:g} s") from error
        except (EOFError, OSError) as error:
            raise Died(repr(error)) from error
        if not ticket.answer.done():
            ticket.answer.set_result(frames)
        return True

    async def _hired(self) -> Worker:
        try:
            return await self._hire()
        except OSError as error:
            raise NotStarted(_why(error)) from error

    async def _hire(self) -> Worker:
        return await Worker.start(*self._arguments)


async def _ready(worker: Worker) -> None:
    try:
        await worker.ready()
    except (OSError, EOFError, TimeoutError) as error:
        raise NotStarted(_why(error)) from error


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or "it ended at once"


class JobProcess:
    """A pool of one process, whose jobs are done one after the other and answered by one frame.

    doing: the worker's purpose for messages, as in "the process that pairs". failed: the exception to raise, with the
    details, if a job gets no answer. renewed: called when the state that the worker keeps is lost, or may be wrong.
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
        self._pool = WorkerPool(module, 1, longest_s)
        self._doing = doing
        self._failed = failed
        self._renewed = renewed
        self._meter = meter

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return self._pool.busy > 0

    def begin(self) -> None:
        """Have the process start now, so that it is soon ready for the first job."""
        self._pool.begin()

    async def close(self) -> None:
        """End the process; pending jobs fail."""
        await self._pool.close()

    async def ask(self, kind: str, arguments: tuple[Any, ...]) -> Any:
        """Run a job and return its result. Raises `failed`."""

        async def given() -> tuple[Any, ...]:
            return arguments

        return await self.ask_then(kind, given)

    async def ask_then(self, kind: str, arguments: Callable[[], Awaitable[tuple[Any, ...]]]) -> Any:
        """Run a job; return its result. `arguments` is called at the job's turn. Raises `failed`, or what that raises.

        If the caller is cancelled while the process works, the process goes on, and the answer is dropped.
        """
        began = 0.0

        async def job(is_new: bool) -> bytes:
            nonlocal began
            if is_new:
                self._renewed()
            made = frame((kind, await arguments()), last=True)
            began = time.perf_counter()
            return made

        try:
            [body] = await self._pool.ask("", job)
        except NotStarted as error:
            raise self._failed(f"no process that {self._doing} could be started ({error})") from None
        except (OutOfTime, Died) as error:
            raise self._failed(f"the process that {self._doing} gave no answer ({error})") from None
        except Stopped:
            raise self._failed("the server is stopping") from None
        self._meter.job_done(kind, time.perf_counter() - began)
        said, value = pickle.loads(body)
        if said != "done":
            self._renewed()  # the worker's kept state may be inconsistent now
            raise self._failed(f"the process that {self._doing} failed:\n{value}")
        return value
