"""MatchService."""

from __future__ import annotations

from typing import Any

from arbiter_protos.v1 import match_pb2 as pb
from arbiter_protos.v1 import match_pb2_grpc

from arbiter.config import Limits
from arbiter.rpc.move_stream import MoveStream
from arbiter.rpc.observe import Observations
from arbiter.rpc.servicing import Context, MessageWriter, call_of, in_portions
from arbiter.rpc.unread import Unread
from arbiter.service.gate.match_calls import MatchGate
from arbiter.service.gate.paging import PageRequest
from arbiter.service.ports.meter import NO_METER, Meter
from arbiter.wire.match_messages import comment_of, listed_message, match_message, receipt_message
from arbiter.wire.match_requests import new_match_of, result_kind_of, wanted_of


class MatchServicer(match_pb2_grpc.MatchServiceServicer):
    """Matches."""

    def __init__(self, matches: MatchGate, unread: Unread, limits: Limits, meter: Meter = NO_METER) -> None:
        self._matches = matches
        self._unread = unread
        self._limits = limits
        self._meter = meter
        self._observations = Observations(matches, unread, limits)

    async def CreateMatch(self, request: pb.CreateMatchRequest, context: Context) -> pb.CreateMatchResponse:
        made = await self._matches.create(call_of(context), new_match_of(request))
        return pb.CreateMatchResponse(match=match_message(made))

    async def GetMatch(self, request: pb.GetMatchRequest, context: Context) -> pb.GetMatchResponse:
        match, unrated_by = await self._matches.get_and_ruling(call_of(context), request.match_id)
        return pb.GetMatchResponse(match=match_message(match, request.with_moves, unrated_by))

    async def ListMatches(self, request: pb.ListMatchesRequest, context: Context) -> pb.ListMatchesResponse:
        page = PageRequest(request.page_size, request.page_token)
        found = await self._matches.list(call_of(context), wanted_of(request), page)
        matches = await in_portions(map(listed_message, found.items))
        return pb.ListMatchesResponse(matches=matches, next_page_token=found.next_token)

    # -- moves ---------------------------------------------------------------------------------------------------

    async def SubmitMove(self, request: pb.SubmitMoveRequest, context: Context) -> pb.SubmitMoveResponse:
        request_id, match_id = request.request_id, request.match_id
        receipt = await self._matches.submit(
            call_of(context), match_id, request_id, request.ply, request.move, comment_of(request)
        )
        return pb.SubmitMoveResponse(receipt=receipt_message(request_id, match_id, receipt))

    async def SubmitMoves(  # type: ignore[override]  # reads and writes on its context
        self, request_iterator: Any, context: Context
    ) -> None:
        async with self._matches.moving(call_of(context)) as moves:
            writer = MessageWriter(context, self._unread, self._limits)
            await MoveStream(moves, context, writer, self._meter).serve()

    # -- draws and ends ------------------------------------------------------------------------------------------

    async def OfferDraw(self, request: pb.OfferDrawRequest, context: Context) -> pb.OfferDrawResponse:
        request_id, match_id = request.request_id, request.match_id
        receipt = await self._matches.offer_draw(call_of(context), match_id, request_id)
        return pb.OfferDrawResponse(receipt=receipt_message(request_id, match_id, receipt))

    async def AnswerDraw(self, request: pb.AnswerDrawRequest, context: Context) -> pb.AnswerDrawResponse:
        request_id, match_id = request.request_id, request.match_id
        receipt = await self._matches.answer_draw(call_of(context), match_id, request_id, request.accept)
        return pb.AnswerDrawResponse(receipt=receipt_message(request_id, match_id, receipt))

    async def ClaimDraw(self, request: pb.ClaimDrawRequest, context: Context) -> pb.ClaimDrawResponse:
        request_id, match_id = request.request_id, request.match_id
        receipt = await self._matches.claim_draw(call_of(context), match_id, request_id)
        return pb.ClaimDrawResponse(receipt=receipt_message(request_id, match_id, receipt))

    async def Resign(self, request: pb.ResignRequest, context: Context) -> pb.ResignResponse:
        request_id, match_id = request.request_id, request.match_id
        receipt = await self._matches.resign(call_of(context), match_id, request_id)
        return pb.ResignResponse(receipt=receipt_message(request_id, match_id, receipt))

    async def AbortMatch(self, request: pb.AbortMatchRequest, context: Context) -> pb.AbortMatchResponse:
        match = await self._matches.abort(call_of(context), request.match_id, request.request_id, request.note)
        return pb.AbortMatchResponse(match=match_message(match))

    async def AdjudicateMatch(self, request: pb.AdjudicateMatchRequest, context: Context) -> pb.AdjudicateMatchResponse:
        kind = result_kind_of(request.kind)
        match = await self._matches.adjudicate(
            call_of(context), request.match_id, request.request_id, kind, request.winner, request.note
        )
        return pb.AdjudicateMatchResponse(match=match_message(match))

    # -- watching ------------------------------------------------------------------------------------------------

    async def Observe(  # type: ignore[override]  # writes on its context
        self, request: pb.ObserveRequest, context: Context
    ) -> None:
        await self._observations.serve(request, context)

    async def GetTranscript(  # type: ignore[override]  # writes on its context
        self, request: pb.GetTranscriptRequest, context: Context
    ) -> None:
        writer = MessageWriter(context, self._unread, self._limits)
        async with self._matches.transcript(call_of(context), request.match_id) as parts:
            async for lines in parts:
                await writer.write(pb.GetTranscriptResponse(lines=lines))
