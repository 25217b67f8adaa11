"""The calls of PlayerService."""

from __future__ import annotations

from collections.abc import Sequence

from arbiter_protos.v1 import player_pb2

from arbiter_client.calls.base import Calls, collect, new_request_id
from arbiter_client.values.match import Match
from arbiter_client.values.player import Challenge, Myself, NewToken, Player, Registered, Scope, Terms, Token
from arbiter_client.values.reading import read


class PlayerCalls(Calls):
    """Players, their tokens, and challenges between them. `most` limits the length of a list."""

    async def register_player(self, name: str, about: str = "", invitation: str = "") -> Registered:
        """Make a player and its first token. Refusals: PLAYER_EXISTS, REGISTRATION_CLOSED, ARGUMENT_INVALID."""
        request = player_pb2.RegisterPlayerRequest(name=name, about=about, invitation=invitation)
        answer = await self.connection.ask(self.connection.players.RegisterPlayer, request, again=False)
        return read(Registered, answer)

    async def create_invitation(self) -> str:
        """Return an invitation to register once. Needs scope admin."""
        request = player_pb2.CreateInvitationRequest()
        answer = await self.connection.ask(self.connection.players.CreateInvitation, request, again=False)
        return answer.invitation

    async def get_player(self, name: str) -> Player:
        """Return a player. Refusals: PLAYER_NOT_FOUND."""
        request = player_pb2.GetPlayerRequest(name=name)
        return read(Player, (await self.connection.ask(self.connection.players.GetPlayer, request)).player)

    async def myself(self) -> Myself:
        """Return the caller, and the rights of its token. Refusals: TOKEN_INVALID."""
        request = player_pb2.GetPlayerRequest()
        answer = await self.connection.ask(self.connection.players.GetPlayer, request)
        return read(Myself, answer)

    async def list_players(self, most: int = 1000) -> tuple[Player, ...]:
        """Return players by name."""

        async def ask(size: int, token: str) -> player_pb2.ListPlayersResponse:
            request = player_pb2.ListPlayersRequest(page_size=size, page_token=token)
            return await self.connection.ask(self.connection.players.ListPlayers, request)

        return await collect(most, ask, lambda page: [read(Player, player) for player in page.players])

    async def update_profile(self, about: str) -> Player:
        """Change the caller's description of itself. Refusals: ARGUMENT_INVALID."""
        request = player_pb2.UpdateProfileRequest(about=about)
        return read(Player, (await self.connection.ask(self.connection.players.UpdateProfile, request)).player)

    async def change_player(
        self,
        player: str = "",
        *,
        new_name: str | None = None,
        retired: bool | None = None,
        hidden: bool | None = None,
    ) -> Player:
        """Rename, retire or hide a player, '' for the caller; None changes nothing.

        Refusals: PLAYER_NOT_FOUND, PLAYER_EXISTS, ARGUMENT_INVALID, RATE_LIMITED, SCOPE_MISSING.
        """
        request = player_pb2.ChangePlayerRequest(player=player, new_name=new_name, retired=retired, hidden=hidden)
        return read(Player, (await self.connection.ask(self.connection.players.ChangePlayer, request)).player)

    async def delete_player(self, player: str = "", *, preview: bool = False) -> Player:
        """Delete a player, '' for the caller, for good; return what is left of it.

        preview: delete nothing, and return the player that would be deleted. Refusals: PLAYER_NOT_FOUND, SCOPE_MISSING.
        """
        request = player_pb2.DeletePlayerRequest(player=player, preview=preview)
        answer = await self.connection.ask(self.connection.players.DeletePlayer, request, again=False)
        return read(Player, answer.player)

    async def suspend_player(self, name: str, suspended: bool = True) -> Player:
        """Suspend a player, or let it in again. Needs scope admin. Refusals: PLAYER_NOT_FOUND."""
        request = player_pb2.SuspendPlayerRequest(name=name, suspended=suspended)
        return read(Player, (await self.connection.ask(self.connection.players.SuspendPlayer, request)).player)

    async def grant_badge(self, player: str, bot_version: str) -> Player:
        """Record which version of a player's bot has passed the conformance kit; '' revokes the badge.

        Needs scope admin. Refusals: PLAYER_NOT_FOUND, ARGUMENT_INVALID.
        """
        request = player_pb2.GrantBadgeRequest(player=player, bot_version=bot_version)
        return read(Player, (await self.connection.ask(self.connection.players.GrantBadge, request)).player)

    async def create_token(self, player: str = "", scopes: Sequence[Scope] = (), note: str = "") -> NewToken:
        """Make a token for the caller, or with scope admin for any player. No scopes: play and observe.

        Refusals: PLAYER_NOT_FOUND, SCOPE_MISSING, ARGUMENT_INVALID.
        """
        numbers = [player_pb2.Scope.ValueType(scope) for scope in scopes]
        request = player_pb2.CreateTokenRequest(player=player, scopes=numbers, note=note)
        answer = await self.connection.ask(self.connection.players.CreateToken, request, again=False)
        return read(NewToken, answer)

    async def list_tokens(self, player: str = "", most: int = 1000) -> tuple[Token, ...]:
        """Return tokens, oldest first, without their secrets: the caller's, or with scope admin any player's."""

        async def ask(size: int, token: str) -> player_pb2.ListTokensResponse:
            request = player_pb2.ListTokensRequest(player=player, page_size=size, page_token=token)
            return await self.connection.ask(self.connection.players.ListTokens, request)

        return await collect(most, ask, lambda page: [read(Token, token) for token in page.tokens])

    async def revoke_token(self, token_id: str) -> None:
        """Revoke a token at once: the one in use, or one without further rights.

        Refusals: TOKEN_NOT_FOUND, SCOPE_MISSING.
        """
        request = player_pb2.RevokeTokenRequest(token_id=token_id)
        await self.connection.ask(self.connection.players.RevokeToken, request)

    async def create_challenge(self, opponent: str, terms: Terms, request_id: str = "") -> Challenge:
        """Challenge a player.

        Refusals: PLAYER_NOT_FOUND, PLAYER_SUSPENDED, GAME_UNKNOWN, PARAMETER_INVALID, ARGUMENT_INVALID.
        """
        request = player_pb2.CreateChallengeRequest(
            request_id=request_id or new_request_id(), opponent=opponent, terms=_terms(terms)
        )
        answer = await self.connection.ask(self.connection.players.CreateChallenge, request)
        return read(Challenge, answer.challenge)

    async def accept_challenge(self, challenge_id: str) -> Match:
        """Accept a challenge to the caller, or any seek, and return the match. May be repeated.

        Refusals: CHALLENGE_NOT_FOUND, PLAYER_SUSPENDED (the challenger is).
        """
        request = player_pb2.AcceptChallengeRequest(challenge_id=challenge_id)
        answer = await self.connection.ask(self.connection.players.AcceptChallenge, request)
        return read(Match, answer.match)

    async def decline_challenge(self, challenge_id: str, reason: str = "") -> None:
        """Decline a challenge, or withdraw the caller's own challenge or seek. Refusals: CHALLENGE_NOT_FOUND."""
        request = player_pb2.DeclineChallengeRequest(challenge_id=challenge_id, reason=reason)
        await self.connection.ask(self.connection.players.DeclineChallenge, request)

    async def create_seek(self, terms: Terms, request_id: str = "") -> Challenge:
        """Make a challenge that any player may accept; the first gets the match. Refusals: as for create_challenge."""
        request = player_pb2.CreateSeekRequest(request_id=request_id or new_request_id(), terms=_terms(terms))
        return read(Challenge, (await self.connection.ask(self.connection.players.CreateSeek, request)).seek)

    async def list_challenges(self, most: int = 1000) -> tuple[Challenge, ...]:
        """Return the open challenges to and by the caller, and all open seeks, oldest first."""

        async def ask(size: int, token: str) -> player_pb2.ListChallengesResponse:
            request = player_pb2.ListChallengesRequest(page_size=size, page_token=token)
            return await self.connection.ask(self.connection.players.ListChallenges, request)

        return await collect(most, ask, lambda page: [read(Challenge, challenge) for challenge in page.challenges])


def _terms(terms: Terms) -> player_pb2.Terms:
    return player_pb2.Terms(
        game=terms.game,
        time_control=terms.time_control,
        rated=terms.rated,
        seat=terms.seat,
        position=terms.position,
        abandon_ms=terms.abandon_ms,
    )
