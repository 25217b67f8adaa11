"""RatingService."""

from __future__ import annotations

from arbiter_protos.v1 import rating_pb2 as pb
from arbiter_protos.v1 import rating_pb2_grpc

from arbiter.rpc.servicing import Context, call_of
from arbiter.service.gate.pages import PageRequest
from arbiter.service.gate.ratings import RatingGate
from arbiter.wire.ratings import board_message, comparison_message, contest_of, standing_message


class RatingServicer(rating_pb2_grpc.RatingServiceServicer):
    """Ratings."""

    def __init__(self, ratings: RatingGate) -> None:
        self._ratings = ratings

    async def GetLeaderboard(  # noqa: N802
        self, request: pb.GetLeaderboardRequest, context: Context
    ) -> pb.GetLeaderboardResponse:
        """Return a page of a leaderboard."""
        page = PageRequest(request.page_size, request.page_token)
        return board_message(
            await self._ratings.leaderboard(call_of(context), request.game, request.all_versions, page)
        )

    async def GetRating(  # noqa: N802
        self, request: pb.GetRatingRequest, context: Context
    ) -> pb.GetRatingResponse:
        """Return the ratings of a player."""
        points = request.history_points
        found = await self._ratings.of_player(call_of(context), request.player, request.game, points)
        return standing_message(*found)

    async def ComparePlayers(  # noqa: N802
        self, request: pb.ComparePlayersRequest, context: Context
    ) -> pb.ComparePlayersResponse:
        """Compare two players."""
        found = await self._ratings.compare(call_of(context), contest_of(request), request.game)
        return comparison_message(*found)
