"""RatingService."""

from __future__ import annotations

from functools import partial

from arbiter_protos.v1 import rating_pb2 as pb
from arbiter_protos.v1 import rating_pb2_grpc

from arbiter.config import Limits
from arbiter.rpc.servicing import Context, MessageWriter, call_of, in_portions
from arbiter.rpc.unread import Unread
from arbiter.service.gate.paging import PageRequest
from arbiter.service.gate.rating_calls import RatingGate
from arbiter.wire.rating_messages import (
    board_message,
    comparison_message,
    contest_of,
    row_message,
    ruled_message,
    ruling_of,
    standing_message,
)


class RatingServicer(rating_pb2_grpc.RatingServiceServicer):
    """Ratings."""

    def __init__(self, ratings: RatingGate, unread: Unread, limits: Limits) -> None:
        self._ratings = ratings
        self._unread = unread
        self._limits = limits

    async def GetLeaderboard(self, request: pb.GetLeaderboardRequest, context: Context) -> pb.GetLeaderboardResponse:
        asked = PageRequest(request.page_size, request.page_token)
        page = await self._ratings.leaderboard(call_of(context), request.game, request.all_versions, asked)
        return board_message(page, await in_portions(map(row_message, page.rows)))

    async def GetRating(self, request: pb.GetRatingRequest, context: Context) -> pb.GetRatingResponse:
        points = request.history_points
        found = await self._ratings.of_player(call_of(context), request.player, request.game, points)
        return standing_message(*found)

    async def ComparePlayers(self, request: pb.ComparePlayersRequest, context: Context) -> pb.ComparePlayersResponse:
        found = await self._ratings.compare(call_of(context), contest_of(request), request.game)
        return comparison_message(*found)

    async def RuleOnRatings(self, request: pb.RuleOnRatingsRequest, context: Context) -> pb.RuleOnRatingsResponse:
        return ruled_message(
            await self._ratings.rule(call_of(context), partial(ruling_of, request), preview=request.preview)
        )

    async def ExportRatingRulings(  # type: ignore[override]  # writes on its context
        self, request: pb.ExportRatingRulingsRequest, context: Context
    ) -> None:
        writer = MessageWriter(context, self._unread, self._limits)
        async with self._ratings.ruling_file(call_of(context)) as lines:
            for line in lines:
                await writer.write(pb.ExportRatingRulingsResponse(lines=line))
