"""Rules work in processes of its own: deadlines, memory limits, and turns taken fairly between callers."""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.runtime.rules_worker import HEAD, frame, spent
from arbiter.service.ports import ListedMove, Listing, PlayedLine


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
        self._processes: set[asyncio.subprocess.Process] = set()

    async def start(self) -> None:
        """Start the workers."""
        self._tasks = [asyncio.create_task(self._serve(), name="rules-worker") for _ in range(self._count)]

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

    async def _serve(self) -> None:
        process: asyncio.subprocess.Process | None = None
        try:
            while True:
                ticket = await self._next()
                try:
                    if process is None or process.returncode is not None:
                        process = await self._spawn()
                    process = await self._run(process, ticket)
                finally:
                    self._running.discard(ticket.caller)
                    async with self._work:
                        self._work.notify_all()
        finally:
            if process is not None:
                await self._end(process)

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

    async def _run(self, process: asyncio.subprocess.Process, ticket: _Ticket) -> asyncio.subprocess.Process | None:
        """Let a process do a job; return the process, or None if that was its end."""
        try:
            async with asyncio.timeout(self._limits.rules_ms / 1000):
                frames = await _exchange(process, ticket.job)
        except TimeoutError:
            _fail(ticket, spent(f"longer than {self._limits.rules_ms} ms"))
        except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError):
            _fail(ticket, spent("more than a worker process has"))
        except asyncio.CancelledError:
            ticket.answer.cancel()
            raise
        else:
            if not ticket.answer.done():
                ticket.answer.set_result(frames)
            return process
        await self._end(process)
        return None

    async def _spawn(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "arbiter.runtime.rules_worker",
            str(self._limits.rules_memory_bytes),
            str(self._nice),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for the server to deal with
        )
        self._processes.add(process)
        return process

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        self._processes.discard(process)


class _Chunks:
    """The chunks of a listing, decoded one by one as they are read: a long list never holds up the event loop."""

    def __init__(self, frames: list[bytes]) -> None:
        self._frames = frames

    def __iter__(self) -> Iterator[Sequence[ListedMove]]:
        return (pickle.loads(frame) for frame in self._frames)


async def _exchange(process: asyncio.subprocess.Process, job: bytes) -> list[bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(job)
    await process.stdin.drain()
    frames: list[bytes] = []
    last = False
    while not last:
        last, length = HEAD.unpack(await process.stdout.readexactly(HEAD.size))
        frames.append(await process.stdout.readexactly(length))
    return frames


def _last(frames: list[bytes]) -> Any:
    kind, value = pickle.loads(frames.pop())
    if kind == "refused":
        raise value
    return value


def _fail(ticket: _Ticket, refusal: Refusal) -> None:
    if not ticket.answer.done():
        ticket.answer.set_exception(refusal)
