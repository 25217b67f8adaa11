"""Rules work in processes of its own: deadlines, memory limits, and turns taken fairly between callers."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from typing import IO, Any, Self, cast

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.runtime.rules_worker import HEAD, frame, spent
from arbiter.service.ports import ListedMove, Listing, PlayedLine


class _Worker:
    """A worker process and the pipes to it."""

    __slots__ = ("_answers", "_jobs", "_process", "_transport")

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        jobs: asyncio.StreamWriter,
        answers: asyncio.StreamReader,
        transport: asyncio.BaseTransport,
    ) -> None:
        self._process = process
        self._jobs = jobs
        self._answers = answers
        self._transport = transport

    @classmethod
    async def start(cls, memory_bytes: int, nice: int) -> Self:
        # Not by the event loop: uvloop forks, and gRPC's threads may hold locks then. Popen goes straight to exec.
        process = subprocess.Popen(  # noqa: ASYNC220 - it returns once the program runs, after a millisecond or so
            [sys.executable, "-m", "arbiter.runtime.rules_worker", str(memory_bytes), str(nice)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for the server to deal with
        )
        loop = asyncio.get_running_loop()
        answers = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(answers), cast("IO[bytes]", process.stdout)
        )
        pipe, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, cast("IO[bytes]", process.stdin)
        )
        return cls(process, asyncio.StreamWriter(pipe, protocol, None, loop), answers, transport)

    async def exchange(self, job: bytes) -> list[bytes]:
        """Send a job; return the bodies of the frames that answer it. Raises OSError, EOFError if the worker died."""
        self._jobs.write(job)
        await self._jobs.drain()
        frames: list[bytes] = []
        last = False
        while not last:
            last, length = HEAD.unpack(await self._answers.readexactly(HEAD.size))
            frames.append(await self._answers.readexactly(length))
        return frames

    async def end(self) -> None:
        """Kill the process, and wait for its end."""
        self._process.kill()
        self._jobs.close()
        self._transport.close()
        await asyncio.to_thread(self._process.wait)


class _Ticket:
    __slots__ = ("answer", "caller", "job")

    def __init__(self, caller: str, job: bytes) -> None:
        self.caller = caller
        self.job = job
        self.answer: asyncio.Future[list[bytes]] = asyncio.get_running_loop().create_future()


class RulesPool:
    """Worker processes behind the port `arbiter.service.ports.Rules`.

    A caller has one job running and a bounded number waiting; the workers take the callers in turn. So a caller whose
    requests are heavy waits for itself and for nobody else, as long as there is a worker more than there are such
    callers, and for at most one deadline otherwise.
    """

    def __init__(self, limits: Limits, workers: int, nice: int = 5) -> None:
        self._limits = limits
        self._count = workers
        self._nice = nice
        self._waiting: OrderedDict[str, deque[_Ticket]] = OrderedDict()
        self._running: set[str] = set()
        self._work = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start the workers: at once, so that the first question finds them ready."""
        for _ in range(self._count):
            self._tasks.append(asyncio.create_task(self._serve(await self._hire()), name="rules-worker"))

    async def close(self) -> None:
        """Stop the workers; jobs under way are cancelled."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for tickets in self._waiting.values():
            for ticket in tickets:
                ticket.answer.cancel()

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
        tickets = self._waiting.get(caller)
        if tickets is not None and len(tickets) >= self._limits.rules_waiting:
            raise Refusal(
                Reason.RATE_LIMITED,
                f"{len(tickets)} of your requests for rules wait already: read their answers first",
                limit=self._limits.rules_waiting,
                retry_after_ms=self._limits.rules_ms,
            )
        ticket = _Ticket(caller, frame((kind, arguments), last=True))
        self._waiting.setdefault(caller, deque()).append(ticket)
        async with self._work:
            self._work.notify()
        return await ticket.answer

    async def _serve(self, worker: _Worker | None) -> None:
        try:
            while True:
                ticket = await self._next()
                try:
                    worker = worker or await self._hire()
                    if not await self._run(worker, ticket):
                        gone, worker = worker, None
                        await gone.end()
                except OSError as error:  # no process to be had
                    _fail(ticket, spent(f"a process that can't be started now ({error.strerror})"))
                finally:
                    self._running.discard(ticket.caller)
                    async with self._work:
                        self._work.notify_all()
        finally:
            if worker is not None:
                await worker.end()

    async def _next(self) -> _Ticket:
        async with self._work:
            while True:
                for caller, tickets in self._waiting.items():
                    if caller not in self._running:
                        ticket = tickets.popleft()
                        if tickets:
                            self._waiting.move_to_end(caller)
                        else:
                            del self._waiting[caller]
                        if ticket.answer.cancelled():  # the caller has left
                            break
                        self._running.add(caller)
                        return ticket
                else:
                    await self._work.wait()

    async def _run(self, worker: _Worker, ticket: _Ticket) -> bool:
        """Let a worker do a job; return whether it can do another."""
        try:
            async with asyncio.timeout(self._limits.rules_ms / 1000):
                frames = await worker.exchange(ticket.job)
        except TimeoutError:
            _fail(ticket, spent(f"longer than {self._limits.rules_ms} ms"))
        except (EOFError, OSError):
            _fail(ticket, spent("more than a worker process has"))
        except asyncio.CancelledError:
            ticket.answer.cancel()
            raise
        else:
            if not ticket.answer.done():
                ticket.answer.set_result(frames)
            return True
        return False

    async def _hire(self) -> _Worker:
        return await _Worker.start(self._limits.rules_memory_bytes, self._nice)


class _Chunks:
    """The chunks of a listing, decoded one by one as they are read: a long list never holds up the event loop."""

    def __init__(self, frames: list[bytes]) -> None:
        self._frames = frames

    def __iter__(self) -> Iterator[Sequence[ListedMove]]:
        return (pickle.loads(frame) for frame in self._frames)


def _last(frames: list[bytes]) -> Any:
    kind, value = pickle.loads(frames.pop())
    if kind == "refused":
        raise value
    return value


def _fail(ticket: _Ticket, refusal: Refusal) -> None:
    if not ticket.answer.done():
        ticket.answer.set_exception(refusal)
