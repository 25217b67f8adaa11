"""Matches, for every door: made, found, played, ended, and watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from arbiter.config import Settings
from arbiter.errors import Refusal, argument_invalid
from arbiter.games import registry
from arbiter.games.contract import Seat
from arbiter.matches.commands import (
    Abort,
    Adjudicate,
    AnswerDraw,
    ClaimDraw,
    Create,
    OfferDraw,
    Play,
    Resign,
    ResultKind,
    SeatRequest,
)
from arbiter.matches.comments import Comment
from arbiter.matches.match import Match
from arbiter.matches.policy import Policy
from arbiter.matches.requests import Receipt
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.pages import Page, PageRequest, number_of, page_of, size_of
from arbiter.service.gate.rights import Action, Relation, check_relation
from arbiter.service.gate.streams import OpenStreams
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.matches.transcripts import Transcripts
from arbiter.service.observing.feed import Feed, Stream
from arbiter.service.observing.history import ReadingTurn
from arbiter.service.play.challenges import is_challenge
from arbiter.service.play.sessions import Sessions
from arbiter.service.players.accounts import Accounts, Caller, check_not_suspended
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import Filter, MatchSummary, PlayerResult
from arbiter.service.record.matches import load_match
from arbiter.service.record.published import Published
from arbiter.service.tournaments.matches import tournament_of
from arbiter.service.tournaments.registry import TournamentRegistry


@dataclass(frozen=True, slots=True)
class NewMatch:
    """What a request to make a match says. `policy`: the fields of `Policy` that it names; the server's hold else."""

    request_id: str
    game: str
    players: tuple[str, ...]
    time_control: str = ""
    rated: bool = False
    label: str = ""
    opening: tuple[str, ...] = ()
    policy: Mapping[str, Any] = field(default_factory=dict)


class MatchQuery(NamedTuple):
    """Which matches a list is to have; '' and None for all. `ended`: those that have ended, or those that have not."""

    player: str = ""
    game: str = ""
    label: str = ""
    ended: bool | None = None


class OfMatch(NamedTuple):
    """The events of one match, or of one tournament, after a revision."""

    match_id: str
    after_revision: int


class OfAll(NamedTuple):
    """The events of all, or of a label, after a place that a token names: '' for from now on."""

    after_token: str
    label: str


Watched: TypeAlias = OfMatch | OfAll
Listed: TypeAlias = Match | MatchSummary
MoveAnswer: TypeAlias = Receipt | Refusal


class PlayerMoves:
    """The live matches of one player, to whom a stream of moves belongs."""

    def __init__(self, matches: MatchRegistry, clock: Clock, player: str, most: int) -> None:
        self._matches = matches
        self._clock = clock
        self._player = player
        self.most = most  #: moves whose answers may wait to be read

    def now_ms(self) -> int:
        """Return the instant at which a message has arrived."""
        return self._clock.now_ms()

    def play(
        self, match_id: str, request_id: str, ply: int, move: str, arrived: int, comment: Comment | None
    ) -> asyncio.Future[MoveAnswer]:
        """Play a move that arrived at an instant (UTC, ms); return the future of its answer, which may be a refusal."""
        return self._matches.request(
            self._player, match_id, lambda seat: Play(seat, request_id, ply, move, arrived, comment=comment)
        )


