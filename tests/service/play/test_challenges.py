"""Challenges and seeks: each leads to at most one match, and both sides are informed."""

from __future__ import annotations

import asyncio

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches.commands import Abort
from arbiter.matches.match import Match
from arbiter.service.matches.live import DRAINING
from arbiter.service.play.session import ChallengeClosedItem, ChallengeItem, StateItem
from arbiter.service.players.accounts import Caller
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import CountingIds
from tests.refusals import refusing
from tests.service.play.challengers import TERMS, gone, of, pair

OPERATOR = Caller("", "", frozenset({"admin"}))


class TestChallenge:
    @virtually
    async def test_accepted(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        challenges = server.arbiter.challenges
        made = await challenges.challenge(alice.session.caller, "r", "bob", TERMS._replace(seat=2, rated=True))
        await bob.receive()
        assert of(ChallengeItem, bob) == [ChallengeItem(made)]
        match = await challenges.accept(bob.session.caller, made.challenge_id)
        assert match.players == ("bob", "alice")
        assert (match.created.game, match.created.time, match.created.rated) == ("pods", "1m+1s", True)
        assert match.created.policy == server.arbiter.policy
        for bot in (alice, bob):
            await bot.receive()
            assert match.id in [item.match.id for item in of(StateItem, bot)]
        closed = of(ChallengeClosedItem, alice)[0].challenge
        assert (closed.challenge_id, closed.state, closed.match_id) == (made.challenge_id, "accepted", match.id)
        assert await challenges.open(alice.session.caller, "", 10) == []

    @virtually
    async def test_accepting_again_returns_the_same_match(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.caller("bob")
        made = await server.arbiter.challenges.challenge(alice.session.caller, "r", "bob", TERMS)
        match = await server.arbiter.challenges.accept(bob, made.challenge_id)
        await asyncio.sleep(1)
        assert (await server.arbiter.challenges.accept(bob, made.challenge_id)).id == match.id
        await alice.receive()
        assert len(of(ChallengeClosedItem, alice)) == 1
        await server.restart()
        assert (await server.arbiter.challenges.accept(bob, made.challenge_id)).id == match.id
        assert len(await server.journal.unfinished()) == 1

    @virtually
    async def test_accepting_simultaneously_and_again(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await pair(server)
        made = await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS)
        outcomes = await asyncio.gather(
            *(server.arbiter.challenges.accept(bob, made.challenge_id) for _ in range(4)), return_exceptions=True
        )
        matches = {outcome.id for outcome in outcomes if isinstance(outcome, Match)}
        assert matches == set(await server.journal.unfinished())
        assert len(matches) == 1
        assert [outcome for outcome in outcomes if not isinstance(outcome, Match)] == []

    @virtually
    async def test_a_cancelled_call_to_accept_has_accepted(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await pair(server)
        made = await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS)
        server.journal.hold = True
        accepting = asyncio.create_task(server.arbiter.challenges.accept(bob, made.challenge_id))
        await settle()
        accepting.cancel()
        await settle()
        server.journal.release()
        await settle()
        match = await server.arbiter.challenges.accept(bob, made.challenge_id)
        assert await server.journal.unfinished() == [match.id]

    @virtually
    async def test_a_store_that_fails_in_between_loses_nothing(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await pair(server)
        made = await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS)
        server.journal.refuse = True
        with refusing(Reason.STORE_UNAVAILABLE):
            await server.arbiter.challenges.accept(bob, made.challenge_id)
        server.journal.refuse = False
        match = await server.arbiter.challenges.accept(bob, made.challenge_id)
        assert match.players == ("alice", "bob")

    @virtually
    async def test_a_challenge_can_be_accepted_later_if_the_player_has_too_many_matches(self) -> None:
        server = InMemoryArbiter(limits=Limits(open_matches_of_player=1))
        alice, bob = await pair(server)
        made = await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS)
        busy = await server.create(players=("bob", "carol"))
        with refusing(Reason.RATE_LIMITED):
            await server.arbiter.challenges.accept(bob, made.challenge_id)
        await server.arbiter.matches.act(busy.id, Abort("org", "a"))
        assert (await server.arbiter.challenges.accept(bob, made.challenge_id)).players == ("alice", "bob")

    @virtually
    async def test_declined(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.caller("bob")
        made = await server.arbiter.challenges.challenge(alice.session.caller, "r", "bob", TERMS)
        await server.arbiter.challenges.decline(bob, made.challenge_id, "too fast for me")
        await alice.receive()
        closed = of(ChallengeClosedItem, alice)[0].challenge
        assert (closed.state, closed.reason) == ("declined", "too fast for me")
        await gone(server, bob, made.challenge_id)

    @virtually
    async def test_withdrawn(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.caller("alice"), await server.connect("bob")
        made = await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS)
        await server.arbiter.challenges.decline(alice, made.challenge_id, "never mind")
        await bob.receive()
        closed = of(ChallengeClosedItem, bob)[0].challenge
        assert (closed.state, closed.reason) == ("declined", "withdrawn")
        await gone(server, bob.session.caller, made.challenge_id)
        await server.arbiter.challenges.decline(alice, made.challenge_id, "never mind")  # again: no effect

    @virtually
    async def test_accepting_and_withdrawing_race(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await pair(server)
        challenges = server.arbiter.challenges
        made = await challenges.challenge(alice, "r", "bob", TERMS)
        outcomes = await asyncio.gather(
            challenges.accept(bob, made.challenge_id),
            challenges.decline(alice, made.challenge_id, ""),
            return_exceptions=True,
        )
        refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
        assert [refusal.reason for refusal in refusals] == [Reason.CHALLENGE_NOT_FOUND]
        assert len(await server.journal.unfinished()) == isinstance(outcomes[0], Match)

    @virtually
    async def test_nobody_else_answers_a_challenge(self) -> None:
        server = InMemoryArbiter()
        alice, _ = await pair(server)
        carol = await server.caller("carol")
        made = await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS)
        await gone(server, carol, made.challenge_id)
        with refusing(Reason.CHALLENGE_NOT_FOUND):
            await server.arbiter.challenges.accept(alice, made.challenge_id)  # its own
        assert await server.arbiter.challenges.open(carol, "", 10) == []
        assert await server.arbiter.challenges.open(alice, "", 10) == [made]

    @virtually
    async def test_players_who_can_not_be_challenged(self) -> None:
        server = InMemoryArbiter()
        alice, _ = await pair(server)
        await server.caller("carol")
        await server.arbiter.accounts.suspend("carol", True)
        for opponent, reason in (
            ("alice", Reason.ARGUMENT_INVALID),
            ("nobody", Reason.PLAYER_NOT_FOUND),
            ("", Reason.PLAYER_NOT_FOUND),
            ("carol", Reason.PLAYER_SUSPENDED),
        ):
            with refusing(reason):
                await server.arbiter.challenges.challenge(alice, "r", opponent, TERMS)

    @virtually
    async def test_a_challenger_who_was_suspended_meanwhile_gets_no_match(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await pair(server)
        made = await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS)
        await server.arbiter.accounts.suspend("alice", True)
        with refusing(Reason.PLAYER_SUSPENDED):
            await server.arbiter.challenges.accept(bob, made.challenge_id)
        await server.arbiter.accounts.suspend("alice", False)
        assert (await server.arbiter.challenges.accept(bob, made.challenge_id)).players == ("alice", "bob")

    @virtually
    async def test_impossible_terms_are_refused(self) -> None:
        server = InMemoryArbiter()
        alice, _ = await pair(server)
        for terms, reason in (
            (TERMS._replace(game="ludo"), Reason.GAME_UNKNOWN),
            (TERMS._replace(time_control="soon"), Reason.PARAMETER_INVALID),
            (TERMS._replace(seat=3), Reason.ARGUMENT_INVALID),
        ):
            with refusing(reason):
                await server.arbiter.challenges.challenge(alice, "r", "bob", terms)
        for deed in (
            server.arbiter.challenges.challenge(alice, "", "bob", TERMS),
            server.arbiter.challenges.decline(alice, "c", "x" * 201),
        ):
            with refusing(Reason.ARGUMENT_INVALID):
                await deed

    @virtually
    async def test_a_stopping_server_creates_no_match(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await pair(server)
        made = await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS)
        await server.arbiter.matches.drain()
        with refusing(DRAINING.reason):
            await server.arbiter.challenges.accept(bob, made.challenge_id)
        await server.restart()
        assert (await server.arbiter.challenges.accept(bob, made.challenge_id)).players == ("alice", "bob")


class TestRequests:
    @virtually
    async def test_the_same_request_makes_the_same_challenge(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.caller("alice"), await server.connect("bob")
        made = await asyncio.gather(
            *(server.arbiter.challenges.challenge(alice, "same", "bob", TERMS) for _ in range(4))
        )
        assert len({challenge.challenge_id for challenge in made}) == 1
        await bob.receive()
        assert of(ChallengeItem, bob) == [ChallengeItem(made[0])]  # once
        other = await server.caller("carol")
        assert (await server.arbiter.challenges.challenge(other, "same", "bob", TERMS)).challenger == "carol"

    @virtually
    async def test_a_request_id_can_not_be_used_for_another_challenge(self) -> None:
        server = InMemoryArbiter()
        alice, _ = await pair(server)
        challenges = server.arbiter.challenges
        await server.caller("carol")
        await challenges.challenge(alice, "same", "bob", TERMS)
        for deed in (
            challenges.challenge(alice, "same", "carol", TERMS),
            challenges.challenge(alice, "same", "bob", TERMS._replace(seat=2)),
            challenges.challenge(alice, "same", "bob", TERMS._replace(rated=True)),
            challenges.challenge(alice, "same", "bob", TERMS._replace(time_control="2m")),
            challenges.seek(alice, "same", TERMS),
        ):
            with refusing(Reason.REQUEST_ID_REUSED):
                await deed

    @virtually
    async def test_a_random_seat_is_drawn_once(self) -> None:
        server = InMemoryArbiter()
        server.ids = CountingIds(lots=[1, 0, 0])
        server.arbiter = server._wire()
        alice, bob = await pair(server)
        made = await server.arbiter.challenges.challenge(alice, "first", "bob", TERMS._replace(seat=0))
        again = await server.arbiter.challenges.challenge(alice, "first", "bob", TERMS._replace(seat=0))
        other = await server.arbiter.challenges.challenge(alice, "other", "bob", TERMS._replace(seat=0))
        assert made == again
        assert (made.seat, other.seat) == (2, 1)
        assert (await server.arbiter.challenges.accept(bob, made.challenge_id)).players == ("bob", "alice")
        assert (await server.arbiter.challenges.accept(bob, other.challenge_id)).players == ("alice", "bob")

    @virtually
    async def test_open_challenges_are_limited(self) -> None:
        server = InMemoryArbiter(limits=Limits(open_challenges_of_player=3))
        alice, bob = await pair(server)
        challenges = server.arbiter.challenges
        first = await challenges.challenge(alice, "r0", "bob", TERMS)
        await challenges.seek(alice, "r1", TERMS)
        await challenges.seek(alice, "r2", TERMS)
        with refusing(Reason.RATE_LIMITED):
            await challenges.challenge(alice, "r3", "bob", TERMS)
        assert await challenges.challenge(alice, "r0", "bob", TERMS) == first  # the challenge exists already
        await challenges.challenge(bob, "r3", "alice", TERMS)  # bob has fewer challenges
        await challenges.decline(alice, first.challenge_id, "")
        assert (await challenges.challenge(alice, "r3", "bob", TERMS)).state == "open"

    @virtually
    async def test_simultaneous_challenges_are_limited_too(self) -> None:
        server = InMemoryArbiter(limits=Limits(open_challenges_of_player=3))
        alice, _ = await pair(server)
        outcomes = await asyncio.gather(
            *(server.arbiter.challenges.seek(alice, f"r{n}", TERMS) for n in range(9)), return_exceptions=True
        )
        assert sum(isinstance(outcome, Refusal) for outcome in outcomes) == 6
