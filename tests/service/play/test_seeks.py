"""Seeks: who accepts one, and what streams are told of them."""

from __future__ import annotations

import asyncio

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches.match import Match
from arbiter.service.play.session import ChallengeClosedItem, ChallengeItem, Hello, SeekItem
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from tests.refusals import refusing
from tests.service.play.challengers import TERMS, gone, of, pair


class TestSeeks:
    @virtually
    async def test_the_first_player_gets_a_seek(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        others = [await server.caller(name) for name in ("bob", "carol", "dave")]
        seek = await server.arbiter.challenges.seek(alice.session.caller, "r", TERMS)
        for other in others:
            assert await server.arbiter.challenges.open(other, "", 10) == [seek]
        outcomes = await asyncio.gather(
            *(server.arbiter.challenges.accept(other, seek.challenge_id) for other in others), return_exceptions=True
        )
        matches = [outcome for outcome in outcomes if isinstance(outcome, Match)]
        refusals = [outcome.reason for outcome in outcomes if isinstance(outcome, Refusal)]
        assert [match.id for match in matches] == await server.journal.unfinished()
        assert refusals == [Reason.CHALLENGE_NOT_FOUND] * 2
        await alice.receive()
        assert [item.challenge.match_id for item in of(ChallengeClosedItem, alice)] == [matches[0].id]
        for other in others:
            assert await server.arbiter.challenges.open(other, "", 10) == []

    @virtually
    async def test_nobody_takes_its_own_seek_or_withdraws_that_of_another(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await pair(server)
        seek = await server.arbiter.challenges.seek(alice, "r", TERMS)
        for deed in (
            server.arbiter.challenges.decline(bob, seek.challenge_id, ""),
            server.arbiter.challenges.accept(alice, seek.challenge_id),
        ):
            with refusing(Reason.CHALLENGE_NOT_FOUND):
                await deed
        await server.arbiter.challenges.decline(alice, seek.challenge_id, "")
        await gone(server, bob, seek.challenge_id)


class TestSeeksOnStreams:
    @virtually
    async def test_a_stream_that_asks_for_seeks_gets_all_open_ones_and_each_new_one(self) -> None:
        server = InMemoryArbiter()
        alice, carol = await server.connect("alice", seeks=True), await server.connect("carol")
        challenges = server.arbiter.challenges
        first = await challenges.seek(alice.session.caller, "r", TERMS)
        assert await challenges.seek(alice.session.caller, "r", TERMS) == first
        gone = await challenges.seek(alice.session.caller, "gone", TERMS)
        await challenges.decline(alice.session.caller, gone.challenge_id, "")
        bob = await server.connect("bob", seeks=True)
        second = await challenges.seek(carol.session.caller, "r", TERMS)
        for bot in (alice, bob, carol):
            await bot.receive()
        assert of(SeekItem, bob) == [SeekItem(first), SeekItem(second)]
        assert of(SeekItem, alice) == [SeekItem(second)], "not the player's own seeks"
        assert of(SeekItem, carol) == []
        assert of(ChallengeItem, bob) == []

    @virtually
    async def test_a_seek_that_is_made_while_the_stream_opens(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await pair(server)
        for rounds in range(12):
            opening = asyncio.create_task(server.arbiter.sessions.open(bob, Hello(seeks=True)))
            for _ in range(rounds):
                await asyncio.sleep(0)
            seek = await server.arbiter.challenges.seek(alice, f"r{rounds}", TERMS)
            reader = StreamReader(server, await opening)
            await reader.receive()
            assert of(SeekItem, reader).count(SeekItem(seek)) == 1, rounds
            assert len(of(SeekItem, reader)) == rounds + 1

    @virtually
    async def test_the_rate_of_seeks_is_limited(self) -> None:
        server = InMemoryArbiter(limits=Limits(seeks_a_minute=3))
        alice, bob = await server.caller("alice"), await server.connect("bob", seeks=True)
        challenges, refusals = server.arbiter.challenges, list[Refusal]()
        for n in range(20):
            try:
                made = await challenges.seek(alice, f"r{n}", TERMS)
                assert await challenges.seek(alice, f"r{n}", TERMS) == made, "the same request again counts once"
                await challenges.decline(alice, made.challenge_id, "")
            except Refusal as refusal:
                refusals.append(refusal)
        await bob.receive()
        assert len(of(SeekItem, bob)) == 3
        assert [refusal.reason for refusal in refusals] == [Reason.RATE_LIMITED] * 17
        await asyncio.sleep(int(refusals[-1].facts["retry_after_ms"]) / 1000)
        await challenges.seek(alice, "later", TERMS)
