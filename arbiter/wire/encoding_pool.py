"""Worker processes that compute rules, and encode their answers for the API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from arbiter.config import Limits
from arbiter.workers.pool import NICE
from arbiter.workers.rules_pool import RulesPool, list_limits

ENCODING_WORKER: Final = "arbiter.wire.encoding_worker"


class EncodingPool(RulesPool):
    """Worker processes behind the port `EncodingRules`."""

    def __init__(self, limits: Limits, workers: int, nice: int = NICE) -> None:
        super().__init__(limits, workers, nice, ENCODING_WORKER)

    async def encoded_moves(
        self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool, as_json: bool
    ) -> Iterable[bytes]:
        """Return messages with the legal moves at the end of a line; see the port."""
        limits = list_limits(self._limits)
        messages, _ = await self.answer_to(
            caller, "encoded_moves", as_json, variant, position, tuple(moves), steps, *limits
        )
        return messages

    async def encoded_line(
        self, caller: str, variant: str, position: str, moves: Sequence[str], from_ply: int, board: bool, as_json: bool
    ) -> Iterable[bytes]:
        """Return the message with the positions of a line in parts; see the port."""
        asked = variant, position, tuple(moves), from_ply, board, self._limits.line_moves
        parts, _ = await self.answer_to(caller, "encoded_line", as_json, *asked)
        return parts
