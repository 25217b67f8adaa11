"""Rules that are computed at once, in the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from arbiter_protos.v1 import game_pb2 as pb

from arbiter.games.contract import AnyGame
from arbiter.games.line import replay
from arbiter.service.ports.rules import LinePosition, ListedMove, Listing, PlayedLine
from arbiter.wire.json_messages import json_of
from arbiter.wire.rules_messages import line_parts, list_messages


class PlainRules:
    """Computes rules (`arbiter.service.ports.rules.EncodingRules`) synchronously and without limits.

    `gate`, if set, is awaited before each answer, so that a test can make the computation of rules slow.
    """

    def __init__(self) -> None:
        self.gate: asyncio.Event | None = None
        self.is_warm = False

    async def warm(self) -> None:
        """Note that they were to be ready: there is no process to start."""
        self.is_warm = True

    async def legal_moves(self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool) -> Listing:
        """Return the legal moves at the end of a line of play."""
        await self._wait()
        line = replay(variant, position or None, moves, len(moves))
        game, end = line.game, line.final
        texts = sorted(game.moves(end))
        listed = [ListedMove(text, _steps(game, end, text) if steps else ()) for text in texts]
        return Listing(game.text(end), len(texts), [listed] if listed else [])

    async def encoded_moves(
        self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool, as_json: bool
    ) -> Iterable[bytes]:
        """Return messages with the legal moves at the end of a line of play."""
        messages = list_messages(await self.legal_moves(caller, variant, position, moves, steps))
        return (json_of(pb.LegalMovesResponse.FromString(each)) for each in messages) if as_json else messages

    async def encoded_line(
        self, caller: str, variant: str, position: str, moves: Sequence[str], from_ply: int, board: bool, as_json: bool
    ) -> Iterable[bytes]:
        """Return a message with the positions of a line of play from a ply on, without their boards."""
        await self._wait()
        line = replay(variant, position or None, moves, len(moves))
        played = [
            LinePosition(ply, line.game.text(there), there.turn, line.game.claim(there) or "")
            for ply, there in enumerate(line.positions)
        ]
        outcome = line.final.outcome
        parts = line_parts(PlayedLine(tuple(played[from_ply:]), tuple(outcome) if outcome else None))
        return [json_of(pb.PlayMovesResponse.FromString(b"".join(parts)))] if as_json else parts

    async def _wait(self) -> None:
        if self.gate is not None:
            await self.gate.wait()


def _steps(game: AnyGame, position: Any, move: str) -> tuple[tuple[str, str, str, str, int], ...]:
    return tuple((s.action, s.source, s.target, s.piece, s.facing) for s in game.steps(position, move))
