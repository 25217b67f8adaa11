"""PlayerService over real gRPC."""

from __future__ import annotations

import pytest
from arbiter_protos.v1 import player_pb2 as pb

from arbiter.errors import Reason
from arbiter.service.players.profiles import MOST_NAMES
from arbiter.testing.served import served
from tests.rpc.calls import Stubs, refused
from tests.rpc.servers import level


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


async def test_a_challenge_and_a_seek_may_begin_from_a_position(stubs: Stubs) -> None:
    players, start = stubs.players, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    mates = start.replace("pppppppp", "8")
    from_here = pb.Terms(game="chess", time_control="1m", seat=1, position=mates)
    asked = pb.CreateChallengeRequest(request_id="c", opponent="bob", terms=from_here)
    made = (await players.CreateChallenge(asked, metadata=stubs.alice)).challenge
    assert made.terms == from_here
    assert (await players.CreateChallenge(asked, metadata=stubs.alice)).challenge == made
    seek = (await players.CreateSeek(pb.CreateSeekRequest(request_id="s", terms=from_here), metadata=stubs.alice)).seek
    for challenge in (made, seek):
        accept = pb.AcceptChallengeRequest(challenge_id=challenge.challenge_id)
        match = (await players.AcceptChallenge(accept, metadata=stubs.bob)).match
        assert (match.start_position, match.rated) == (mates, False)
    asked.terms.position = start  # the game's own
    await refused(players.CreateChallenge(asked, metadata=stubs.alice), Reason.REQUEST_ID_REUSED)
    asked.request_id = "own"
    assert not (await players.CreateChallenge(asked, metadata=stubs.alice)).challenge.terms.position
    for position, rated, reason in (
        ("here", False, Reason.POSITION_MALFORMED),
        (mates, True, Reason.ARGUMENT_INVALID),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", False, Reason.ARGUMENT_INVALID),  # stalemate
    ):
        wrong = pb.Terms(game="chess", time_control="1m", position=position, rated=rated)
        request = pb.CreateChallengeRequest(request_id="w", opponent="bob", terms=wrong)
        await refused(players.CreateChallenge(request, metadata=stubs.alice), reason)


async def test_a_challenge_and_a_seek_may_say_how_long_a_player_may_be_absent(stubs: Stubs) -> None:
    players = stubs.players
    patient = pb.Terms(game="pods", time_control="none", seat=1, abandon_ms=3_600_000)
    asked = pb.CreateChallengeRequest(request_id="c", opponent="bob", terms=patient)
    made = (await players.CreateChallenge(asked, metadata=stubs.alice)).challenge
    assert made.terms == patient
    seek = (await players.CreateSeek(pb.CreateSeekRequest(request_id="s", terms=patient), metadata=stubs.alice)).seek
    for challenge in (made, seek):
        accept = pb.AcceptChallengeRequest(challenge_id=challenge.challenge_id)
        assert (await players.AcceptChallenge(accept, metadata=stubs.bob)).match.policy.abandon_ms == 3_600_000
    asked.terms.abandon_ms = 0
    await refused(players.CreateChallenge(asked, metadata=stubs.alice), Reason.REQUEST_ID_REUSED)
    asked.request_id = "never"
    assert (await players.CreateChallenge(asked, metadata=stubs.alice)).challenge.terms.HasField("abandon_ms")
    asked.request_id, asked.terms.abandon_ms = "wrong", -1
    await refused(players.CreateChallenge(asked, metadata=stubs.alice), Reason.PARAMETER_INVALID)


