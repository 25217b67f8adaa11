"""A player that misbehaves once, and plays normally before and after that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import grpc
from arbiter_protos.v1 import play_pb2, server_pb2, server_pb2_grpc

from arbiter.testing.player import BotClient


class Misbehaving(BotClient, ABC):
    """A player that commits its fault once, at its first turn. Before and after that it plays normally."""

    def __init__(self, channel: grpc.aio.Channel, metadata: Sequence[tuple[str, str]]) -> None:
        super().__init__(channel, metadata)
        self._channel = channel
        self.misbehaved = False

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Commit the fault once, else play."""
        if self.misbehaved:
            await super().choose(turn)
        else:
            self.misbehaved = True
            await self.misbehave(turn)

    @abstractmethod
    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Commit the fault. Nothing more is read until this returns."""

    async def limit(self, name: str) -> int:
        """Return a limit that the server publishes."""
        server: Any = server_pb2_grpc.ServerServiceStub(self._channel)
        info = await server.GetServerInfo(server_pb2.GetServerInfoRequest())
        limit: int = info.limits[name]
        return limit

    async def come_back(self) -> None:
        """Reconnect once the server has ended the stream; the server then sends the turn again."""
        await self.until(lambda: bool(self.ends))
        await self.connect()