class MatchGate:
    """The calls about matches. Each raises what `Admission.caller` raises, and what its own docstring says."""

    def __init__(
        self,
        admission: Admission,
        streams: OpenStreams,
        matches: MatchRegistry,
        feed: Feed,
        accounts: Accounts,
        sessions: Sessions,
        transcripts: Transcripts,
        tournaments: TournamentRegistry,
        clock: Clock,
        settings: Settings,
        policy: Policy,
    ) -> None:
        self._admission = admission
        self._streams = streams
        self._matches = matches
        self._feed = feed
        self._accounts = accounts
        self._sessions = sessions
        self._transcripts = transcripts
        self._tournaments = tournaments
        self._clock = clock
        self._settings = settings
        self._policy = policy

    async def create(self, call: Call, new: NewMatch) -> Match:
        """Make a match, or return the one that the same request has made before.

        Raises Refusal ARGUMENT_INVALID, PLAYER_SUSPENDED, PLAYER_NOT_FOUND, and as `MatchRegistry.create`.
        """
        caller = await self._admission.caller(call, Action.CREATE_MATCH)
        if len(new.players) != 2:
            raise argument_invalid(f"{len(new.players)} players", "players", "two names, seat 1 first")
        command = Create(
            game=new.game,
            players=(new.players[0], new.players[1]),
            time=new.time_control or self._settings.matches.time_control,
            creator=caller.player,
            request=new.request_id,
            policy=replace(self._policy, **new.policy),
            rated=new.rated,
            label=new.label,
            chosen=tuple(new.policy),
            opening=new.opening,
        )
        match = await self._matches.made(command)  # whoever has been suspended since: the answer stays the same
        if match is None:
            for name in new.players:
                check_not_suspended(await self._accounts.player(name))
            match = await self._matches.create(command)
        return match

    async def get(self, call: Call, match_id: str) -> Match:
        """Return a match as it stands. Raises Refusal MATCH_NOT_FOUND."""
        caller = await self._admission.caller(call, Action.GET_MATCH)
        if self._matches.live.find(match_id) is not None:
            return await self._matches.match(match_id)
        async with self._admission.turn(caller):  # it may be read from the journal
            match = await self._matches.match(match_id)
            self._admission.charge(caller, match.revision)
            return match

    async def list(self, call: Call, wanted: MatchQuery, page: PageRequest) -> Page[Listed]:
        """Return a page of matches, newest first. Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID, ARGUMENT_INVALID."""
        caller = await self._admission.caller(call, Action.LIST_MATCHES)
        size = size_of(page, self._settings.limits)
        game = registry.game(wanted.game).variant if wanted.game else ""
        which = Filter(player=wanted.player, game=game, label=wanted.label, ended=wanted.ended)
        async with self._admission.turn(caller):
            rows = await self._matches.summaries(which, number_of(page.token), size + 1)
            self._admission.charge(caller, len(rows))
            shown = page_of(rows, size, lambda row: str(row.sequence))
            items = [row if row.end else await self._matches.match(row.match_id) for row in shown.items]
            return Page(items, shown.next_token)

    async def results_by_kind(self, call: Call, player: str) -> Sequence[PlayerResult]:
        """Return how often a player's matches that have ended did so in which way; nothing of a name that is none."""
        caller = await self._admission.caller(call, Action.LIST_MATCHES)
        found = await self._matches.results_by_kind(player)
        self._admission.charge(caller, sum(each.games for each in found))
        return found

    # -- moves ---------------------------------------------------------------------------------------------------

    async def submit(
        self, call: Call, match_id: str, request_id: str, ply: int, move: str, comment: Comment | None
    ) -> Receipt:
        """Play one move. Raises the refusal of the match."""
        arrived = self._clock.now_ms()
        return await self._request(
            call,
            Action.SUBMIT_MOVE,
            match_id,
            lambda seat: Play(seat, request_id, ply, move, arrived, comment=comment),
        )

    @asynccontextmanager
    async def moving(self, call: Call) -> AsyncIterator[PlayerMoves]:
        """Hold a stream of moves open. Its player is there to play for as long as it lasts."""
        caller = await self._admission.caller(call, Action.SUBMIT_MOVES)
        async with self._streams.held(caller, "moves"):
            with self._sessions.attending(caller.player):
                yield PlayerMoves(self._matches, self._clock, caller.player, self._settings.limits.move_answers)

    # -- draws and ends ------------------------------------------------------------------------------------------

    async def offer_draw(self, call: Call, match_id: str, request_id: str) -> Receipt:
        """Offer a draw. Raises the refusal of the match."""
        return await self._request(call, Action.OFFER_DRAW, match_id, lambda seat: OfferDraw(seat, request_id))

    async def answer_draw(self, call: Call, match_id: str, request_id: str, accept: bool) -> Receipt:
        """Accept or decline a draw. Raises the refusal of the match."""
        return await self._request(
            call, Action.ANSWER_DRAW, match_id, lambda seat: AnswerDraw(seat, request_id, accept)
        )

    async def claim_draw(self, call: Call, match_id: str, request_id: str) -> Receipt:
        """Claim a draw. Raises the refusal of the match."""
        return await self._request(call, Action.CLAIM_DRAW, match_id, lambda seat: ClaimDraw(seat, request_id))

    async def resign(self, call: Call, match_id: str, request_id: str) -> Receipt:
        """Give up. Raises the refusal of the match."""
        return await self._request(call, Action.RESIGN, match_id, lambda seat: Resign(seat, request_id))

    async def _request(self, call: Call, action: Action, match_id: str, make: Callable[[Seat], SeatRequest]) -> Receipt:
        caller = await self._admission.caller(call, action)
        answer = await self._matches.request(caller.player, match_id, make)
        if isinstance(answer, Refusal):
            raise answer
        return answer

    async def abort(self, call: Call, match_id: str, request_id: str, note: str) -> Match:
        """End a match that shall not count. Raises Refusal SCOPE_MISSING for somebody else's, and the match's."""
        caller = await self._organiser(call, Action.ABORT_MATCH, match_id)
        await self._matches.act(match_id, Abort(caller.player, request_id, note))
        return await self._matches.match(match_id)

    async def adjudicate(
        self, call: Call, match_id: str, request_id: str, kind: ResultKind | None, winner: int, note: str
    ) -> Match:
        """Set a result. Raises Refusal ARGUMENT_INVALID, SCOPE_MISSING for somebody else's, and the match's."""
        caller = await self._organiser(call, Action.ADJUDICATE_MATCH, match_id)
        if kind is None:
            raise argument_invalid("another kind", "kind", "WIN, DRAW or VOID")
        if not note:
            raise argument_invalid("nothing", "note", "the reason, 1 to 500 characters")
        await self._matches.act(match_id, Adjudicate(caller.player, request_id, kind, winner, note))
        return await self._matches.match(match_id)

    async def _organiser(self, call: Call, action: Action, match_id: str) -> Caller:
        """Return who calls to end a match. Raises Refusal MATCH_NOT_FOUND, SCOPE_MISSING for somebody else's."""
        caller = await self._admission.caller(call, action)
        match = await self._matches.match(match_id)
        relation, whose = await self._relation(caller, match)
        check_relation(caller, action, relation, f"match {match.id}", whose)
        return caller

    async def _relation(self, caller: Caller, match: Match) -> tuple[Relation, str]:
        """Return what a caller is to a match, and whose it is, for a message.

        A match that two players agreed on by a challenge has no organiser, though one of them has made it.
        """
        tournament = tournament_of(match)
        if tournament:
            organiser = await self._tournaments.organiser(tournament)
            own = organiser == caller.player
            return Relation.OWN_TOURNAMENT if own else Relation.OTHERS, f"{organiser}, whose tournament it is of"
        if is_challenge(match.created):
            return Relation.OTHERS, "nobody: its players agreed on it"
        creator = match.created.creator
        return Relation.OWN if creator == caller.player else Relation.OTHERS, f"{creator}, who has made it"

    # -- watching ------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def observe(self, call: Call, watched: Watched | None, attending: bool = False) -> AsyncIterator[Stream]:
        """Hold a stream of events open. Raises Refusal ARGUMENT_INVALID for None, and as `Feed.of_match` and `of_all`.

        `attending`: the caller is there to play for as long as it lasts, as in `moving`. It ends with a refusal where a
        reader is too slow, is shut out, or the server stops.
        """
        async with self._watching(call, attending) as reader, self._stream(watched, reader) as stream:
            yield stream

    @asynccontextmanager
    async def watching(self, call: Call, attending: bool = False) -> AsyncIterator[str]:
        """Hold open what is no stream of its own: its reader gets what `all_events` has, and `past` before that.

        Gives the name under which the reader counts. Raises as `observe` does.
        """
        async with self._watching(call, attending) as reader:
            with self._feed.counted():
                yield reader

    @asynccontextmanager
    async def _watching(self, call: Call, attending: bool) -> AsyncIterator[str]:
        caller = await self._admission.caller(call, Action.OBSERVE)
        there = self.moving(call) if attending else nullcontext()
        async with there, self._streams.held(caller, "events"):
            yield caller.player

    def all_events(self, after: int | None) -> AbstractAsyncContextManager[Stream]:
        """Give the events of all after a journal place, None for from now: one stream that a door hands on to many."""
        return self._feed.of_all(after, "")

    def past(self, reader: str, watched: Watched, until: int | None) -> AsyncGenerator[Sequence[Published]]:
        """Give the events that the journal has after what `watched` says, up to a journal place; None for all.

        Raises Refusal ARGUMENT_INVALID for a place that is not there yet.
        """
        match watched:
            case OfMatch(match_id, after_revision):
                return self._feed.past_of_match(match_id, after_revision, until, reader)
            case OfAll(token, _):
                return self._feed.past_of_all(number_of(token, "after_token"), until, reader)

    def _stream(self, watched: Watched | None, reader: str) -> AbstractAsyncContextManager[Stream]:
        match watched:
            case OfMatch(match_id, after_revision):
                return self._feed.of_match(match_id, after_revision, reader)
            case OfAll(token, label):
                return self._feed.of_all(number_of(token, "after_token") if token else None, label, reader)
            case _:
                raise argument_invalid("nothing", "of", "a match or all")

    async def of_event(self, match_id: str) -> Match:
        """Return the match of an event that an observer is told of, as it began, or further on."""
        return await self._matches.begun(match_id)

    async def watched(self, match_id: str) -> Match:
        """Return a match that an observer watches, as it stands. Raises MATCH_NOT_FOUND."""
        return await self._matches.match(match_id)

    async def at_event(self, event: Published) -> Match:
        """Return the match of an event that an observer is told of, as it stood after the event, or further on."""
        match = await self._matches.match(event.match_id)
        if match.revision < event.revision:  # the journal had the event before the live match heard that it is durable
            match = load_match(await self._matches.record(event.match_id, 0, event.revision))
        return match

    @asynccontextmanager
    async def transcript(self, call: Call, match_id: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Hold the record of a match open, in parts of whole lines, with its signature. Raises MATCH_NOT_FOUND."""
        caller = await self._admission.caller(call, Action.GET_TRANSCRIPT)
        async with self._streams.held(caller, "transcripts"):
            with self._feed.history.reader(caller.player) as page:
                yield _in_turn(page, self._transcripts.parts(match_id))


async def _in_turn(page: ReadingTurn, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield parts of a transcript, each of which waits for its turn."""
    await page.turn()
    async for part in parts:
        yield part
        await page.turn()
