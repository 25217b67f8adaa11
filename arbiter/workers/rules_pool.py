"""Rules work in worker processes, with deadlines, memory limits and fair scheduling between callers."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any, Final

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, limit_reached
from arbiter.service.ports.journal import RETRY_MS
from arbiter.service.ports.rules import Listing
from arbiter.workers.pool import NICE, Died, NotStarted, OutOfTime, Stopped, WorkerPool
from arbiter.workers.process import frame, spent

WORKER: Final = "arbiter.workers.rules_worker"


class RulesPool(WorkerPool):
    """Worker processes behind the port `RulesWorker`. `Limits` bounds the requests that wait.

    Once it is closed, running, queued and later requests are refused as DRAINING. module: of the jobs, which has those
    of `arbiter.workers.rules_worker` too.
    """

    def __init__(self, limits: Limits, workers: int, nice: int = NICE, module: str = WORKER) -> None:
        super().__init__(module, workers, limits.rules_ms / 1_000, nice, limits.rules_memory_bytes)
        self._limits = limits

    async def legal_moves(self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool) -> Listing:
        chunks, (text, total) = await self.answer_to(
            caller, "legal_moves", variant, position, tuple(moves), steps, *list_limits(self._limits)
        )
        return Listing(text, total, chunks)

    async def answer_to(self, caller: str, kind: str, *arguments: Any) -> tuple[Iterable[Any], Any]:
        """Return the chunks of a job's answer, each of which is decoded when it is read, and its last part.

        Raises Refusal, and RuntimeError for an error of the code of the rules.
        """
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
            frames = await self.ask(caller, job)
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
        said, value = pickle.loads(frames.pop())
        if said == "refused":
            raise value
        if said == "failed":  # an error in the rules' code, not in the request: the interceptor answers INTERNAL
            raise RuntimeError(f"a rules worker failed:\n{value}")
        return map(pickle.loads, frames), value


def list_limits(limits: Limits) -> tuple[int, int, int]:
    """Return what bounds a list of legal moves (`arbiter.workers.rules_worker.listing`)."""
    return limits.line_moves, limits.rules_answer_moves, limits.chunk_moves
