"""The calls of ServerService and GameService."""

from __future__ import annotations

from arbiter_protos.v1 import game_pb2, server_pb2

from arbiter_client.calls.base import Calls, collect
from arbiter_client.values.game import Game, GameSummary, LegalMove, Line, MatchPly, PlayedLine
from arbiter_client.values.reading import read
from arbiter_client.values.server import ServerInfo


class GameCalls(Calls):
    """The server, its games, and their rules. These calls need no token."""

    async def server_info(self) -> ServerInfo:
        """Return the server's versions, capabilities, limits and public keys."""
        request = server_pb2.GetServerInfoRequest()
        answer = await self.connection.ask(self.connection.server.GetServerInfo, request)
        return read(ServerInfo, answer)

    async def list_games(self) -> tuple[GameSummary, ...]:
        """Return the games, in the server's order."""

        async def ask(size: int, token: str) -> game_pb2.ListGamesResponse:
            request = game_pb2.ListGamesRequest(page_size=size, page_token=token)
            return await self.connection.ask(self.connection.games.ListGames, request)

        return await collect(10_000, ask, lambda page: [read(GameSummary, game) for game in page.games])

    async def get_game(self, game: str) -> Game:
        """Return everything about one variant, such as `pods(size=5)`. Refusals: GAME_UNKNOWN, PARAMETER_INVALID."""
        request = game_pb2.GetGameRequest(game=game)
        answer = await self.connection.ask(self.connection.games.GetGame, request)
        return read(Game, answer)

    async def legal_moves(self, at: Line | MatchPly, with_steps: bool = False) -> tuple[LegalMove, ...]:
        """Return the legal moves in a match at a ply, or at the end of a line of play, in bytewise order.

        Refusals: MATCH_NOT_FOUND, PLY_MISMATCH, GAME_UNKNOWN, PARAMETER_INVALID, POSITION_MALFORMED, MOVE_MALFORMED,
        MOVE_ILLEGAL (fact ply: which move of the line), BUDGET_SPENT.
        """
        request = game_pb2.LegalMovesRequest(with_steps=with_steps)
        if isinstance(at, Line):
            request.line.CopyFrom(_line(at))
        else:
            request.match.CopyFrom(game_pb2.MatchPly(match_id=at.match_id, ply=at.ply))
        chunks = await self.connection.ask_all(self.connection.games.LegalMoves, request)
        return tuple(read(LegalMove, move) for chunk in chunks for move in chunk.moves)

    async def play_moves(self, line: Line, from_ply: int = 0, with_board: bool = False) -> PlayedLine:
        """Play a line and return the positions from `from_ply` on, and the outcome. Refusals: as for legal_moves."""
        request = game_pb2.PlayMovesRequest(line=_line(line), from_ply=from_ply, with_board=with_board)
        answer = await self.connection.ask(self.connection.games.PlayMoves, request)
        return read(PlayedLine, answer)


def _line(line: Line) -> game_pb2.LineOfPlay:
    return game_pb2.LineOfPlay(game=line.game, position=line.position, moves=line.moves)
