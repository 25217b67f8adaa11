"""The calls that create, find, play, end and observe matches, for every API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias

from arbiter.config import Settings
from arbiter.errors import Refusal, argument_invalid
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
from arbiter.matches.events import Ended
from arbiter.matches.match import Match, Phase
from arbiter.matches.requests import Receipt
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.open_streams import OpenStreams
from arbiter.service.gate.paging import Page, PageRequest, number_of, page_of, size_of
from arbiter.service.gate.play import ACT_S, PlayerMoves
from arbiter.service.gate.recorded_games import recorded
from arbiter.service.gate.rights import Action, Relation, check_relation
from arbiter.service.gate.use_cases import UseCases
from arbiter.service.observing.feed import Stream
from arbiter.service.play.challenges import is_challenge
from arbiter.service.players.accounts import Caller, check_plays
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import Filter, MatchSummary, PlayerResult
from arbiter.service.record.match_log import load_match
from arbiter.service.record.published import Published
from arbiter.service.tournaments.game_matches import tournament_of
from arbiter.service.tournaments.tournament_registry import TournamentRegistry


@dataclass(frozen=True, slots=True)
class NewMatch:
    """The request for a new match. policy: the fields of `Policy` that it sets; the others have the server's values."""

    request_id: str
    game: str
    players: tuple[str, ...]
    time_control: str = ""
    rated: bool = False
    label: str = ""
    opening: tuple[str, ...] = ()
    position: str = ""
    policy: Mapping[str, Any] = field(default_factory=dict)


class MatchQuery(NamedTuple):
    """The matches to list; '' and None let everything through.

    ended: True for ended matches only, False for the others. variants_of: a game whose rules may not be installed.
    """

    player: str = ""
    game: str = ""
    label: str = ""
    ended: bool | None = None
    variants_of: str = ""


class OfMatch(NamedTuple):
    """The events of one match or one tournament after a revision."""

    match_id: str
    after_revision: int


class OfAll(NamedTuple):
    """The events of all matches and tournaments, or of those with a label.

    after_token: where to begin; '' for new events only. without_moves: moves are left out.
    """

    after_token: str
    label: str
    without_moves: bool = False


Watched: TypeAlias = OfMatch | OfAll
Listed: TypeAlias = Match | MatchSummary


def is_enough(match: Match, event: Published) -> bool:
    """Return whether an observer's message of an event can be made with its match in this state."""
    return match.phase is Phase.ENDED or not isinstance(event.event, Ended)


