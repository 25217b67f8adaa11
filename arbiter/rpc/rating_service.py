"""RatingService."""

from __future__ import annotations

import re

from arbiter_protos.v1 import rating_pb2 as pb
from arbiter_protos.v1 import rating_pb2_grpc

from arbiter.games import registry
from arbiter.rpc.door import Context, Door
from arbiter.service.players.accounts import Accounts, invalid
from arbiter.service.ratings.ratings import MOST_POINTS, Ratings
from arbiter.wire.ratings import board_message, comparison_message, contest_of, standing_message

KIND = "ratings"  #: as what calls that wait are counted
_PLACE = re.compile(r"([0-9]{1,15})-([0-9]{1,9})", re.ASCII)


class RatingServicer(rating_pb2_grpc.RatingServiceServicer):
    """Ratings. `waiting`: calls that one player may have waiting, for working them out may take long."""

    def __init__(self, door: Door, ratings: Ratings, accounts: Accounts, waiting: int) -> None:
        self._door = door
        self._waiting = waiting
        self._ratings = ratings
        self._accounts = accounts

    async def GetLeaderboard(  # noqa: N802
        self, request: pb.GetLeaderboardRequest, context: Context
    ) -> pb.GetLeaderboardResponse:
        """Return a page of a leaderboard."""
        caller = await self._door.reader(context)
        size, game = self._door.page_size(request.page_size), _variant(request.game)
        of, before = _place(request.page_token)
        with self._door.counted(KIND, caller.player, self._waiting):
            board = await self._ratings.board((game,) if game else (), of)
        rows = board.all_versions if request.all_versions else board.newest
        message = board_message(board, rows[before : before + size], len(rows), game, self._ratings.anchors)
        if before + size < len(rows):
            message.next_page_token = f"{board.games}-{before + size}"
        return message

    async def GetRating(  # noqa: N802
        self, request: pb.GetRatingRequest, context: Context
    ) -> pb.GetRatingResponse:
        """Return the ratings of a player."""
        caller = await self._door.reader(context)
        game = _variant(request.game)
        if not 0 <= request.history_points <= MOST_POINTS:
            raise invalid(request.history_points, "history_points", f"0 to {MOST_POINTS}")
        player = (await self._accounts.player(request.player)).name
        with self._door.counted(KIND, caller.player, self._waiting):
            return standing_message(await self._ratings.of_player(player, game, request.history_points), game)

    async def ComparePlayers(  # noqa: N802
        self, request: pb.ComparePlayersRequest, context: Context
    ) -> pb.ComparePlayersResponse:
        """Compare two players."""
        caller = await self._door.reader(context)
        game, contest = _variant(request.game), contest_of(request)
        for name in (contest.player, contest.other):
            await self._accounts.player(name)
        if contest.player == contest.other:
            raise invalid(contest.other, "other", "another player than the first")
        with self._door.counted(KIND, caller.player, self._waiting):
            return comparison_message(await self._ratings.compare(contest, game), game)


def _variant(name: str) -> str:
    """Return the canonical variant, '' for none. Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID."""
    return registry.game(name).variant if name else ""


def _place(token: str) -> tuple[int, int]:
    """Return which ratings a page is of, by their games, and the rows before it. Raises Refusal ARGUMENT_INVALID."""
    if not token:
        return 0, 0
    found = _PLACE.fullmatch(token)
    if found is None:
        raise invalid(token, "page_token", "a token that this server gave, or nothing")
    return int(found[1]), int(found[2])
