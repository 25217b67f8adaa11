"""MatchService."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from arbiter_protos.v1 import match_pb2 as pb
from arbiter_protos.v1 import match_pb2_grpc

from arbiter.config import Settings
from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.contract import Seat
from arbiter.matches.commands import (
    Abort,
    Adjudicate,
    AnswerDraw,
    ClaimDraw,
    Create,
    OfferDraw,
    Resign,
    ResultKind,
    SeatRequest,
)
from arbiter.matches.policy import Policy, Start
from arbiter.rpc.door import Context, Door, number_of_token
from arbiter.rpc.move_stream import MoveStream, move_of
from arbiter.rpc.observe import Observations
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.matches.transcripts import Transcripts
from arbiter.service.play.sessions import Sessions
from arbiter.service.players.accounts import Accounts, Scope, check_not_suspended, invalid
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import Filter
from arbiter.wire.matches import match_message, receipt_message, row_message

RESULTS = {
    pb.RESULT_KIND_WIN: ResultKind.WIN,
    pb.RESULT_KIND_DRAW: ResultKind.DRAW,
    pb.RESULT_KIND_VOID: ResultKind.VOID,
}


class MatchServicer(match_pb2_grpc.MatchServiceServicer):
    """Matches."""

    def __init__(
        self,
        door: Door,
        matches: MatchRegistry,
        accounts: Accounts,
        sessions: Sessions,
        transcripts: Transcripts,
        clock: Clock,
        settings: Settings,
        policy: Policy,
    ) -> None:
        self._door = door
        self._matches = matches
        self._accounts = accounts
        self._sessions = sessions
        self._transcripts = transcripts
        self._clock = clock
        self._settings = settings
        self._policy = policy
        self._observations = Observations(door, matches)

    async def CreateMatch(  # noqa: N802
        self, request: pb.CreateMatchRequest, context: Context
    ) -> pb.CreateMatchResponse:
        """Make a match."""
        caller = await self._door.caller(context, Scope.ORGANISE)
        if len(request.players) != 2:
            raise invalid(f"{len(request.players)} players", "players", "two names, seat 1 first")
        policy, chosen = self._policy_of(request)
        command = Create(
            game=request.game,
            players=(request.players[0], request.players[1]),
            time=request.time_control or self._settings.matches.time_control,
            creator=caller.player,
            request=request.request_id,
            policy=policy,
            rated=request.rated,
            label=request.label,
            chosen=chosen,
            opening=tuple(request.opening),
        )
        match = await self._matches.made(command)  # whoever has been suspended since: the answer stays the same
        if match is None:
            for name in request.players:
                check_not_suspended(await self._accounts.player(name))
            match = await self._matches.create(command)
        return pb.CreateMatchResponse(match=match_message(match))

    def _policy_of(self, request: pb.CreateMatchRequest) -> tuple[Policy, tuple[str, ...]]:
        """Return the policy of a new match, and which of its fields the request chooses."""
        asked = request.policy
        names = ("illegal_moves", "kept_refusals", "no_show_ms", "abandon_ms", "move_cap_ms")
        changes: dict[str, Any] = {name: getattr(asked, name) for name in names if asked.HasField(name)}  # type: ignore[arg-type]
        if request.start == pb.START_RULE_AT_ONCE:
            changes["start"] = Start.AT_ONCE
        return replace(self._policy, **changes), tuple(changes)

    async def GetMatch(self, request: pb.GetMatchRequest, context: Context) -> pb.GetMatchResponse:  # noqa: N802
        """Return a match as it stands."""
        await self._door.reader(context)
        return pb.GetMatchResponse(match=match_message(await self._matches.match(request.match_id), request.with_moves))

    async def ListMatches(  # noqa: N802
        self, request: pb.ListMatchesRequest, context: Context
    ) -> pb.ListMatchesResponse:
        """List matches, newest first."""
        await self._door.reader(context)
        size = self._door.page_size(request.page_size)
        phase = request.phase
        which = Filter(
            player=request.player,
            game=registry.game(request.game).variant if request.game else "",
            label=request.label,
            ended=None if phase == pb.PHASE_UNSPECIFIED else phase == pb.PHASE_ENDED,
        )
        rows = await self._matches.rows(which, number_of_token(request.page_token), size + 1)
        shown = rows[:size]
        return pb.ListMatchesResponse(
            matches=[
                row_message(row) if row.end else match_message(await self._matches.match(row.match_id)) for row in shown
            ],
            next_page_token=str(shown[-1].sequence) if len(rows) > size else "",
        )

    # -- moves ---------------------------------------------------------------------------------------------------

    async def SubmitMove(  # noqa: N802
        self, request: pb.SubmitMoveRequest, context: Context
    ) -> pb.SubmitMoveResponse:
        """Play one move."""
        receipt = await self._request(request, context, move_of(request, self._clock.now_ms()))
        return pb.SubmitMoveResponse(receipt=receipt)

    async def SubmitMoves(  # type: ignore[override]  # noqa: N802 - reads and writes on its context
        self, request_iterator: Any, context: Context
    ) -> None:
        """Play moves as they come; answer each as soon as it is durable."""
        caller = await self._door.player(context)
        async with self._door.holding(caller, "moves"):
            with self._sessions.attending(caller.player):
                await MoveStream(self._matches, self._clock, self._settings.limits, caller.player, context).serve()

    # -- draws and ends ------------------------------------------------------------------------------------------

    async def OfferDraw(self, request: pb.OfferDrawRequest, context: Context) -> pb.OfferDrawResponse:  # noqa: N802
        """Offer a draw."""
        receipt = await self._request(request, context, lambda seat: OfferDraw(seat, request.request_id))
        return pb.OfferDrawResponse(receipt=receipt)

    async def AnswerDraw(  # noqa: N802
        self, request: pb.AnswerDrawRequest, context: Context
    ) -> pb.AnswerDrawResponse:
        """Accept or decline a draw."""
        receipt = await self._request(
            request, context, lambda seat: AnswerDraw(seat, request.request_id, request.accept)
        )
        return pb.AnswerDrawResponse(receipt=receipt)

    async def ClaimDraw(self, request: pb.ClaimDrawRequest, context: Context) -> pb.ClaimDrawResponse:  # noqa: N802
        """Claim a draw."""
        receipt = await self._request(request, context, lambda seat: ClaimDraw(seat, request.request_id))
        return pb.ClaimDrawResponse(receipt=receipt)

    async def Resign(self, request: pb.ResignRequest, context: Context) -> pb.ResignResponse:  # noqa: N802
        """Give up."""
        receipt = await self._request(request, context, lambda seat: Resign(seat, request.request_id))
        return pb.ResignResponse(receipt=receipt)

    async def _request(self, request: Any, context: Context, make: Callable[[Seat], SeatRequest]) -> pb.Receipt:
        caller = await self._door.player(context)
        answer = await self._matches.request(caller.player, request.match_id, make)
        if isinstance(answer, Refusal):
            raise answer
        return receipt_message(request.request_id, request.match_id, answer)

    async def AbortMatch(self, request: pb.AbortMatchRequest, context: Context) -> pb.AbortMatchResponse:  # noqa: N802
        """End a match that shall not count."""
        caller = await self._door.caller(context, Scope.ORGANISE)
        await self._matches.act(request.match_id, Abort(caller.player, request.request_id, request.note))
        return pb.AbortMatchResponse(match=match_message(await self._matches.match(request.match_id)))

    async def AdjudicateMatch(  # noqa: N802
        self, request: pb.AdjudicateMatchRequest, context: Context
    ) -> pb.AdjudicateMatchResponse:
        """Set a result."""
        caller = await self._door.caller(context, Scope.ORGANISE)
        kind = RESULTS.get(request.kind)
        if kind is None:
            raise invalid(request.kind, "kind", "WIN, DRAW or VOID")
        if not request.note:
            raise invalid("nothing", "note", "the reason, 1 to 500 characters")
        command = Adjudicate(caller.player, request.request_id, kind, request.winner, request.note)
        await self._matches.act(request.match_id, command)
        return pb.AdjudicateMatchResponse(match=match_message(await self._matches.match(request.match_id)))

    # -- watching ------------------------------------------------------------------------------------------------

    async def Observe(  # type: ignore[override]  # noqa: N802 - writes on its context
        self, request: pb.ObserveRequest, context: Context
    ) -> None:
        """Stream events."""
        await self._observations.serve(request, context)

    async def GetTranscript(  # type: ignore[override]  # noqa: N802 - writes on its context
        self, request: pb.GetTranscriptRequest, context: Context
    ) -> None:
        """Stream the record of a match, and its signature."""
        caller = await self._door.reader(context)
        async with self._door.holding(caller, "transcripts"):
            async for lines in self._transcripts.parts(request.match_id):
                await self._door.send(context, pb.GetTranscriptResponse(lines=lines))
