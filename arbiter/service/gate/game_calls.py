"""The calls about games and their rules, for every API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from typing import NamedTuple, TypeAlias

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, argument_invalid
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Facts
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.open_streams import OpenStreams
from arbiter.service.gate.paging import Page, PageRequest, number_of, size_of
from arbiter.service.gate.rights import Action
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.ports.rules import EncodingRules, Listing


def seats(variant: str) -> tuple[str, str]:
    """Return the names of the two seats by the rules of a variant; their numbers if its game is not installed."""
    return registry.seats(variant)


class LineAt(NamedTuple):
    """The end of a line of play that starts from a position; '' is the initial position."""

    game: str
    position: str
    moves: Sequence[str]


class MatchAt(NamedTuple):
    """The position of a match at a ply; None for its current position."""

    match_id: str
    ply: int | None


At: TypeAlias = LineAt | MatchAt


class GameGate:
    """The calls about games; they need no token. Each raises RATE_LIMITED, and what its own docstring says."""

    def __init__(
        self, admission: Admission, streams: OpenStreams, matches: MatchRegistry, rules: EncodingRules, limits: Limits
    ) -> None:
        self._admission = admission
        self._streams = streams
        self._matches = matches
        self._rules = rules
        self._limits = limits

    def list(self, call: Call, page: PageRequest) -> Page[Facts]:
        """Return a page of the games. Raises Refusal ARGUMENT_INVALID."""
        self._admission.anybody(call)
        first = number_of(page.token)
        last = first + size_of(page, self._limits)
        games = [game.facts for game in registry.classes().values()]
        return Page(games[first:last], str(last) if last < len(games) else "")

    def get(self, call: Call, variant: str) -> AnyGame:
        """Return a variant of a game. Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID."""
        self._admission.anybody(call)
        return registry.game(variant)

    def rules_text(self, game: AnyGame) -> str:
        """Return the rules of a game as Markdown; '' for an installed plug-in game without such a text."""
        return registry.rules_text(game)

    @asynccontextmanager
    async def legal_moves(self, call: Call, at: At | None, with_steps: bool) -> AsyncIterator[Listing]:
        """Open the listing of the legal moves of a position.

        Raises Refusal ARGUMENT_INVALID, MATCH_NOT_FOUND, PLY_MISMATCH, and as `RulesWorker.legal_moves`.
        """
        name, line = await self._admission.name(call, Action.LEGAL_MOVES), await self._line(at)
        listing = await self._rules.legal_moves(name, line.game, line.position, line.moves, with_steps)
        with self._unread(name):
            yield listing

    @asynccontextmanager
    async def encoded_moves(
        self, call: Call, at: At | None, with_steps: bool, as_json: bool
    ) -> AsyncIterator[Iterable[bytes]]:
        """Open the same listing as messages of the API. Raises as `legal_moves`."""
        name, line = await self._admission.name(call, Action.LEGAL_MOVES), await self._line(at)
        messages = await self._rules.encoded_moves(name, line.game, line.position, line.moves, with_steps, as_json)
        with self._unread(name):
            yield messages

    def _unread(self, name: str) -> AbstractContextManager[None]:
        """Count an answer that takes memory until it is read."""
        return self._streams.counted("legal moves", name, self._limits.rules_waiting)

    async def encoded_line(
        self, call: Call, line: LineAt, from_ply: int, with_board: bool, as_json: bool
    ) -> Iterable[bytes]:
        """Return the positions of a line, from a ply on, as the API's message, in parts that are joined.

        Raises Refusal ARGUMENT_INVALID, and as `EncodingRules.encoded_line`.
        """
        name = await self._admission.name(call, Action.PLAY_MOVES)
        if not 0 <= from_ply <= len(line.moves):
            raise argument_invalid(from_ply, "from_ply", f"0 to {len(line.moves)}")
        return await self._rules.encoded_line(name, line.game, line.position, line.moves, from_ply, with_board, as_json)

    async def _line(self, at: At | None) -> LineAt:
        match at:
            case LineAt():
                return at
            case MatchAt(match_id, wanted):
                match = await self._matches.match(match_id)
                ply = match.ply if wanted is None else wanted
                if not 0 <= ply <= match.ply:
                    raise Refusal(
                        Reason.PLY_MISMATCH,
                        f"match {match.id} has no ply {ply} yet: it is at {match.ply}",
                        expected=match.ply,
                        actual=ply,
                    )
                return LineAt(match.created.game, match.created.position, match.moves[:ply])
            case _:
                raise argument_invalid("nothing", "at", "a match or a line of play")
