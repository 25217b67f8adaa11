"""PlayService."""

from __future__ import annotations

from typing import Any

from arbiter_protos.v1 import play_pb2_grpc

from arbiter.rpc.play_stream import PlayStreams
from arbiter.rpc.servicing import Context


class PlayServicer(play_pb2_grpc.PlayServiceServicer):
    """The Play service: a bot plays all its matches over one stream."""

    def __init__(self, streams: PlayStreams) -> None:
        self._streams = streams

    async def Play(  # type: ignore[override]  # reads and writes on its context
        self, request_iterator: Any, context: Context
    ) -> None:
        await self._streams.serve(context)
