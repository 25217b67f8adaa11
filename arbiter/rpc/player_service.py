"""PlayerService."""

from __future__ import annotations

from arbiter_protos.v1 import player_pb2 as pb
from arbiter_protos.v1 import player_pb2_grpc

from arbiter.rpc.servicing import Context, call_of, in_portions
from arbiter.service.gate.account_calls import AccountGate
from arbiter.service.gate.paging import PageRequest
from arbiter.service.gate.player_calls import PlayerGate
from arbiter.wire.match_messages import match_message
from arbiter.wire.player_messages import (
    challenge_message,
    change_of,
    player_message,
    scope_messages,
    scopes_of,
    terms_of,
    token_message,
)


class PlayerServicer(player_pb2_grpc.PlayerServiceServicer):
    """Players, tokens and challenges."""

    def __init__(self, players: PlayerGate, accounts: AccountGate) -> None:
        self._players = players
        self._accounts = accounts

    async def RegisterPlayer(self, request: pb.RegisterPlayerRequest, context: Context) -> pb.RegisterPlayerResponse:
        made, secret = await self._players.register(call_of(context), request.name, request.about, request.invitation)
        return pb.RegisterPlayerResponse(player=player_message(made), token=secret)

    async def CreateInvitation(
        self, request: pb.CreateInvitationRequest, context: Context
    ) -> pb.CreateInvitationResponse:
        return pb.CreateInvitationResponse(invitation=await self._players.invite(call_of(context)))

    async def GetPlayer(self, request: pb.GetPlayerRequest, context: Context) -> pb.GetPlayerResponse:
        view = await self._players.get(call_of(context), request.name)
        return pb.GetPlayerResponse(player=player_message(view), scopes=scope_messages(view.scopes))

    async def ListPlayers(self, request: pb.ListPlayersRequest, context: Context) -> pb.ListPlayersResponse:
        page = await self._players.list(call_of(context), PageRequest(request.page_size, request.page_token))
        players = await in_portions(map(player_message, page.items))
        return pb.ListPlayersResponse(players=players, next_page_token=page.next_token)

    async def UpdateProfile(self, request: pb.UpdateProfileRequest, context: Context) -> pb.UpdateProfileResponse:
        view = await self._players.describe(call_of(context), request.about)
        return pb.UpdateProfileResponse(player=player_message(view))

    async def ChangePlayer(self, request: pb.ChangePlayerRequest, context: Context) -> pb.ChangePlayerResponse:
        view = await self._accounts.change(call_of(context), request.player, change_of(request))
        return pb.ChangePlayerResponse(player=player_message(view))

    async def DeletePlayer(self, request: pb.DeletePlayerRequest, context: Context) -> pb.DeletePlayerResponse:
        view = await self._accounts.delete(call_of(context), request.player, request.preview)
        return pb.DeletePlayerResponse(player=player_message(view))

    async def SuspendPlayer(self, request: pb.SuspendPlayerRequest, context: Context) -> pb.SuspendPlayerResponse:
        view = await self._players.suspend(call_of(context), request.name, request.suspended)
        return pb.SuspendPlayerResponse(player=player_message(view))

    async def GrantBadge(self, request: pb.GrantBadgeRequest, context: Context) -> pb.GrantBadgeResponse:
        view = await self._players.grant_badge(call_of(context), request.player, request.bot_version)
        return pb.GrantBadgeResponse(player=player_message(view))

    # -- tokens --------------------------------------------------------------------------------------------------

    async def CreateToken(self, request: pb.CreateTokenRequest, context: Context) -> pb.CreateTokenResponse:
        scopes = scopes_of(request.scopes)
        token, secret = await self._players.create_token(call_of(context), request.player, scopes, request.note)
        return pb.CreateTokenResponse(token=token_message(token), secret=secret)

    async def ListTokens(self, request: pb.ListTokensRequest, context: Context) -> pb.ListTokensResponse:
        asked = PageRequest(request.page_size, request.page_token)
        page = await self._players.list_tokens(call_of(context), request.player, asked)
        tokens = await in_portions(map(token_message, page.items))
        return pb.ListTokensResponse(tokens=tokens, next_page_token=page.next_token)

    async def RevokeToken(self, request: pb.RevokeTokenRequest, context: Context) -> pb.RevokeTokenResponse:
        await self._players.revoke_token(call_of(context), request.token_id)
        return pb.RevokeTokenResponse()

    # -- challenges ----------------------------------------------------------------------------------------------

    async def CreateChallenge(self, request: pb.CreateChallengeRequest, context: Context) -> pb.CreateChallengeResponse:
        terms = terms_of(request.terms)
        made = await self._players.challenge(call_of(context), request.request_id, request.opponent, terms)
        return pb.CreateChallengeResponse(challenge=challenge_message(made))

    async def AcceptChallenge(self, request: pb.AcceptChallengeRequest, context: Context) -> pb.AcceptChallengeResponse:
        match = await self._players.accept_challenge(call_of(context), request.challenge_id)
        return pb.AcceptChallengeResponse(match=match_message(match))

    async def DeclineChallenge(
        self, request: pb.DeclineChallengeRequest, context: Context
    ) -> pb.DeclineChallengeResponse:
        await self._players.decline_challenge(call_of(context), request.challenge_id, request.reason)
        return pb.DeclineChallengeResponse()

    async def CreateSeek(self, request: pb.CreateSeekRequest, context: Context) -> pb.CreateSeekResponse:
        made = await self._players.seek(call_of(context), request.request_id, terms_of(request.terms))
        return pb.CreateSeekResponse(seek=challenge_message(made))

    async def ListChallenges(self, request: pb.ListChallengesRequest, context: Context) -> pb.ListChallengesResponse:
        asked = PageRequest(request.page_size, request.page_token)
        page = await self._players.list_challenges(call_of(context), asked)
        challenges = await in_portions(map(challenge_message, page.items))
        return pb.ListChallengesResponse(challenges=challenges, next_page_token=page.next_token)
