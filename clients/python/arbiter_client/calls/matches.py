"""The calls of MatchService, except for watching (see `arbiter_client.calls.observing`)."""

from __future__ import annotations

from collections.abc import Sequence

from arbiter_protos.v1 import match_pb2

from arbiter_client.calls.base import Calls, collect, new_request_id
from arbiter_client.values.match import Match, Phase, Policy, Receipt, ResultKind, StartRule, comment_message
from arbiter_client.values.reading import read


class MatchCalls(Calls):
    """Making matches, playing in them, and ending them as an organiser. Calls without a request id choose one."""

    async def create_match(
        self,
        game: str,
        players: Sequence[str],
        *,
        time_control: str = "",
        rated: bool = False,
        label: str = "",
        start: StartRule = StartRule.UNSPECIFIED,
        policy: Policy | None = None,
        opening: Sequence[str] = (),
        position: str = "",
        request_id: str = "",
    ) -> Match:
        """Make a match; seat 1 comes first in `players`. Needs scope organise.

        `position` is the start position as text, '' for the game's initial one; `opening` are the first moves after it,
        which nobody plays, at most 1,000. A player may play against itself, unrated.
        Refusals: GAME_UNKNOWN, PARAMETER_INVALID, PLAYER_NOT_FOUND, PLAYER_SUSPENDED, ARGUMENT_INVALID, MOVE_MALFORMED,
        MOVE_ILLEGAL, REQUEST_ID_REUSED, SCOPE_MISSING.
        """
        request = match_pb2.CreateMatchRequest(
            request_id=request_id or new_request_id(),
            game=game,
            players=players,
            time_control=time_control,
            rated=rated,
            label=label,
            start=match_pb2.StartRule.ValueType(start),
            policy=_policy(policy),
            opening=opening,
            position=position,
        )
        return read(Match, (await self.connection.ask(self.connection.matches.CreateMatch, request)).match)

    async def get_match(self, match_id: str, with_moves: bool = False) -> Match:
        """Return the current state of a match. Refusals: MATCH_NOT_FOUND."""
        request = match_pb2.GetMatchRequest(match_id=match_id, with_moves=with_moves)
        return read(Match, (await self.connection.ask(self.connection.matches.GetMatch, request)).match)

    async def list_matches(
        self,
        *,
        player: str = "",
        game: str = "",
        label: str = "",
        phase: Phase = Phase.UNSPECIFIED,
        most: int = 100,
    ) -> tuple[Match, ...]:
        """Return the newest matches that pass the filters, without position, moves and clocks.

        PENDING, ACTIVE and PAUSED all mean "not ended". Refusals: ARGUMENT_INVALID.
        """

        async def ask(size: int, token: str) -> match_pb2.ListMatchesResponse:
            request = match_pb2.ListMatchesRequest(
                page_size=size,
                page_token=token,
                player=player,
                game=game,
                label=label,
                phase=match_pb2.Phase.ValueType(phase),
            )
            return await self.connection.ask(self.connection.matches.ListMatches, request)

        return await collect(most, ask, lambda page: [read(Match, match) for match in page.matches])

    async def submit_move(
        self,
        match_id: str,
        ply: int,
        move: str,
        request_id: str = "",
        *,
        evaluation: int | None = None,
        line: Sequence[str] = (),
    ) -> Receipt:
        """Play a move that answers a ply; the receipt comes once the move is durable.

        `evaluation` and `line` are what `Move` says with it.

        Refusals: MATCH_NOT_FOUND, SEAT_NOT_YOURS, MATCH_NOT_ACTIVE, PLY_MISMATCH, NOT_YOUR_TURN, MOVE_MALFORMED,
        MOVE_ILLEGAL, REQUEST_ID_REUSED, STORE_UNAVAILABLE, DRAINING.
        """
        request = match_pb2.SubmitMoveRequest(
            request_id=request_id or new_request_id(),
            match_id=match_id,
            ply=ply,
            move=move,
            comment=comment_message(evaluation, line),
        )
        return read(Receipt, (await self.connection.ask(self.connection.matches.SubmitMove, request)).receipt)

    async def offer_draw(self, match_id: str, request_id: str = "") -> Receipt:
        """Offer a draw. Refusals: as for submit_move, DRAW_NOT_AVAILABLE."""
        request = match_pb2.OfferDrawRequest(request_id=request_id or new_request_id(), match_id=match_id)
        return read(Receipt, (await self.connection.ask(self.connection.matches.OfferDraw, request)).receipt)

    async def answer_draw(self, match_id: str, accept: bool, request_id: str = "") -> Receipt:
        """Accept or decline the opponent's draw offer. Refusals: as for offer_draw."""
        request = match_pb2.AnswerDrawRequest(
            request_id=request_id or new_request_id(), match_id=match_id, accept=accept
        )
        return read(Receipt, (await self.connection.ask(self.connection.matches.AnswerDraw, request)).receipt)

    async def claim_draw(self, match_id: str, request_id: str = "") -> Receipt:
        """Claim a draw that the rules grant to the seat to move. Refusals: as for offer_draw."""
        request = match_pb2.ClaimDrawRequest(request_id=request_id or new_request_id(), match_id=match_id)
        return read(Receipt, (await self.connection.ask(self.connection.matches.ClaimDraw, request)).receipt)

    async def resign(self, match_id: str, request_id: str = "") -> Receipt:
        """Resign a match. Refusals: as for submit_move."""
        request = match_pb2.ResignRequest(request_id=request_id or new_request_id(), match_id=match_id)
        return read(Receipt, (await self.connection.ask(self.connection.matches.Resign, request)).receipt)

    async def abort_match(self, match_id: str, note: str = "", request_id: str = "") -> Match:
        """End a match as void. Needs scope organise and a match of one's own making, or scope admin.

        Refusals: MATCH_NOT_FOUND, MATCH_NOT_ACTIVE (it has ended), SCOPE_MISSING, REQUEST_ID_REUSED.
        """
        request = match_pb2.AbortMatchRequest(request_id=request_id or new_request_id(), match_id=match_id, note=note)
        return read(Match, (await self.connection.ask(self.connection.matches.AbortMatch, request)).match)

    async def adjudicate_match(
        self, match_id: str, kind: ResultKind, note: str, winner: int = 0, request_id: str = ""
    ) -> Match:
        """End a match with a result set by its organiser. Scopes and refusals: as for abort_match."""
        request = match_pb2.AdjudicateMatchRequest(
            request_id=request_id or new_request_id(),
            match_id=match_id,
            kind=match_pb2.ResultKind.ValueType(kind),
            winner=winner,
            note=note,
        )
        return read(Match, (await self.connection.ask(self.connection.matches.AdjudicateMatch, request)).match)

    async def transcript(self, match_id: str) -> bytes:
        """Return the record of a match: one canonical JSON text a line. Refusals: MATCH_NOT_FOUND."""
        request = match_pb2.GetTranscriptRequest(match_id=match_id)
        parts = await self.connection.ask_all(self.connection.matches.GetTranscript, request)
        return b"".join(part.lines for part in parts)


def _policy(policy: Policy | None) -> match_pb2.Policy | None:
    if policy is None:
        return None
    return match_pb2.Policy(
        illegal_moves=policy.illegal_moves,
        no_show_ms=policy.no_show_ms,
        abandon_ms=policy.abandon_ms,
        move_cap_ms=policy.move_cap_ms,
        kept_refusals=policy.kept_refusals,
        ready_ms=policy.ready_ms,
    )