class MatchGate:
    """The calls about matches. Each raises what `Admission.caller` raises, and what its own docstring says."""

    def __init__(
        self, admission: Admission, streams: OpenStreams, use_cases: UseCases, clock: Clock, settings: Settings
    ) -> None:
        self._admission = admission
        self._streams = streams
        self._matches = matches = use_cases.matches
        self.known: Final = matches.known  #: as `of_event`, or None if the match has to be read
        self.watched: Final = matches.match  #: an observed match in its current state
        self._feed = use_cases.feed
        self._accounts = use_cases.accounts
        self._sessions = use_cases.sessions
        self._transcripts = use_cases.transcripts
        self._tournaments = use_cases.tournaments
        self._rulings = use_cases.rulings
        self._clock = clock
        self._settings = settings
        self._policy = use_cases.policy
        self._background = use_cases.background

    async def create(self, call: Call, new: NewMatch) -> Match:
        """Create a match, or return the one that the same request has created before.

        Raises Refusal ARGUMENT_INVALID, PLAYER_SUSPENDED, PLAYER_NOT_FOUND, and as `MatchRegistry.create`.
        """
        caller = await self._admission.caller(call, Action.CREATE_MATCH)
        if len(new.players) != 2:
            raise argument_invalid(f"{len(new.players)} players", "players", "two names, seat 1 first")
        command = Create(
            game=new.game,
            players=(self._accounts.names.key(new.players[0]), self._accounts.names.key(new.players[1])),
            time=new.time_control or self._settings.matches.time_control,
            creator=caller.player,
            request=new.request_id,
            policy=replace(self._policy, **new.policy),
            rated=new.rated,
            label=new.label,
            chosen=tuple(new.policy),
            opening=new.opening,
            position=new.position,
        )
        # A repeated request gets the same answer, even if one of the players has been suspended since.
        match = await self._matches.made(command)
        if match is None:
            for name in command.players:
                check_plays(await self._accounts.player(name))
            match = await self._matches.create(command)
        return match

    async def get(self, call: Call, match_id: str) -> Match:
        """Return a match in its current state. Raises Refusal MATCH_NOT_FOUND."""
        caller = await self._admission.caller(call, Action.GET_MATCH)
        if self._matches.live.find(match_id) is not None:
            return await self._matches.match(match_id)
        async with self._admission.turn(caller):  # this may read the journal
            match = await self._matches.match(match_id)
            self._admission.charge(caller, match.revision)
            return match

    async def get_and_ruling(self, call: Call, match_id: str) -> tuple[Match, int]:
        """Return a match, and the number of the ruling by which it does not count for ratings, 0 without one.

        Raises what `get` raises, and Refusal STORE_UNAVAILABLE, RECORD_DAMAGED.
        """
        match = await self.get(call, match_id)
        ruled = await self._rulings.on_match(match.id) if match.result is not None and match.created.rated else None
        return match, ruled[0] if ruled is not None else 0

    async def list(self, call: Call, wanted: MatchQuery, page: PageRequest) -> Page[Listed]:
        """Return a page of matches, newest first. Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID, ARGUMENT_INVALID."""
        caller = await self._admission.caller(call, Action.LIST_MATCHES)
        size = size_of(page, self._settings.limits)
        game = await recorded(self._matches, wanted.game)
        player = self._accounts.names.key(wanted.player)
        which = Filter(player, game, wanted.label, wanted.ended, wanted.variants_of)
        async with self._admission.turn(caller):
            rows = await self._matches.summaries(which, number_of(page.token), size + 1)
            self._admission.charge(caller, len(rows))
            shown = page_of(rows, size, lambda row: str(row.sequence))
            await self._matches.revive(row.match_id for row in shown.items if not row.end)
            items = [row if row.end else await self._matches.match(row.match_id) for row in shown.items]
            return Page(items, shown.next_token)

    async def results_by_kind(self, call: Call, player: str) -> Sequence[PlayerResult]:
        """Return how often a player's ended matches ended in each way; nothing if there is no such player."""
        caller = await self._admission.caller(call, Action.LIST_MATCHES)
        found = await self._matches.results_by_kind(self._accounts.names.key(player))
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
            request_id,
            lambda seat, request: Play(seat, request, ply, move, arrived, comment=comment),
        )

    @asynccontextmanager
    async def moving(self, call: Call) -> AsyncIterator[PlayerMoves]:
        """Open a stream of moves. While it is open, its player counts as present."""
        caller = await self._admission.caller(call, Action.SUBMIT_MOVES)
        async with self._streams.held(caller, "moves"):
            await self._matches.revive_of(caller.player)
            with self._sessions.attending(caller.player):
                most = self._settings.limits.move_answers
                yield PlayerMoves(self._matches, self._clock, self._background, caller.player, most)

    # -- draws and ends ------------------------------------------------------------------------------------------

    async def offer_draw(self, call: Call, match_id: str, request_id: str) -> Receipt:
        """Offer a draw. Raises the refusal of the match."""
        return await self._request(call, Action.OFFER_DRAW, match_id, request_id, OfferDraw)

    async def answer_draw(self, call: Call, match_id: str, request_id: str, accept: bool) -> Receipt:
        """Accept or decline a draw. Raises the refusal of the match."""
        return await self._request(
            call, Action.ANSWER_DRAW, match_id, request_id, lambda seat, request: AnswerDraw(seat, request, accept)
        )

    async def claim_draw(self, call: Call, match_id: str, request_id: str) -> Receipt:
        """Claim a draw. Raises the refusal of the match."""
        return await self._request(call, Action.CLAIM_DRAW, match_id, request_id, ClaimDraw)

    async def resign(self, call: Call, match_id: str, request_id: str) -> Receipt:
        """Resign. Raises the refusal of the match."""
        return await self._request(call, Action.RESIGN, match_id, request_id, Resign)

    async def _request(
        self, call: Call, action: Action, match_id: str, request_id: str, make: Callable[[Seat, str], SeatRequest]
    ) -> Receipt:
        caller = await self._admission.caller(call, action)
        if self._matches.has_answered(caller.player, match_id, request_id):
            await self._admission.refused(call)  # it costs as much as a refusal
            await self._background.spend(f"player {caller.player}", ACT_S)
        answer = await self._matches.request(caller.player, match_id, lambda seat: make(seat, request_id))
        if isinstance(answer, Refusal):
            raise answer
        return answer

    async def abort(self, call: Call, match_id: str, request_id: str, note: str) -> Match:
        """End a match without a result.

        Raises Refusal SCOPE_MISSING for another caller's match, and the refusal of the match.
        """
        caller = await self._organiser(call, Action.ABORT_MATCH, match_id)
        await self._matches.act(match_id, Abort(caller.player, request_id, note))
        return await self._matches.match(match_id)

    async def adjudicate(
        self, call: Call, match_id: str, request_id: str, kind: ResultKind | None, winner: int, note: str
    ) -> Match:
        """Set the result of a match.

        Raises Refusal ARGUMENT_INVALID, SCOPE_MISSING for another caller's match, and the refusal of the match.
        """
        caller = await self._organiser(call, Action.ADJUDICATE_MATCH, match_id)
        if kind is None:
            raise argument_invalid("another kind", "kind", "WIN, DRAW or VOID")
        if not note:
            raise argument_invalid("nothing", "note", "the reason, 1 to 500 characters")
        await self._matches.act(match_id, Adjudicate(caller.player, request_id, kind, winner, note))
        return await self._matches.match(match_id)

    async def _organiser(self, call: Call, action: Action, match_id: str) -> Caller:
        """Return the caller, if it may end a match. Raises Refusal MATCH_NOT_FOUND, SCOPE_MISSING."""
        caller = await self._admission.caller(call, action)
        match = await self._matches.match(match_id)
        relation, whose = await _relation_to(caller, match, self._tournaments)
        check_relation(caller, action, relation, f"match {match.id}", whose)
        return caller

    # -- watching ------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def observe(self, call: Call, watched: Watched | None, attending: bool = False) -> AsyncIterator[Stream]:
        """Open a stream of events. Raises Refusal ARGUMENT_INVALID for None, and as `Feed.of_match` and `of_all`.

        `attending`: while the stream is open, the caller counts as present, as in `moving`. The stream ends with a
        refusal if its reader is too slow, if the caller is suspended or its token revoked, or if the server stops.
        """
        async with self._watching(call, attending) as reader, self._stream(watched, reader) as stream:
            yield stream

    @asynccontextmanager
    async def watching(self, call: Call, attending: bool = False) -> AsyncIterator[str]:
        """Count a reader that has no event stream of its own: it gets the events of `past`, then those of `all_events`.

        Yields the name under which the reader is counted. Raises as `observe` does.
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
        """Open the stream of all events after a sequence number, None for new events only.

        An API passes it on to many readers.
        """
        return self._feed.of_all(after, "")

    def past(self, reader: str, watched: Watched, until: int | None) -> AsyncGenerator[Sequence[Published]]:
        """Yield the events in the journal that a reader wants, up to a sequence number; None for all of them.

        Raises Refusal ARGUMENT_INVALID if `watched` begins after the last event.
        """
        match watched:
            case OfMatch(match_id, after_revision):
                return self._feed.past_of_match(match_id, after_revision, until, reader)
            case OfAll(token, _, _):
                return self._feed.past_of_all(number_of(token, "after_token"), until, reader)

    def _stream(self, watched: Watched | None, reader: str) -> AbstractAsyncContextManager[Stream]:
        match watched:
            case OfMatch(match_id, after_revision):
                return self._feed.of_match(match_id, after_revision, reader)
            case OfAll(token, label, without_moves):
                after = number_of(token, "after_token") if token else None
                return self._feed.of_all(after, label, reader, without_moves=without_moves)
            case _:
                raise argument_invalid("nothing", "of", "a match or all")

    async def of_event(self, event: Published) -> Match:
        """Return the match of an event that an observer gets: as it began, or in a later state; of an end, ended."""
        match = await self._matches.begun(event.match_id)
        return match if is_enough(match, event) else await self.at_event(event)

    async def at_event(self, event: Published) -> Match:
        """Return the match of an event that an observer gets: as it was after the event, or in a later state."""
        match = await self._matches.match(event.match_id)
        # The journal publishes an event before the live match learns that the event is durable.
        if match.revision < event.revision:
            match = load_match(await self._matches.record(event.match_id, 0, event.revision))
        return match

    @asynccontextmanager
    async def transcript(self, call: Call, match_id: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open the signed transcript of a match; yields it in parts of whole lines. Raises MATCH_NOT_FOUND."""
        caller = await self._admission.caller(call, Action.GET_TRANSCRIPT)
        async with self._streams.held(caller, "transcripts"):
            with self._feed.history.reader(caller.player) as page:
                yield page.each(self._transcripts.parts(match_id))


async def _relation_to(caller: Caller, match: Match, tournaments: TournamentRegistry) -> tuple[Relation, str]:
    """Return the relation of a caller to a match, and a description of the match's organiser, for a message.

    A match that two players agreed on by a challenge has no organiser ('' as its description), although one of them
    has created it.
    """
    if tournament := tournament_of(match):
        organiser = await tournaments.organiser(tournament)
        own = organiser == caller.player
        return Relation.OWN_TOURNAMENT if own else Relation.OTHERS, f"the organiser of its tournament ({organiser})"
    if is_challenge(match.created):
        return Relation.OTHERS, ""
    creator = match.created.creator
    return Relation.OWN if creator == caller.player else Relation.OTHERS, f"its creator ({creator})"
