"""Exactly once, by the use cases: repeated requests, races, lost answers and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Seat
from arbiter.matches import Receipt
from arbiter.matches.commands import AnswerDraw, ClaimDraw, OfferDraw, Play, Resign, SeatRequest
from arbiter.matches.events import EventKind, Moved, Rejected
from arbiter.matches.match import Match
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import read
from arbiter.service.matches.live_match import Answer
from arbiter.service.play.challenges import Terms
from arbiter.service.players.accounts import Caller
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from tests.refusals import refusing
from tests.service.matches.live_matches import said

AT_ONCE = Policy(start=ClockStart.AT_ONCE)
TERMS = Terms("pods", "1m+1s", False, 1)
OPERATOR = Caller("", "", frozenset({"admin"}))


async def events(server: InMemoryArbiter, match: Match) -> list[Any]:
    return [read(record.body) for record in await server.journal.read(match.id)]


REFUSED: list[tuple[str, Callable[[Seat], SeatRequest], Reason]] = [
    ("alice", lambda seat: Play(seat, "r", 1, "a1", 0), Reason.PLY_MISMATCH),
    ("bob", lambda seat: Play(seat, "r", 0, "a1", 0), Reason.NOT_YOUR_TURN),
    ("bob", lambda seat: AnswerDraw(seat, "r", True), Reason.DRAW_NOT_AVAILABLE),
    ("bob", lambda seat: ClaimDraw(seat, "r"), Reason.NOT_YOUR_TURN),
]


class TestRefusals:
    @pytest.mark.parametrize(("player", "make", "reason"), REFUSED, ids=[f"{each[0]} {each[2]}" for each in REFUSED])
    @virtually
    async def test_a_refusal_is_the_same_after_moves_and_restarts(
        self, player: str, make: Callable[[Seat], SeatRequest], reason: Reason
    ) -> None:
        server = InMemoryArbiter()
        match = await server.create("pondlife", policy=AT_ONCE)
        first = await server.arbiter.matches.request(player, match.id, make)
        assert isinstance(first, Refusal)
        assert first.reason is reason
        moves = [min(match.game.moves(match.position))]
        for again in range(3):
            if again == 1:
                await server.restart()
            await server.arbiter.matches.request("alice", match.id, partial(OfferDraw, request=f"offer {again}"))
            await server.arbiter.matches.request("alice", match.id, lambda seat: Play(seat, "first", 0, moves[0], 0))
            assert said(await server.arbiter.matches.request(player, match.id, make)) == said(first)
        kept = [event for event in await events(server, match) if isinstance(event, Rejected) and event.request == "r"]
        assert len(kept) == 1

    @virtually
    async def test_a_refusal_is_answered_once_it_is_durable(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        server.journal.hold = True
        answer = server.arbiter.matches.request("bob", match.id, lambda seat: Play(seat, "r", 0, "a1", 0))
        await settle()
        assert not answer.done()
        server.journal.release()
        assert (await answer).reason is Reason.NOT_YOUR_TURN  # type: ignore[union-attr]

    @virtually
    async def test_a_refusal_that_was_not_stored_does_not_count(self) -> None:
        """The store took nothing: a repeated request is judged by the present state."""
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        server.journal.refuse = True
        lost = await server.arbiter.matches.request("bob", match.id, lambda seat: OfferDraw(seat, "r"))
        assert lost.reason is Reason.STORE_UNAVAILABLE  # type: ignore[union-attr]
        server.journal.refuse = False
        await settle()
        again = await server.arbiter.matches.request("bob", match.id, lambda seat: OfferDraw(seat, "r"))
        assert again.reason is Reason.DRAW_NOT_AVAILABLE  # type: ignore[union-attr]
        assert said(again) == said(
            await server.arbiter.matches.request("bob", match.id, lambda seat: OfferDraw(seat, "r"))
        )

    @virtually
    async def test_a_caller_without_a_seat_leaves_no_trace(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        before = await events(server, match)
        for _ in range(2):
            answer = await server.arbiter.matches.request("carol", match.id, lambda seat: OfferDraw(seat, "r"))
            assert answer.reason is Reason.SEAT_NOT_YOURS  # type: ignore[union-attr]
        assert await events(server, match) == before


class TestRaces:
    @pytest.mark.parametrize("stream_first", [True, False])
    @virtually
    async def test_a_call_races_a_stream_of_the_same_player(self, stream_first: bool) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        one, two = sorted(match.game.moves(match.position))[:2]
        unary: asyncio.Future[Answer]

        def by_stream() -> None:
            alice.play(match.id, 0, one, "stream")

        def by_call() -> asyncio.Future[Answer]:
            return server.arbiter.matches.request("alice", match.id, lambda seat: Play(seat, "call", 0, two, 0))

        if stream_first:
            by_stream()
            unary = by_call()
        else:
            unary = by_call()
            by_stream()
        called = await unary
        await alice.receive()
        streamed = alice.answer("stream")
        winner, loser = (streamed, called) if stream_first else (called, streamed)
        assert isinstance(winner, Receipt)
        assert winner.kind is EventKind.MOVED
        assert isinstance(loser, Refusal)
        assert (loser.reason, loser.facts) == (Reason.PLY_MISMATCH, {"expected": "1", "actual": "0"})
        moved = [event for event in await events(server, match) if isinstance(event, Moved)]
        assert [(event.request, event.move) for event in moved] == [("stream", one) if stream_first else ("call", two)]
        await server.restart()
        again = await by_call()
        assert said(again) == said(called)

    @virtually
    async def test_the_same_request_on_a_stream_and_by_a_call_is_one_request(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        move = min(match.game.moves(match.position))
        alice.play(match.id, 0, move, "same")
        called = await server.arbiter.matches.request("alice", match.id, lambda seat: Play(seat, "same", 0, move, 0))
        await alice.receive()
        assert alice.answer("same") == called
        assert sum(isinstance(event, Moved) for event in await events(server, match)) == 1

    @virtually
    async def test_a_move_that_races_the_end_is_answered_with_the_end(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        move = min(match.game.moves(match.position))
        resigned, late = await asyncio.gather(
            server.arbiter.matches.request("bob", match.id, lambda seat: Resign(seat, "enough")),
            server.arbiter.matches.request("alice", match.id, lambda seat: Play(seat, "late", 0, move, 0)),
        )
        assert isinstance(resigned, Receipt)
        assert isinstance(late, Refusal)
        assert (late.reason, late.facts) == (
            Reason.MATCH_NOT_ACTIVE,
            {"phase": "ended", "outcome": "1 resignation"},
        )
        await server.restart()
        again = await server.arbiter.matches.request("alice", match.id, lambda seat: Play(seat, "late", 0, move, 0))
        assert said(again) == said(late)


class TestCreation:
    @virtually
    async def test_a_repeated_request_may_leave_the_policy_to_the_server(self) -> None:
        """A value that the caller did not choose is no part of the request: the server's default may have changed
        since."""
        server = InMemoryArbiter()
        made = await server.create(request="same", policy=Policy(no_show_ms=5_000))
        await server.restart()
        assert (await server.create(request="same", policy=Policy(no_show_ms=6_000))).id == made.id

    @virtually
    async def test_a_repeated_challenge_is_answered_alike_though_its_opponent_has_changed(self) -> None:
        server = InMemoryArbiter()
        alice, _ = await server.caller("alice"), await server.caller("bob")
        made = await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS)
        await server.arbiter.accounts.suspend("bob", True)
        await server.restart()
        alice = await server.caller("alice")
        assert await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS) == made
        with refusing(Reason.PLAYER_SUSPENDED):
            await server.arbiter.challenges.challenge(alice, "r2", "bob", TERMS)
        with refusing(Reason.REQUEST_ID_REUSED):
            await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS._replace(rated=True))
        assert await server.arbiter.challenges.open(alice, "", 9) == [made]

    @virtually
    async def test_a_repeated_decline_has_no_effect_and_another_player_may_still_answer(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.caller("alice"), await server.caller("bob")
        challenges = server.arbiter.challenges
        made = await challenges.challenge(alice, "r", "bob", TERMS)
        await challenges.decline(bob, made.challenge_id, "busy")
        await challenges.decline(bob, made.challenge_id, "busy")
        for caller, reason in ((bob, "tired"), (alice, "")):
            with refusing(Reason.CHALLENGE_NOT_FOUND):
                await challenges.decline(caller, made.challenge_id, reason)