async def test_a_renamed_player_is_found_by_all_its_names(stubs: Stubs) -> None:
    players = stubs.players
    renamed = await players.ChangePlayer(pb.ChangePlayerRequest(new_name="alice-2"), metadata=stubs.alice)
    assert (renamed.player.name, renamed.player.current_name) == ("alice", "alice-2")
    await level(stubs.served)
    for name in ("alice", "alice-2"):
        for _ in stubs.served.address.split(","):
            found = await players.GetPlayer(pb.GetPlayerRequest(name=name), metadata=stubs.bob)
            assert found.player.name == "alice"
    asked = pb.CreateChallengeRequest(request_id="r", opponent="alice-2", terms=terms())
    made = await players.CreateChallenge(asked, metadata=stubs.bob)
    assert made.challenge.opponent == "alice"
    assert (await stubs.match(players=["alice-2", "bob"])).players == ["alice", "bob"]
    taken = pb.ChangePlayerRequest(new_name="a1ice.2")
    await refused(players.ChangePlayer(taken, metadata=stubs.bob), Reason.PLAYER_EXISTS, id="alice-2")
    wrong = pb.ChangePlayerRequest(new_name="Alice")
    await refused(players.ChangePlayer(wrong, metadata=stubs.alice), Reason.ARGUMENT_INVALID, where="name")
    for number in range(MOST_NAMES - 1):
        more = pb.ChangePlayerRequest(new_name=f"another{chr(97 + number)}x")
        await players.ChangePlayer(more, metadata=stubs.alice)
    await refused(
        players.ChangePlayer(pb.ChangePlayerRequest(new_name="too-many"), metadata=stubs.alice), Reason.RATE_LIMITED
    )
    other = pb.ChangePlayerRequest(player="alice-2", new_name="x")
    await refused(players.ChangePlayer(other, metadata=stubs.bob), Reason.SCOPE_MISSING, scope="admin")


async def test_a_retired_player_is_not_asked_to_play_and_a_hidden_one_is_not_listed(stubs: Stubs) -> None:
    players = stubs.players
    await players.ChangePlayer(pb.ChangePlayerRequest(retired=True, hidden=True), metadata=stubs.alice)
    listed = await players.ListPlayers(pb.ListPlayersRequest(), metadata=stubs.bob)
    assert "alice" not in [each.name for each in listed.players]
    for_admins = await players.ListPlayers(pb.ListPlayersRequest(), metadata=stubs.admin)
    assert [each.hidden for each in for_admins.players if each.name == "alice"] == [True]
    asked = pb.CreateChallengeRequest(request_id="r", opponent="alice", terms=terms())
    await refused(players.CreateChallenge(asked, metadata=stubs.bob), Reason.ARGUMENT_INVALID, what="alice")
    await refused(stubs.match(), Reason.ARGUMENT_INVALID, what="alice")
    back = await players.ChangePlayer(pb.ChangePlayerRequest(retired=False), metadata=stubs.alice)
    assert (back.player.retired, back.player.hidden) == (False, True)
    assert (await players.CreateChallenge(asked, metadata=stubs.bob)).challenge.opponent == "alice"


async def test_a_deleted_player_leaves_its_games_under_a_neutral_name(stubs: Stubs) -> None:
    players, match = stubs.players, await stubs.match()
    await stubs.move(1, match.match_id, 0, "a1")
    preview = await players.DeletePlayer(pb.DeletePlayerRequest(preview=True), metadata=stubs.alice)
    assert not preview.player.deleted
    left = (await players.DeletePlayer(pb.DeletePlayerRequest(), metadata=stubs.alice)).player
    assert left.name.startswith("deleted-")
    assert left.current_name == left.name
    await level(stubs.served)
    await refused(players.GetPlayer(pb.GetPlayerRequest(), metadata=stubs.alice), Reason.TOKEN_INVALID)
    await refused(players.GetPlayer(pb.GetPlayerRequest(name="alice"), metadata=stubs.bob), Reason.PLAYER_NOT_FOUND)
    found = await players.GetPlayer(pb.GetPlayerRequest(name=left.name), metadata=stubs.bob)
    assert found.player == left
    made = pb.CreateTokenRequest(player="alice")
    await refused(players.CreateToken(made, metadata=stubs.admin), Reason.PLAYER_NOT_FOUND, id="alice")
    gone = pb.ChangePlayerRequest(player=left.name, new_name="alice")
    await refused(players.ChangePlayer(gone, metadata=stubs.admin), Reason.PLAYER_NOT_FOUND)
