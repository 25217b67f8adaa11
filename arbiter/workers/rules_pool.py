"""Rules work in worker processes, with deadlines, memory limits and fair scheduling between callers."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any, Final

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, limit_reached
from arbiter.service.ports.journal import RETRY_MS
from arbiter.service.ports.rules import Listing, PlayedLine
from arbiter.workers.pool import NICE, Died, NotStarted, OutOfTime, Stopped, WorkerPool
from arbiter.workers.process import frame, spent

PART: Final = 50  #: legal moves in a part of an answer: with their steps they take a third of a millisecond or so
WORKER: Final = "arbiter.workers.rules_worker"


class RulesPool(WorkerPool):
    """Worker processes behind the port `arbiter.service.ports.Rules`. `Limits` bounds the requests that wait.

    Once it is closed, running, queued and later requests are refused as DRAINING.
    """

    def __init__(self, limits: Limits, workers: int, nice: int = NICE) -> None:
        super().__init__(WORKER, workers, limits.rules_ms / 1_000, nice, limits.rules_memory_bytes)
        self._limits = limits

    async def legal_moves(self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool) -> Listing:
        """Return the legal moves at the end of a line; see the port."""
        limits = self._limits
        frames = await self._ask(
            caller,
            "legal_moves",
            (
                variant,
                position,
                tuple(moves),
                steps,
                limits.line_moves,
                limits.rules_answer_moves,
                min(PART, limits.chunk_moves),
            ),
        )
        text, total = _last(frames)
        return Listing(text, total, _Frames(frames))

    async def play_moves(
        self, caller: str, variant: str, position: str, moves: Sequence[str], from_ply: int, board: bool
    ) -> PlayedLine:
        """Return the positions of a line of play; see the port."""
        frames = await self._ask(
            caller, "play_moves", (variant, position, tuple(moves), from_ply, board, self._limits.line_moves)
        )
        outcome = _last(frames)
        return PlayedLine(_Frames(frames), outcome)

    async def _ask(self, caller: str, kind: str, arguments: tuple[Any, ...]) -> list[bytes]:
        own = self.waiting_of(caller)
        if own >= self._limits.rules_waiting:
            raise limit_reached(
                f"{own} of your requests for rules wait already: read their answers first",
                self._limits.rules_waiting,
                self._limits.rules_ms,
            )
        if self.waiting >= self._limits.rules_waiting_in_all:
            raise limit_reached(
                f"{self.waiting} requests for rules wait already, the maximum: send it again in a while",
                self._limits.rules_waiting_in_all,
                self._limits.rules_ms,
            )
        asked = frame((kind, arguments), last=True)

        async def job(_is_new: bool) -> bytes:
            return asked

        try:
            return await self.ask(caller, job)
        except OutOfTime:
            raise spent(f"longer than {self._limits.rules_ms} ms") from None
        except Died:
            raise spent("more than a worker process has") from None
        except NotStarted as why:
            raise Refusal(
                Reason.RATE_LIMITED,
                f"the server can't start a process for rules now ({why}): send the same request again in a while",
                limit="processes",
                retry_after_ms=RETRY_MS,
            ) from None
        except Stopped:
            message = "the server is stopping: ask again when it is back"
            raise Refusal(Reason.DRAINING, message, retry_after_ms=RETRY_MS) from None


class _Frames:
    """The parts of an answer. Each is decoded when it is read, so that a long answer never blocks the event loop."""

    def __init__(self, frames: list[bytes]) -> None:
        self._frames = frames

    def __iter__(self) -> Iterator[Any]:
        return (pickle.loads(frame) for frame in self._frames)


def _last(frames: list[bytes]) -> Any:
    kind, value = pickle.loads(frames.pop())
    if kind == "refused":
        raise value
    if kind == "failed":  # an error in the rules' code, not in the request: the interceptor answers INTERNAL
        raise RuntimeError(f"a rules worker failed:\n{value}")
    return value
