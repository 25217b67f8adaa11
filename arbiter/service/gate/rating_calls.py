"""The calls about ratings, for every API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, NamedTuple

from arbiter.config import Limits
from arbiter.errors import argument_invalid
from arbiter.matches.match import Match
from arbiter.matches.requests import check_request_id
from arbiter.ratings.rating_results import Comparison, Row
from arbiter.ratings.rulings import MOST_PLAYERS, Command, Ruling, in_words
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.open_streams import OpenStreams
from arbiter.service.gate.paging import PageRequest, rows_of, rows_token, size_of
from arbiter.service.gate.recorded_games import recorded
from arbiter.service.gate.rights import Action
from arbiter.service.gate.use_cases import UseCases
from arbiter.service.lookup import LONGEST_KEY, findable
from arbiter.service.ratings.rating_ports import ComparisonRequest
from arbiter.service.ratings.rating_queries import MOST_POINTS, Edition, PlayerRatings
from arbiter.service.ratings.ruling_on_ratings import Ruled

KIND: Final = "ratings"  #: the kind under which waiting calls are counted


class Leaderboard(NamedTuple):
    """A page of a leaderboard. players: the number of rows on all pages. game: its variant, '' for all games."""

    edition: Edition
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

    def __init__(self, admission: Admission, streams: OpenStreams, use_cases: UseCases, limits: Limits) -> None:
        self._admission = admission
        self._streams = streams
        self._matches = use_cases.matches
        self._ratings = use_cases.ratings
        self._rulings = use_cases.rulings
        self._accounts = use_cases.accounts
        self._limits = limits

    async def leaderboard(self, call: Call, game: str, all_versions: bool, page: PageRequest) -> Leaderboard:
        """Return a page of a leaderboard. All its pages show the ratings that the first page showed.

        Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID, ARGUMENT_INVALID, and as `Ratings.edition`.
        """
        caller = await self._admission.caller(call, Action.GET_LEADERBOARD)
        size, variant = size_of(page, self._limits), await recorded(self._matches, game)
        of, before = rows_of(page.token)
        with self._streams.counted(KIND, caller.player, self._limits.ratings_waiting):
            edition = await self._ratings.edition((variant,) if variant else (), of)
        listed = edition.ratings
        everyone, end = listed.all_versions if all_versions else listed.newest, before + size
        ranked = [row for row in everyone if self._accounts.names.is_ranked(row.player.partition("@")[0])]
        rows = [self._shown(row, place) for place, row in enumerate(ranked[before:end], before + 1)]
        token = rows_token(edition.of, end) if end < len(ranked) else ""
        self._admission.charge(caller, len(rows))
        return Leaderboard(edition, rows, len(ranked), variant, token)

    def _shown(self, row: Row, place: int) -> Row:
        """Return a row under the name by which its player is shown."""
        name, at, version = row.player.partition("@")
        return row._replace(player=self._accounts.names.shown(name) + at + version, place=place)

    async def of_player(self, call: Call, player: str, game: str, history_points: int) -> OfPlayer:
        """Return the ratings of a player, with `history_points` points of their history.

        Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID, ARGUMENT_INVALID, PLAYER_NOT_FOUND, and as `Ratings.of_player`.
        """
        caller = await self._admission.caller(call, Action.GET_RATING)
        variant = await recorded(self._matches, game)
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
        variant = await recorded(self._matches, game)
        one, other = [(await self._accounts.player(name)).name for name in (contest.player, contest.other)]
        contest = contest._replace(player=one, other=other)
        if contest.player == contest.other:
            raise argument_invalid(contest.other, "other", "a player other than the first")
        with self._streams.counted(KIND, caller.player, self._limits.ratings_waiting):
            comparison = await self._ratings.compare(contest, variant)
        self._admission.charge(caller, sum(comparison.total))
        return Compared(comparison, variant)

    async def rule(self, call: Call, command: Callable[[str], Command], *, preview: bool) -> Ruled:
        """Rule on ratings; with `preview`, only return what that would change. command: of the caller's name.

        Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID, PLAYER_NOT_FOUND, and as `RatingRulings.rule`.
        """
        caller = await self._admission.caller(call, Action.RULE_ON_RATINGS)
        wanted = command(caller.player)
        check_request_id(wanted.request)
        asked = wanted.selection
        for text in (asked.label, *asked.matches):
            if not findable(text):
                raise argument_invalid(text, "selection", f"an id or a label of up to {LONGEST_KEY} characters")
        players = tuple([(await self._accounts.player(name)).name for name in asked.players[: MOST_PLAYERS + 1]])
        selection = replace(asked, players=players, game=await recorded(self._matches, asked.game))
        found = await self._rulings.rule(replace(wanted, selection=selection), preview=preview)
        self._admission.charge(caller, len(found.matches))
        return found

    async def ruling_on(self, call: Call, match: Match) -> str:
        """Return why a rated match does not count, in words; '' if it counts."""
        if match.result is None or not match.created.rated:
            return ""
        await self._admission.caller(call, Action.EXPORT_RATING_RULINGS)
        found = await self._rulings.on_match(match.id)
        if found is None:
            return ""
        number, ruling = found
        return in_words(number, replace(ruling, caller=self._accounts.names.shown(ruling.caller)))

    async def rulings(self, call: Call) -> Sequence[Ruling]:
        """Return all rulings, in order."""
        caller = await self._admission.caller(call, Action.EXPORT_RATING_RULINGS)
        found = (await self._rulings.log()).all
        self._admission.charge(caller, len(found))
        return tuple(found)

    @asynccontextmanager
    async def ruling_file(self, call: Call) -> AsyncIterator[Sequence[bytes]]:
        """Open the log of rulings as a file; yields its lines, the last of which is the signature."""
        caller = await self._admission.caller(call, Action.EXPORT_RATING_RULINGS)
        async with self._streams.held(caller, "transcripts"):
            async with self._admission.turn(caller):
                lines = (await self._rulings.file()).splitlines(keepends=True)
            self._admission.charge(caller, len(lines))
            yield lines
