"""Calls over real gRPC for the tests of this folder: stubs, expected refusals, matches."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import (
    game_pb2_grpc,
    match_pb2,
    match_pb2_grpc,
    player_pb2_grpc,
    rating_pb2_grpc,
    refusal_pb2,
    server_pb2_grpc,
    tournament_pb2_grpc,
)
from google.rpc import status_pb2

from arbiter.errors import Reason
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served
from arbiter.wire.refusal_messages import CODES

Metadata = list[tuple[str, str]]


class Stubs:
    """The services of a server as its clients see them, and a token for each kind of caller."""

    def __init__(self, server: Served) -> None:
        self.served = server
        channel = server.channel
        self.server: Any = server_pb2_grpc.ServerServiceStub(channel)
        self.games: Any = game_pb2_grpc.GameServiceStub(channel)
        self.matches: Any = match_pb2_grpc.MatchServiceStub(channel)
        self.players: Any = player_pb2_grpc.PlayerServiceStub(channel)
        self.tournaments: Any = tournament_pb2_grpc.TournamentServiceStub(channel)
        self.ratings: Any = rating_pb2_grpc.RatingServiceStub(channel)
        self.alice: Metadata = []
        self.bob: Metadata = []
        self.org: Metadata = []

    async def enter(self) -> Stubs:
        """Register alice and bob, who play, and org, who organises."""
        self.alice = await self.served.token("alice")
        self.bob = await self.served.token("bob")
        self.org = await self.served.token("org", Scope.ORGANISE)
        return self

    @property
    def admin(self) -> Metadata:
        """Return the metadata of the first admin."""
        return [("authorization", f"Bearer {self.served.running.admin_token}")]

    async def match(self, request_id: str = "r", **fields: Any) -> match_pb2.Match:
        """Create a match of alice and bob that starts at once, by default without a time control."""
        asked: dict[str, Any] = {
            "game": "circle-of-life",
            "players": ["alice", "bob"],
            "time_control": "none",
            "start": match_pb2.START_RULE_AT_ONCE,
        } | fields
        request = match_pb2.CreateMatchRequest(request_id=request_id, **asked)
        made = await self.matches.CreateMatch(request, metadata=self.org)
        match: match_pb2.Match = made.match
        return match

    async def move(self, seat: int, match_id: str, ply: int, move: str, request_id: str = "") -> match_pb2.Receipt:
        """Play a move as the player of a seat; alice has seat 1."""
        request = match_pb2.SubmitMoveRequest(request_id=request_id or f"m{ply}", match_id=match_id, ply=ply, move=move)
        answer = await self.matches.SubmitMove(request, metadata=self.alice if seat == 1 else self.bob)
        receipt: match_pb2.Receipt = answer.receipt
        return receipt


def refusal_in(error: grpc.aio.AioRpcError) -> refusal_pb2.Refusal:
    """Return the refusal in the details of the status that ended a call."""
    trailer = dict(error.trailing_metadata() or ())["grpc-status-details-bin"]
    assert isinstance(trailer, bytes)
    status = status_pb2.Status.FromString(trailer)
    assert status.code == error.code().value[0]
    (detail,) = status.details
    refusal = refusal_pb2.Refusal()
    assert detail.Unpack(refusal)
    return refusal


async def refused(call: Awaitable[Any] | AsyncIterable[Any], reason: Reason, **facts: str) -> refusal_pb2.Refusal:
    """Await a call that must be refused with a reason, with the table's status code and at least these facts."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await _answer(call)
    error = caught.value
    refusal = refusal_in(error)
    assert refusal_pb2.RefusalReason.Name(refusal.reason) == f"REFUSAL_REASON_{reason.value}", refusal
    assert error.code() is CODES[reason]
    assert refusal.code == CODES[reason].value[0]
    assert refusal.message.startswith(error.details() or "?")
    found = dict(refusal.facts)
    assert {name: found.get(name) for name in facts} == facts
    return refusal


async def _answer(call: Awaitable[Any] | AsyncIterable[Any]) -> Any:
    if isinstance(call, AsyncIterable):
        return [response async for response in call]
    return await call
