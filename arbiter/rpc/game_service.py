"""GameService."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from arbiter_protos.v1 import game_pb2 as pb
from arbiter_protos.v1 import game_pb2_grpc

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.rpc.door import Context, Door, number_of_token
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.players.accounts import invalid
from arbiter.service.ports.rules import Rules
from arbiter.wire.games import game_message, line_message, move_messages, summary_message


class GameServicer(game_pb2_grpc.GameServiceServicer):
    """The games and their rules."""

    def __init__(self, door: Door, matches: MatchRegistry, rules: Rules, limits: Limits) -> None:
        self._door = door
        self._limits = limits
        self._matches = matches
        self._rules = rules

    async def ListGames(  # noqa: N802
        self, request: pb.ListGamesRequest, context: Context
    ) -> pb.ListGamesResponse:
        """List the games."""
        self._door.anybody(context)
        first = number_of_token(request.page_token)
        last = first + self._door.page_size(request.page_size)
        games = list(registry.classes().values())
        return pb.ListGamesResponse(
            games=[summary_message(game.facts) for game in games[first:last]],
            next_page_token=str(last) if last < len(games) else "",
        )

    async def GetGame(self, request: pb.GetGameRequest, context: Context) -> pb.GetGameResponse:  # noqa: N802
        """Return everything about one variant."""
        self._door.anybody(context)
        return game_message(request.game)

    async def LegalMoves(  # type: ignore[override]  # noqa: N802 - writes on its context
        self, request: pb.LegalMovesRequest, context: Context
    ) -> None:
        """Stream legal moves in chunks."""
        name = await self._door.name(context)
        game, start, moves = await self._line(request)
        listing = await self._rules.legal_moves(name, game, start, moves, request.with_steps)
        with self._door.counted("legal moves", name, self._limits.rules_waiting):  # what waits to be read takes room
            answer = partial(pb.LegalMovesResponse, total=listing.total, position=listing.position)
            if not listing.total:
                await self._door.send(context, answer())
            for chunk in listing.chunks:
                await self._door.send(context, answer(moves=move_messages(chunk)))

    async def PlayMoves(self, request: pb.PlayMovesRequest, context: Context) -> pb.PlayMovesResponse:  # noqa: N802
        """Play a line."""
        name = await self._door.name(context)
        line = request.line
        if not 0 <= request.from_ply <= len(line.moves):
            raise invalid(request.from_ply, "from_ply", f"0 to {len(line.moves)}")
        played = await self._rules.play_moves(
            name, line.game, line.position, line.moves, request.from_ply, request.with_board
        )
        return line_message(played)

    async def _line(self, request: pb.LegalMovesRequest) -> tuple[str, str, Sequence[str]]:
        match request.WhichOneof("at"):
            case "line":
                return request.line.game, request.line.position, request.line.moves
            case "match":
                match = await self._matches.match(request.match.match_id)
                ply = request.match.ply if request.match.HasField("ply") else match.ply
                if not 0 <= ply <= match.ply:
                    raise Refusal(
                        Reason.PLY_MISMATCH,
                        f"match {match.id} has no ply {ply} yet: it is at {match.ply}",
                        expected=match.ply,
                        actual=ply,
                    )
                return match.created.game, "", match.moves[:ply]
            case _:
                raise invalid("nothing", "at", "a match or a line of play")
