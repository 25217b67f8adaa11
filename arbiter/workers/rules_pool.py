"""Rules work in worker processes, with deadlines, memory limits and fair scheduling between callers."""

from __future__ import annotations

import asyncio
import pickle
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, limit_reached
from arbiter.service.ports.journal import RETRY_MS
from arbiter.service.ports.rules import ListedMove, Listing, PlayedLine
from arbiter.workers.rules_worker import frame, spent
from arbiter.workers.worker import Worker

WORKER: Final = "arbiter.workers.rules_worker"


class _Ticket:
    __slots__ = ("answer", "caller", "job")

    def __init__(self, caller: str, job: bytes) -> None:
        self.caller = caller
        self.job = job
        self.answer: asyncio.Future[list[bytes]] = asyncio.get_running_loop().create_future()


class RulesPool:
    """Worker processes behind the port `arbiter.service.ports.Rules`.

    A caller has one running job and a bounded queue. The workers serve the callers round-robin: after a job, its caller
    goes to the end of the line. So a caller with heavy requests only waits for itself. Another caller waits at most for
    the rest of one running job, and not at all while a worker is free.

    A worker is started when a job waits that no other one is free for, unless `start` or `warm` has been called.
    """

    def __init__(self, limits: Limits, workers: int, nice: int = 5) -> None:
        self._limits = limits
        self._count = workers
        self._nice = nice
        self._waiting: OrderedDict[str, deque[_Ticket]] = OrderedDict()
        self._running: set[str] = set()
        self._work = asyncio.Condition()
        self._idle = 0  #: tasks that wait for a job
        self._tasks: list[asyncio.Task[None]] = []
        self._warm = asyncio.Event()  # a worker has been ready, or could not be
        self._closed = False

    async def start(self) -> None:
        """Start all workers now, so that they are soon ready for the first job."""
        for _ in range(self._count):
            self._add(await self._hire())

    async def warm(self) -> None:
        """Start a worker unless there is one, and wait until it is ready. If there is none, the first job says why."""
        if not self._tasks:
            self._add()
        await self._warm.wait()

    def _add(self, worker: Worker | None = None) -> None:
        """Add a task that serves with a worker, or starts one."""
        self._tasks.append(asyncio.create_task(self._serve(worker), name="rules-worker"))

    async def close(self) -> None:
        """Stop the workers. Running and queued jobs are cancelled; later ones are refused as DRAINING."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for tickets in self._waiting.values():
            for ticket in tickets:
                ticket.answer.cancel()

    @property
    def busy(self) -> int:
        """The number of running jobs."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a worker."""
        return sum(map(len, list(self._waiting.values())))

    async def legal_moves(self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool) -> Listing:
        """Return the legal moves at the end of a line; see the port."""
        limits = self._limits
        frames = await self._ask(
            caller,
            "legal_moves",
            (variant, position, tuple(moves), steps, limits.line_moves, limits.rules_answer_moves, limits.chunk_moves),
        )
        text, total = _last(frames)
        return Listing(text, total, _Chunks(frames))

    async def play_moves(
        self, caller: str, variant: str, position: str, moves: Sequence[str], from_ply: int, board: bool
    ) -> PlayedLine:
        """Return the positions of a line of play; see the port."""
        frames = await self._ask(
            caller, "play_moves", (variant, position, tuple(moves), from_ply, board, self._limits.line_moves)
        )
        outcome = _last(frames)
        return PlayedLine(tuple(pickle.loads(frame) for frame in frames), outcome)

    async def _ask(self, caller: str, kind: str, arguments: tuple[Any, ...]) -> list[bytes]:
        if self._closed:
            raise Refusal(Reason.DRAINING, "the server is stopping: ask again when it is back", retry_after_ms=RETRY_MS)
        tickets = self._waiting.get(caller)
        if tickets is not None and len(tickets) >= self._limits.rules_waiting:
            raise limit_reached(
                f"{len(tickets)} of your requests for rules wait already: read their answers first",
                self._limits.rules_waiting,
                self._limits.rules_ms,
            )
        if self.waiting >= self._limits.rules_waiting_in_all:
            raise limit_reached(
                f"{self.waiting} requests for rules wait already, the maximum: send it again in a while",
                self._limits.rules_waiting_in_all,
                self._limits.rules_ms,
            )
        ticket = _Ticket(caller, frame((kind, arguments), last=True))
        self._waiting.setdefault(caller, deque()).append(ticket)
        ready = sum(caller not in self._running for caller in self._waiting)
        if ready > self._idle and len(self._tasks) < self._count:
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

    async def _serve(self, worker: Worker | None) -> None:
        try:
            with suppress(OSError, EOFError, TimeoutError):  # a job is told why
                worker = worker or await self._hire()
                await worker.ready()  # while it starts, others take the jobs
            self._warm.set()
            while True:
                ticket = await self._next()
                try:
                    if worker is not None and worker.gone:  # the worker died while it was idle
                        await worker.end()
                        worker = None
                    worker = worker or await self._hire()
                    await worker.ready()
                    if not await self._run(worker, ticket):
                        gone, worker = worker, None
                        await gone.end()
                except Exception as error:  # whatever the error is, the next job needs a worker
                    _fail(ticket, _no_process(error) if isinstance(error, EOFError | OSError) else error)
                    if worker is not None:
                        gone, worker = worker, None
                        await gone.end()
                finally:
                    ticket.answer.cancel()  # every job gets an answer, whatever happens
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

    async def _run(self, worker: Worker, ticket: _Ticket) -> bool:
        """Run a job on a worker. Return whether the worker can take another one."""
        try:
            async with asyncio.timeout(self._limits.rules_ms / 1000):
                frames = await worker.exchange(ticket.job)
        except TimeoutError:
            _fail(ticket, spent(f"longer than {self._limits.rules_ms} ms"))
        except (EOFError, OSError):
            _fail(ticket, spent("more than a worker process has"))
        else:
            if not ticket.answer.done():
                ticket.answer.set_result(frames)
            return True
        return False

    async def _hire(self) -> Worker:
        return await Worker.start(WORKER, str(self._limits.rules_memory_bytes), str(self._nice))


class _Chunks:
    """The chunks of a listing. Each is decoded when it is read, so that a long list never blocks the event loop."""

    def __init__(self, frames: list[bytes]) -> None:
        self._frames = frames

    def __iter__(self) -> Iterator[Sequence[ListedMove]]:
        return (pickle.loads(frame) for frame in self._frames)


def _last(frames: list[bytes]) -> Any:
    kind, value = pickle.loads(frames.pop())
    if kind == "refused":
        raise value
    if kind == "failed":  # an error in the rules' code, not in the request: the interceptor answers INTERNAL
        raise RuntimeError(f"a rules worker failed:\n{value}")
    return value


def _no_process(error: Exception) -> Refusal:
    why = getattr(error, "strerror", None) or "it ended at once"
    return Refusal(
        Reason.RATE_LIMITED,
        f"the server can't start a process for rules now ({why}): send the same request again in a while",
        limit="processes",
        retry_after_ms=RETRY_MS,
    )


def _fail(ticket: _Ticket, error: Exception) -> None:
    if not ticket.answer.done():
        ticket.answer.set_exception(error)
