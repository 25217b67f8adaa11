"""GameService."""

from __future__ import annotations

from arbiter_protos.v1 import game_pb2 as pb
from arbiter_protos.v1 import game_pb2_grpc

from arbiter.config import Limits
from arbiter.rpc.servicing import Context, MessageWriter, as_json, call_of, encoded
from arbiter.rpc.unread import Unread
from arbiter.service.gate.game_calls import GameGate
from arbiter.service.gate.paging import PageRequest
from arbiter.wire.game_messages import at_of, game_message, line_of, summary_message


class GameServicer(game_pb2_grpc.GameServiceServicer):
    """The games and their rules."""

    def __init__(self, games: GameGate, unread: Unread, limits: Limits) -> None:
        self._games = games
        self._unread = unread
        self._limits = limits

    async def ListGames(self, request: pb.ListGamesRequest, context: Context) -> pb.ListGamesResponse:
        page = self._games.list(call_of(context), PageRequest(request.page_size, request.page_token))
        return pb.ListGamesResponse(
            games=[summary_message(facts) for facts in page.items], next_page_token=page.next_token
        )

    async def GetGame(self, request: pb.GetGameRequest, context: Context) -> pb.GetGameResponse:
        return game_message(self._games.get(call_of(context), request.game).variant)

    async def LegalMoves(  # type: ignore[override]  # writes on its context
        self, request: pb.LegalMovesRequest, context: Context
    ) -> None:
        writer = MessageWriter(context, self._unread, self._limits)
        asked = call_of(context), at_of(request), request.with_steps
        async with self._games.encoded_moves(*asked, as_json(context)) as messages:
            for message in messages:
                await writer.write(encoded(message, context))

    async def PlayMoves(  # type: ignore[override]  # the answer is encoded already
        self, request: pb.PlayMovesRequest, context: Context
    ) -> bytes:
        line = line_of(request.line)
        parts = await self._games.encoded_line(
            call_of(context), line, request.from_ply, request.with_board, as_json(context)
        )
        return encoded(b"".join(parts), context)
