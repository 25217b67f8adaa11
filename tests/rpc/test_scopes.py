"""Which token opens which call: one table of every RPC."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import (
    player_pb2,
    refusal_pb2,
)
from google.protobuf.message_factory import GetMessageClass

from arbiter.service.players.accounts import Scope
from arbiter.testing.server import Served, served
from tests.rpc.calls import Metadata, Stubs, refusal_in
from tests.rpc.methods import METHODS

CALLERS = ("none", "wrong", "revoked", "play", "organise", "observe", "admin")

# "+" the call is let in, "T" TOKEN_INVALID, "S" SCOPE_MISSING; the columns are the CALLERS, in their order.
EVERYBODY, ALL_BUT_BROKEN, ANY_TOKEN = "+++ ++++", "+TT ++++", "TTT ++++"
PLAYERS, ORGANISERS, ADMINS, ENTRANTS = "TTT +SS+", "TTT S+S+", "TTT SSS+", "TTT ++S+"

TABLE = {
    "ServerService.GetServerInfo": EVERYBODY,
    "GameService.ListGames": EVERYBODY,
    "GameService.GetGame": EVERYBODY,
    "GameService.LegalMoves": EVERYBODY,
    "GameService.PlayMoves": EVERYBODY,
    "MatchService.CreateMatch": ORGANISERS,
    "MatchService.GetMatch": ANY_TOKEN,
    "MatchService.ListMatches": ANY_TOKEN,
    "MatchService.SubmitMove": PLAYERS,
    "MatchService.SubmitMoves": PLAYERS,
    "MatchService.Observe": ANY_TOKEN,
    "MatchService.OfferDraw": PLAYERS,
    "MatchService.AnswerDraw": PLAYERS,
    "MatchService.ClaimDraw": PLAYERS,
    "MatchService.Resign": PLAYERS,
    "MatchService.AbortMatch": ORGANISERS,
    "MatchService.AdjudicateMatch": ORGANISERS,
    "MatchService.GetTranscript": ANY_TOKEN,
    "PlayService.Play": PLAYERS,
    "PlayerService.RegisterPlayer": ALL_BUT_BROKEN,
    "PlayerService.CreateInvitation": ADMINS,
    "PlayerService.GetPlayer": ANY_TOKEN,
    "PlayerService.ListPlayers": ANY_TOKEN,
    "PlayerService.UpdateProfile": PLAYERS,
    "PlayerService.SuspendPlayer": ADMINS,
    "PlayerService.GrantBadge": ADMINS,
    "PlayerService.CreateToken": PLAYERS,  # asked for scope play, which the token must have itself
    "PlayerService.ListTokens": ANY_TOKEN,
    "PlayerService.RevokeToken": ANY_TOKEN,
    "PlayerService.CreateChallenge": PLAYERS,
    "PlayerService.AcceptChallenge": PLAYERS,
    "PlayerService.DeclineChallenge": PLAYERS,
    "PlayerService.CreateSeek": PLAYERS,
    "PlayerService.ListChallenges": PLAYERS,
    "TournamentService.CreateTournament": ORGANISERS,
    "TournamentService.EnterTournament": ENTRANTS,
    "TournamentService.WithdrawFromTournament": ENTRANTS,
    "TournamentService.StartTournament": ORGANISERS,
    "TournamentService.PauseTournament": ORGANISERS,
    "TournamentService.ResumeTournament": ORGANISERS,
    "TournamentService.CancelTournament": ORGANISERS,
    "TournamentService.GetTournament": ANY_TOKEN,
    "TournamentService.ListTournaments": ANY_TOKEN,
    "TournamentService.GetStandings": ANY_TOKEN,
    "RatingService.GetLeaderboard": ANY_TOKEN,
    "RatingService.GetRating": ANY_TOKEN,
    "RatingService.ComparePlayers": ANY_TOKEN,
}

REQUESTS: dict[str, Any] = {"PlayerService.CreateToken": player_pb2.CreateTokenRequest(scopes=[player_pb2.SCOPE_PLAY])}
SIGNS = {"REFUSAL_REASON_TOKEN_INVALID": "T", "REFUSAL_REASON_SCOPE_MISSING": "S"}


def test_the_table_has_every_rpc() -> None:
    assert set(TABLE) == set(METHODS)


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


async def callers(server: Served) -> dict[str, Metadata]:
    """Return the metadata of each kind of caller."""
    revoked = await server.token("gone")
    stubs = Stubs(server)
    (token,) = (await stubs.players.ListTokens(player_pb2.ListTokensRequest(), metadata=revoked)).tokens
    await stubs.players.RevokeToken(player_pb2.RevokeTokenRequest(token_id=token.token_id), metadata=revoked)
    single = {scope.value: await server.token(scope.value, scope) for scope in Scope}
    return {"none": [], "wrong": [("authorization", "Bearer nonsense")], "revoked": revoked, **single}


async def sign_of(server: Served, name: str, metadata: Metadata) -> str:
    """Return what becomes of a call at the door: whatever it says later, the call was let in."""
    method = METHODS[name]
    request = REQUESTS.get(name) or GetMessageClass(method.input_type)()
    path = f"/{method.containing_service.full_name}/{method.name}"
    reader = GetMessageClass(method.output_type).FromString
    writer = type(request).SerializeToString
    try:
        if method.client_streaming:
            open_stream: Any = server.channel.stream_stream(path, writer, reader)
            call = open_stream(iter(()), metadata=metadata)
        elif method.server_streaming:
            open_stream = server.channel.unary_stream(path, writer, reader)
            call = open_stream(request, metadata=metadata)
        else:
            ask: Any = server.channel.unary_unary(path, writer, reader)
            await ask(request, metadata=metadata)
            return "+"
        async for _ in call:
            pass
    except grpc.aio.AioRpcError as error:
        return SIGNS.get(refusal_pb2.RefusalReason.Name(refusal_in(error).reason), "+")
    return "+"


async def test_every_rpc_lets_in_whom_the_table_names(server: Served) -> None:
    who = await callers(server)
    found = {}
    for name in TABLE:
        signs = [await sign_of(server, name, who[caller]) for caller in CALLERS]
        found[name] = f"{''.join(signs[:3])} {''.join(signs[3:])}"
    assert found == TABLE
