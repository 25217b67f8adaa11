"""PlayerService."""

from __future__ import annotations

from arbiter_protos.v1 import player_pb2 as pb
from arbiter_protos.v1 import player_pb2_grpc

from arbiter.rpc.door import Context, Door
from arbiter.service.play.challenges import Challenges
from arbiter.service.play.sessions import Sessions
from arbiter.service.players.accounts import Accounts, Scope
from arbiter.wire.matches import match_message
from arbiter.wire.players import (
    challenge_message,
    player_message,
    scope_messages,
    scopes_of,
    terms_of,
    token_message,
)


class PlayerServicer(player_pb2_grpc.PlayerServiceServicer):
    """Players, tokens and challenges."""

    def __init__(
        self, door: Door, accounts: Accounts, challenges: Challenges, sessions: Sessions, default_control: str
    ) -> None:
        self._door = door
        self._accounts = accounts
        self._challenges = challenges
        self._sessions = sessions
        self._default_control = default_control

    async def RegisterPlayer(  # noqa: N802
        self, request: pb.RegisterPlayerRequest, context: Context
    ) -> pb.RegisterPlayerResponse:
        """Make a player and its first token."""
        caller = await self._door.newcomer(context)
        player, secret = await self._accounts.register(request.name, request.about, request.invitation, caller)
        return pb.RegisterPlayerResponse(player=player_message(player, online=False), token=secret)

    async def CreateInvitation(  # noqa: N802
        self, request: pb.CreateInvitationRequest, context: Context
    ) -> pb.CreateInvitationResponse:
        """Make an invitation."""
        return pb.CreateInvitationResponse(invitation=await self._accounts.invite(await self._door.caller(context)))

    async def GetPlayer(self, request: pb.GetPlayerRequest, context: Context) -> pb.GetPlayerResponse:  # noqa: N802
        """Return a player, or the caller."""
        caller = await self._door.caller(context)
        player = await self._accounts.player(request.name or caller.player)
        return pb.GetPlayerResponse(
            player=player_message(player, self._sessions.is_live(player.name)),
            scopes=() if request.name else scope_messages(caller.scopes),
        )

    async def ListPlayers(  # noqa: N802
        self, request: pb.ListPlayersRequest, context: Context
    ) -> pb.ListPlayersResponse:
        """List players by name."""
        await self._door.reader(context)
        size = self._door.page_size(request.page_size)
        players = await self._accounts.players(request.page_token, size + 1)
        return pb.ListPlayersResponse(
            players=[player_message(player, self._sessions.is_live(player.name)) for player in players[:size]],
            next_page_token=players[size - 1].name if len(players) > size else "",
        )

    async def UpdateProfile(  # noqa: N802
        self, request: pb.UpdateProfileRequest, context: Context
    ) -> pb.UpdateProfileResponse:
        """Change the caller's profile."""
        player = await self._accounts.describe(await self._door.caller(context, Scope.PLAY), request.about)
        return pb.UpdateProfileResponse(player=player_message(player, self._sessions.is_live(player.name)))

    async def SuspendPlayer(  # noqa: N802
        self, request: pb.SuspendPlayerRequest, context: Context
    ) -> pb.SuspendPlayerResponse:
        """Suspend a player or let it in again."""
        caller = await self._door.caller(context)
        player = await self._accounts.suspend(caller, request.name, request.suspended)
        return pb.SuspendPlayerResponse(player=player_message(player, self._sessions.is_live(player.name)))

    async def GrantBadge(self, request: pb.GrantBadgeRequest, context: Context) -> pb.GrantBadgeResponse:  # noqa: N802
        """Say which version of a player's bot has passed the conformance kit."""
        caller = await self._door.caller(context)
        player = await self._accounts.grant_badge(caller, request.player, request.bot_version)
        return pb.GrantBadgeResponse(player=player_message(player, self._sessions.is_live(player.name)))

    async def CreateToken(  # noqa: N802
        self, request: pb.CreateTokenRequest, context: Context
    ) -> pb.CreateTokenResponse:
        """Make a token."""
        caller = await self._door.caller(context)
        token, secret = await self._accounts.create_token(
            caller, request.player, scopes_of(request.scopes), request.note
        )
        return pb.CreateTokenResponse(token=token_message(token), secret=secret)

    async def ListTokens(self, request: pb.ListTokensRequest, context: Context) -> pb.ListTokensResponse:  # noqa: N802
        """List tokens."""
        caller = await self._door.caller(context)
        size = self._door.page_size(request.page_size)
        tokens = await self._accounts.tokens(caller, request.player, request.page_token, size + 1)
        return pb.ListTokensResponse(
            tokens=[token_message(token) for token in tokens[:size]],
            next_page_token=tokens[size - 1].token_id if len(tokens) > size else "",
        )

    async def RevokeToken(  # noqa: N802
        self, request: pb.RevokeTokenRequest, context: Context
    ) -> pb.RevokeTokenResponse:
        """Revoke a token."""
        await self._accounts.revoke(await self._door.caller(context), request.token_id)
        return pb.RevokeTokenResponse()

    async def CreateChallenge(  # noqa: N802
        self, request: pb.CreateChallengeRequest, context: Context
    ) -> pb.CreateChallengeResponse:
        """Challenge a player."""
        caller = await self._door.caller(context, Scope.PLAY)
        terms = terms_of(request.terms, self._default_control)
        made = await self._challenges.challenge(caller, request.request_id, request.opponent, terms)
        return pb.CreateChallengeResponse(challenge=challenge_message(made))

    async def AcceptChallenge(  # noqa: N802
        self, request: pb.AcceptChallengeRequest, context: Context
    ) -> pb.AcceptChallengeResponse:
        """Accept a challenge or a seek."""
        caller = await self._door.caller(context, Scope.PLAY)
        return pb.AcceptChallengeResponse(
            match=match_message(await self._challenges.accept(caller, request.challenge_id))
        )

    async def DeclineChallenge(  # noqa: N802
        self, request: pb.DeclineChallengeRequest, context: Context
    ) -> pb.DeclineChallengeResponse:
        """Decline or withdraw a challenge."""
        caller = await self._door.caller(context, Scope.PLAY)
        await self._challenges.decline(caller, request.challenge_id, request.reason)
        return pb.DeclineChallengeResponse()

    async def CreateSeek(self, request: pb.CreateSeekRequest, context: Context) -> pb.CreateSeekResponse:  # noqa: N802
        """Make a seek."""
        caller = await self._door.caller(context, Scope.PLAY)
        terms = terms_of(request.terms, self._default_control)
        return pb.CreateSeekResponse(
            seek=challenge_message(await self._challenges.seek(caller, request.request_id, terms))
        )

    async def ListChallenges(  # noqa: N802
        self, request: pb.ListChallengesRequest, context: Context
    ) -> pb.ListChallengesResponse:
        """List open challenges and seeks."""
        caller = await self._door.caller(context, Scope.PLAY)
        size = self._door.page_size(request.page_size)
        found = await self._challenges.open(caller, request.page_token, size + 1)
        return pb.ListChallengesResponse(
            challenges=[challenge_message(challenge) for challenge in found[:size]],
            next_page_token=found[size - 1].challenge_id if len(found) > size else "",
        )
