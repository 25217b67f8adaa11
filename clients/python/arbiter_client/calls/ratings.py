"""The calls of RatingService."""

from __future__ import annotations

from dataclasses import asdict, replace

from arbiter_protos.v1 import rating_pb2 as pb

from arbiter_client.calls.base import Calls, new_request_id
from arbiter_client.values.rating import (
    Comparison,
    GameSelection,
    Leaderboard,
    Rating,
    RatingDecision,
    RatingRuling,
)
from arbiter_client.values.reading import read

LARGEST_PAGE = 1000


class RatingCalls(Calls):
    """Leaderboards, ratings of players, comparisons. `game` is a variant, '' for all games together.

    Every call may be refused with GAME_UNKNOWN, PARAMETER_INVALID, STORE_UNAVAILABLE, BUDGET_SPENT.
    """

    async def get_leaderboard(self, game: str = "", *, all_versions: bool = False, most: int = 1000) -> Leaderboard:
        """Return the players by rating, best first: only the newest version of each, or all versions.

        All rows are of the same moment: if the ratings change while the pages are read, they are read again.
        """
        while True:
            board, message = await self._page(game, all_versions, most, "")
            while message.next_page_token and len(board.rows) < most:
                page, message = await self._page(game, all_versions, most - len(board.rows), message.next_page_token)
                if (page.games, page.rulings) != (board.games, board.rulings):
                    break
                board = replace(board, rows=board.rows + page.rows)
            else:
                return board

    async def _page(
        self, game: str, all_versions: bool, most: int, token: str
    ) -> tuple[Leaderboard, pb.GetLeaderboardResponse]:
        request = pb.GetLeaderboardRequest(
            page_size=min(most, LARGEST_PAGE), page_token=token, game=game, all_versions=all_versions
        )
        message = await self.connection.ask(self.connection.ratings.GetLeaderboard, request)
        return read(Leaderboard, message), message

    async def get_rating(self, player: str, game: str = "", *, history_points: int = 0) -> Rating:
        """Return the ratings of a player's versions, and their history with the given number of points (up to 100).

        Refusals: PLAYER_NOT_FOUND, ARGUMENT_INVALID.
        """
        request = pb.GetRatingRequest(player=player, game=game, history_points=history_points)
        answer = await self.connection.ask(self.connection.ratings.GetRating, request)
        return read(Rating, answer)

    async def compare_players(
        self,
        player: str,
        other: str,
        game: str = "",
        *,
        player_version: str | None = None,
        other_version: str | None = None,
        elo0: float = 0.0,
        elo1: float = 10.0,
        alpha: float = 0.05,
        beta: float = 0.05,
    ) -> Comparison:
        """Compare two players; versions None for all of them. elo0 to beta: of the sequential test.

        Refusals: PLAYER_NOT_FOUND, ARGUMENT_INVALID (the same player twice, hypotheses that can't be tested).
        """
        request = pb.ComparePlayersRequest(
            player=player,
            other=other,
            player_version=player_version,
            other_version=other_version,
            game=game,
            elo0=elo0,
            elo1=elo1,
            alpha=alpha,
            beta=beta,
        )
        answer = await self.connection.ask(self.connection.ratings.ComparePlayers, request)
        return read(Comparison, answer)

    async def rule_on_ratings(
        self,
        decision: RatingDecision,
        games: GameSelection | None = None,
        *,
        ruling: int = 0,
        note: str = "",
        revision: int | None = None,
        preview: bool = False,
        request_id: str = "",
    ) -> RatingRuling:
        """Decide which rated games count for ratings, as the operator; return which ones count otherwise from now on.

        ruling: with TAKEN_BACK, without games: the number of that ruling. revision: the number of the last ruling that
        you have seen; refused with RATINGS_CHANGED if there is a newer one. preview: only return what would change.
        Other refusals: ARGUMENT_INVALID, PLAYER_NOT_FOUND, REQUEST_ID_REUSED, SCOPE_MISSING, RATE_LIMITED.
        """
        request = pb.RuleOnRatingsRequest(
            request_id=request_id or new_request_id(),
            decision=pb.RatingDecision.ValueType(decision),
            games=None if games is None else pb.GameSelection(**asdict(games)),
            ruling=ruling,
            note=note,
            revision=revision,
            preview=preview,
        )
        answer = await self.connection.ask(self.connection.ratings.RuleOnRatings, request)
        return read(RatingRuling, answer)

    async def export_rating_rulings(self) -> bytes:
        """Return all rulings on ratings: one canonical JSON text a line, and the arbiter's signature last.

        Nothing if there is no ruling. Refusals: RECORD_DAMAGED.
        """
        request = pb.ExportRatingRulingsRequest()
        parts = await self.connection.ask_all(self.connection.ratings.ExportRatingRulings, request)
        return b"".join(part.lines for part in parts)
