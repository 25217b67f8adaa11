"""What servers that share a store tell each other: revoked tokens, suspensions, challenges."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.service.play.challenges import Terms
from arbiter.service.play.session import (
    ChallengeClosedItem,
    ChallengeItem,
    Hello,
    SeekItem,
    StateItem,
)
from arbiter.service.players.accounts import Caller, Scope
from arbiter.testing.clock import virtually
from tests.refusals import refusing
from tests.service.sharing.servers import items, servers

TERMS = Terms("pods", "1m+1s", False, 1)


class TestNotices:
    @virtually
    async def test_a_revoked_token_is_refused_everywhere_within_a_second(self) -> None:
        one, other = await servers(2)
        operator = Caller("", "", frozenset({Scope.ADMIN.value}))
        token, secret = await one.arbiter.accounts.create_token(operator, "alice", (Scope.PLAY,), "")
        caller = await other.arbiter.accounts.authenticate(secret)
        session = await other.arbiter.sessions.open(caller, Hello())
        await one.arbiter.accounts.revoke(operator, token.token_id)
        await asyncio.sleep(1)
        assert session.ended is not None
        assert session.ended.reason is Reason.TOKEN_INVALID
        with refusing(Reason.TOKEN_INVALID):
            await other.arbiter.accounts.authenticate(secret)
        with pytest.raises(Refusal):
            other.arbiter.accounts.check(caller)

    @virtually
    async def test_a_suspended_player_is_refused_everywhere(self) -> None:
        one, other = await servers(2)
        alice, bob = await other.connect("alice"), await other.connect("bob")
        await one.arbiter.accounts.suspend("alice", True)
        await asyncio.sleep(1)
        assert alice.session.ended is not None
        assert alice.session.ended.reason is Reason.PLAYER_SUSPENDED
        assert bob.session.ended is None

    @virtually
    async def test_challenges_are_sent_and_answered_across_servers(self) -> None:
        one, other = await servers(2)
        alice, bob = await one.connect("alice"), await other.connect("bob")
        made = await one.arbiter.challenges.challenge(alice.session.caller, "r", "bob", TERMS)
        declined = await one.arbiter.challenges.challenge(alice.session.caller, "s", "bob", TERMS)
        await asyncio.sleep(1)
        await bob.receive()
        assert [item.challenge.challenge_id for item in items(bob, ChallengeItem)] == [
            made.challenge_id,
            declined.challenge_id,
        ]
        match = await other.arbiter.challenges.accept(bob.session.caller, made.challenge_id)
        await other.arbiter.challenges.decline(bob.session.caller, declined.challenge_id, "no time")
        await asyncio.sleep(1)
        await alice.receive()
        closed = [item.challenge for item in items(alice, ChallengeClosedItem)]
        assert [(each.challenge_id, each.state, each.match_id, each.reason) for each in closed] == [
            (made.challenge_id, "accepted", match.id, ""),
            (declined.challenge_id, "declined", "", "no time"),
        ]
        assert [item.match.id for item in items(alice, StateItem)][-1] == match.id

    @virtually
    async def test_a_seek_is_sent_once_to_all_who_asked_for_seeks(self) -> None:
        one, other = await servers(2)
        alice = await one.connect("alice")
        bob, carol = await other.connect("bob", seeks=True), await one.connect("carol")
        seek = await one.arbiter.challenges.seek(alice.session.caller, "r", TERMS)
        dave = await other.connect("dave", seeks=True)  # dave receives it with the open ones
        await asyncio.sleep(1)
        for reader, received in ((bob, [seek.challenge_id]), (carol, []), (dave, [seek.challenge_id])):
            await reader.receive()
            assert [item.challenge.challenge_id for item in items(reader, SeekItem)] == received
