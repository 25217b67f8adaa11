"""The calls about ratings, for every API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter.config import Limits
from arbiter.errors import argument_invalid
from arbiter.games import registry
from arbiter.ratings.answers import Comparison, RatingList, Row
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.pages import PageRequest, rows_of, size_of
from arbiter.service.gate.rights import Action
from arbiter.service.gate.streams import OpenStreams
from arbiter.service.players.accounts import Accounts
from arbiter.service.ratings.ports import ComparisonRequest
from arbiter.service.ratings.ratings import MOST_POINTS, PlayerRatings, Ratings

KIND: Final = "ratings"  #: the kind under which waiting calls are counted


class Leaderboard(NamedTuple):
    """A page of a leaderboard. players: the number of rows on all pages. game: its variant, '' for all games."""

    ratings: RatingList
    rows: Sequence[Row]
    players: int
    game: str
    next_token: str


class OfPlayer(NamedTuple):
    """The ratings of a player at a variant; '' for all games."""

    standing: PlayerRatings
    game: str


class Compared(NamedTuple):
    """A comparison of two players at a variant; '' for all games."""

    comparison: Comparison
    game: str


class RatingGate:
    """The calls about ratings. Each raises what `Admission.caller` raises, and what its own docstring says.

    A fit may take long, so the number of waiting calls of a player is limited (`limits.ratings_waiting`).
    """

    def __init__(
        self, admission: Admission, streams: OpenStreams, ratings: Ratings, accounts: Accounts, limits: Limits
    ) -> None:
        self._admission = admission
        self._streams = streams
        self._ratings = ratings
        self._accounts = accounts
        self._limits = limits

    async def leaderboard(self, call: Call, game: str, all_versions: bool, page: PageRequest) -> Leaderboard:
        """Return a page of a leaderboard. All its pages show the ratings that the first page showed.

        Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID, ARGUMENT_INVALID, and as `Ratings.rating_list`.
        """
        caller = await self._admission.caller(call, Action.GET_LEADERBOARD)
        size, variant = size_of(page, self._limits), _variant(game)
        of, before = rows_of(page.token)
        with self._streams.counted(KIND, caller.player, self._limits.ratings_waiting):
            listed = await self._ratings.rating_list((variant,) if variant else (), of)
        everyone, end = listed.all_versions if all_versions else listed.newest, before + size
        rows = self._shown(everyone)
        token = f"{listed.games}-{end}" if end < len(rows) else ""
        self._admission.charge(caller, len(rows[before:end]))
        return Leaderboard(listed, rows[before:end], len(rows), variant, token)

    def _shown(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows of players who are ranked, under the names by which they are shown."""
        names, found = self._accounts.names, list[Row]()
        for row in rows:
            name, at, version = row.player.partition("@")
            if names.is_ranked(name):
                found.append(row._replace(player=names.shown(name) + at + version, place=len(found) + 1))
        return found

    async def of_player(self, call: Call, player: str, game: str, history_points: int) -> OfPlayer:
        """Return the ratings of a player, with `history_points` points of their history.

        Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID, ARGUMENT_INVALID, PLAYER_NOT_FOUND, and as `Ratings.of_player`.
        """
        caller = await self._admission.caller(call, Action.GET_RATING)
        variant = _variant(game)
        if not 0 <= history_points <= MOST_POINTS:
            raise argument_invalid(history_points, "history_points", f"0 to {MOST_POINTS}")
        name = (await self._accounts.player(player)).name
        with self._streams.counted(KIND, caller.player, self._limits.ratings_waiting):
            standing = await self._ratings.of_player(name, variant, history_points)
        self._admission.charge(caller, len(standing.versions) + sum(len(marks) for _, marks in standing.history))
        return OfPlayer(standing, variant)

    async def compare(self, call: Call, contest: ComparisonRequest, game: str) -> Compared:
        """Compare two players.

        Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID, ARGUMENT_INVALID, PLAYER_NOT_FOUND, and as `Ratings.compare`.
        """
        caller = await self._admission.caller(call, Action.COMPARE_PLAYERS)
        variant = _variant(game)
        one, other = [(await self._accounts.player(name)).name for name in (contest.player, contest.other)]
        contest = contest._replace(player=one, other=other)
        if contest.player == contest.other:
            raise argument_invalid(contest.other, "other", "a player other than the first")
        with self._streams.counted(KIND, caller.player, self._limits.ratings_waiting):
            comparison = await self._ratings.compare(contest, variant)
        self._admission.charge(caller, sum(comparison.total))
        return Compared(comparison, variant)


def _variant(name: str) -> str:
    """Return the canonical name of a variant, '' for ''. Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID."""
    return registry.game(name).variant if name else ""
