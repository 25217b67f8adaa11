"""PlayerService over real gRPC."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from arbiter_protos.v1 import player_pb2 as pb

from arbiter.errors import Reason
from arbiter.testing.server import served
from tests.rpc.calls import Stubs, refused
from tests.rpc.servers import ONE_OR_TWO, served_by


@pytest.fixture(params=ONE_OR_TWO)
async def stubs(request: pytest.FixtureRequest) -> AsyncIterator[Stubs]:
    async with served_by(request.param) as server:
        yield await Stubs(server).enter()


def terms(variant: str = "pods", time: str = "1m") -> pb.Terms:
    """Return the terms of a challenge."""
    return pb.Terms(game=variant, time_control=time, seat=1)


async def test_registering(stubs: Stubs) -> None:
    register = stubs.players.RegisterPlayer
    made = await register(pb.RegisterPlayerRequest(name="carol", about="hello"))
    own = [("authorization", f"Bearer {made.token}")]
    me = await stubs.players.GetPlayer(pb.GetPlayerRequest(), metadata=own)
    assert (me.player, list(me.scopes)) == (made.player, [pb.SCOPE_PLAY, pb.SCOPE_OBSERVE])
    await refused(register(pb.RegisterPlayerRequest(name="carol")), Reason.PLAYER_EXISTS, id="carol")
    await refused(register(pb.RegisterPlayerRequest(name="No!")), Reason.ARGUMENT_INVALID, where="name", what="No!")
    unknown = stubs.players.GetPlayer(pb.GetPlayerRequest(name="nobody"), metadata=own)
    await refused(unknown, Reason.PLAYER_NOT_FOUND, id="nobody")
    long = stubs.players.UpdateProfile(pb.UpdateProfileRequest(about="x" * 501), metadata=own)
    await refused(long, Reason.ARGUMENT_INVALID, where="about")
    changed = await stubs.players.UpdateProfile(pb.UpdateProfileRequest(about="new"), metadata=own)
    assert changed.player.about == "new"


@pytest.mark.parametrize("mode", ["invitation", "closed"])
async def test_registering_where_it_is_not_open(mode: str) -> None:
    async with served(registration=mode) as server:
        stubs = Stubs(server)
        asked = pb.RegisterPlayerRequest(name="carol")
        await refused(stubs.players.RegisterPlayer(asked), Reason.REGISTRATION_CLOSED, mode=mode)
        made = await stubs.players.CreateInvitation(pb.CreateInvitationRequest(), metadata=stubs.admin)
        asked.invitation = made.invitation
        if mode == "invitation":
            assert (await stubs.players.RegisterPlayer(asked)).player.name == "carol"
        asked.name = "dave"
        await refused(stubs.players.RegisterPlayer(asked), Reason.REGISTRATION_CLOSED, mode=mode)
        assert (await stubs.players.RegisterPlayer(asked, metadata=stubs.admin)).player.name == "dave"


async def test_tokens_and_suspension(stubs: Stubs) -> None:
    players = stubs.players
    made = await players.CreateToken(pb.CreateTokenRequest(note="spare"), metadata=stubs.alice)
    spare = [("authorization", f"Bearer {made.secret}")]
    listed = (await players.ListTokens(pb.ListTokensRequest(), metadata=stubs.alice)).tokens
    assert made.token in listed
    revoke = pb.RevokeTokenRequest(token_id=made.token.token_id)
    await refused(players.RevokeToken(revoke, metadata=stubs.bob), Reason.TOKEN_NOT_FOUND, id=revoke.token_id)
    await players.RevokeToken(revoke, metadata=stubs.alice)
    await refused(players.GetPlayer(pb.GetPlayerRequest(), metadata=spare), Reason.TOKEN_INVALID)
    suspend = pb.SuspendPlayerRequest(name="alice", suspended=True)
    assert (await players.SuspendPlayer(suspend, metadata=stubs.admin)).player.suspended
    await refused(players.GetPlayer(pb.GetPlayerRequest(), metadata=stubs.alice), Reason.PLAYER_SUSPENDED, id="alice")
    await refused(stubs.match(), Reason.PLAYER_SUSPENDED, id="alice")
    suspend.name = "nobody"
    await refused(players.SuspendPlayer(suspend, metadata=stubs.admin), Reason.PLAYER_NOT_FOUND, id="nobody")


async def test_a_badge_is_granted_by_admins(stubs: Stubs) -> None:
    grant = pb.GrantBadgeRequest(player="alice", bot_version="3")
    for other in (stubs.alice, stubs.org):  # it counts in the tournaments of all organisers
        await refused(stubs.players.GrantBadge(grant, metadata=other), Reason.SCOPE_MISSING, scope="admin")
    granted = (await stubs.players.GrantBadge(grant, metadata=stubs.admin)).player
    assert (granted.name, granted.badge_version) == ("alice", "3")
    assert (await stubs.players.GetPlayer(pb.GetPlayerRequest(), metadata=stubs.alice)).player == granted
    grant.bot_version = "x" * 101
    await refused(stubs.players.GrantBadge(grant, metadata=stubs.admin), Reason.ARGUMENT_INVALID, where="bot_version")
    grant = pb.GrantBadgeRequest(player="nobody", bot_version="3")
    await refused(stubs.players.GrantBadge(grant, metadata=stubs.admin), Reason.PLAYER_NOT_FOUND, id="nobody")


async def test_challenges_and_seeks(stubs: Stubs) -> None:
    players = stubs.players
    asked = pb.CreateChallengeRequest(request_id="c", opponent="bob", terms=terms())
    made = (await players.CreateChallenge(asked, metadata=stubs.alice)).challenge
    assert (await players.CreateChallenge(asked, metadata=stubs.alice)).challenge == made
    seek = (await players.CreateSeek(pb.CreateSeekRequest(request_id="s", terms=terms()), metadata=stubs.alice)).seek
    listed = (await players.ListChallenges(pb.ListChallengesRequest(), metadata=stubs.bob)).challenges
    assert {challenge.challenge_id for challenge in listed} == {made.challenge_id, seek.challenge_id}
    accept = pb.AcceptChallengeRequest(challenge_id=made.challenge_id)
    match = (await players.AcceptChallenge(accept, metadata=stubs.bob)).match
    assert (match.game, list(match.players), match.time_control) == ("pods", ["alice", "bob"], "1m")
    withdraw = pb.DeclineChallengeRequest(challenge_id=seek.challenge_id)
    for _ in range(2):  # doing it twice has no further effect
        await players.DeclineChallenge(withdraw, metadata=stubs.alice)
    gone = players.DeclineChallenge(withdraw, metadata=stubs.bob)
    await refused(gone, Reason.CHALLENGE_NOT_FOUND, id=seek.challenge_id)
    accept.challenge_id = seek.challenge_id
    await refused(players.AcceptChallenge(accept, metadata=stubs.bob), Reason.CHALLENGE_NOT_FOUND)
    for opponent, proposed, reason in (
        ("nobody", terms(), Reason.PLAYER_NOT_FOUND),
        ("alice", terms(), Reason.ARGUMENT_INVALID),
        ("bob", terms("ludo"), Reason.GAME_UNKNOWN),
        ("bob", terms(time="soon"), Reason.PARAMETER_INVALID),
    ):
        wrong = pb.CreateChallengeRequest(request_id="w", opponent=opponent, terms=proposed)
        await refused(players.CreateChallenge(wrong, metadata=stubs.alice), reason)
