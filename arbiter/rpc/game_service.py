"""GameService."""

from __future__ import annotations

from arbiter_protos.v1 import game_pb2 as pb
from arbiter_protos.v1 import game_pb2_grpc

from arbiter.config import Limits
from arbiter.rpc.servicing import Context, MessageWriter, call_of
from arbiter.rpc.unread import Unread
from arbiter.service.gate.games import GameGate
from arbiter.service.gate.pages import PageRequest
from arbiter.wire.games import at_of, game_message, legal_moves_messages, line_message, line_of, summary_message


class GameServicer(game_pb2_grpc.GameServiceServicer):
    """The games and their rules."""

    def __init__(self, games: GameGate, unread: Unread, limits: Limits) -> None:
        self._games = games
        self._unread = unread
        self._limits = limits

    async def ListGames(  # noqa: N802
        self, request: pb.ListGamesRequest, context: Context
    ) -> pb.ListGamesResponse:
        """List the games."""
        page = self._games.list(call_of(context), PageRequest(request.page_size, request.page_token))
        return pb.ListGamesResponse(
            games=[summary_message(facts) for facts in page.items], next_page_token=page.next_token
        )

    async def GetGame(self, request: pb.GetGameRequest, context: Context) -> pb.GetGameResponse:  # noqa: N802
        """Return everything about one variant."""
        return game_message(self._games.get(call_of(context), request.game).variant)

    async def LegalMoves(  # type: ignore[override]  # noqa: N802 - writes on its context
        self, request: pb.LegalMovesRequest, context: Context
    ) -> None:
        """Stream legal moves in chunks."""
        writer = MessageWriter(context, self._unread, self._limits)
        async with self._games.legal_moves(call_of(context), at_of(request), request.with_steps) as listing:
            for message in legal_moves_messages(listing):
                await writer.write(message)

    async def PlayMoves(self, request: pb.PlayMovesRequest, context: Context) -> pb.PlayMovesResponse:  # noqa: N802
        """Play a line."""
        line = line_of(request.line)
        return line_message(await self._games.play_moves(call_of(context), line, request.from_ply, request.with_board))
