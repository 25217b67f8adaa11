"""A refusal on a stream is an answer, whatever is wrong, and the stream goes on: on Play and SubmitMoves alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import match_pb2 as pb
from arbiter_protos.v1 import play_pb2

from arbiter.bootstrap.store import Store
from arbiter.bootstrap.world import World
from arbiter.config import Limits, Settings
from arbiter.errors import Reason
from arbiter.games.registry import game
from arbiter.testing.faults import FaultyJournal
from arbiter.testing.misbehaving import illegal_move
from arbiter.testing.player import BotClient, reason_of
from arbiter.testing.served import memory_world, served
from tests.rpc.calls import Stubs, refused

GAME = "pondlife"  #: pondlife has draw offers and draw claims
RULES = game(GAME)
FIRST = min(RULES.moves(RULES.initial()))
SECOND = max(RULES.moves(RULES.play(RULES.initial(), FIRST)))
ILLEGAL = illegal_move(RULES, RULES.initial()) or ""
OPPONENT, OVER, OTHERS, NOWHERE, OWN = "the opponent's turn", "over", "of others", "nowhere", "own"


class Wrong:
    """A request that is refused: its match, its content, and the reason."""

    def __init__(self, where: str, reason: Reason, request_id: str = "", **act: Any) -> None:
        self.where = where
        self.reason = reason
        self.request_id = request_id
        self.act = act


def move(ply: int = 0, text: str = FIRST) -> play_pb2.MoveAct:
    """Return a move."""
    return play_pb2.MoveAct(ply=ply, move=text)


MOVES: list[Wrong] = [
    Wrong(OWN, Reason.MOVE_MALFORMED, move=move(text="?")),
    Wrong(OWN, Reason.MOVE_ILLEGAL, move=move(text=ILLEGAL)),
    Wrong(OWN, Reason.PLY_MISMATCH, move=move(ply=5)),
    Wrong(OPPONENT, Reason.NOT_YOUR_TURN, move=move(ply=1, text=SECOND)),
    Wrong(OVER, Reason.MATCH_NOT_ACTIVE, move=move(ply=1)),
    Wrong(OTHERS, Reason.SEAT_NOT_YOURS, move=move()),
    Wrong(NOWHERE, Reason.MATCH_NOT_FOUND, move=move()),
    Wrong(OPPONENT, Reason.REQUEST_ID_REUSED, "used", move=move(text=SECOND)),
    Wrong(OWN, Reason.ARGUMENT_INVALID, "x" * 101, move=move()),
]
"""Every reason for which a move is refused, except a server that can't accept it now."""

ACTS: list[dict[str, Any]] = [
    {"offer_draw": play_pb2.OfferDrawAct()},
    {"answer_draw": play_pb2.AnswerDrawAct(accept=True)},
    {"claim_draw": play_pb2.ClaimDrawAct()},
    {"resign": play_pb2.ResignAct()},
]
"""All other requests of a bot."""

OTHER_ACTS: list[Wrong] = [
    Wrong(OWN, Reason.DRAW_NOT_AVAILABLE, answer_draw=play_pb2.AnswerDrawAct(accept=True)),
    Wrong(OWN, Reason.DRAW_NOT_AVAILABLE, claim_draw=play_pb2.ClaimDrawAct()),
    Wrong(OPPONENT, Reason.NOT_YOUR_TURN, claim_draw=play_pb2.ClaimDrawAct()),
    *(
        Wrong(where, reason, request_id, **act)
        for act in ACTS
        for where, reason, request_id in (
            (OVER, Reason.MATCH_NOT_ACTIVE, ""),
            (OTHERS, Reason.SEAT_NOT_YOURS, ""),
            (NOWHERE, Reason.MATCH_NOT_FOUND, ""),
            (OPPONENT, Reason.REQUEST_ID_REUSED, "used"),
            (OWN, Reason.ARGUMENT_INVALID, "x" * 101),
        )
    ),
]


class Idle(BotClient):
    """A bot that only sends what the test asks for."""

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Do nothing."""

    async def receive(self, answers: int) -> pb.MoveAnswer:
        """Wait for this many answers; return the last."""
        await self.until(lambda: len(self.answers) >= answers)
        return self.answers[-1]


async def scene(stubs: Stubs) -> dict[str, str]:
    """Create the matches of the requests, all but one of alice's; return their ids."""
    await stubs.served.token("carol")
    ids = {where: (await stubs.match(where, game=GAME)).match_id for where in (OWN, OPPONENT, OVER)}
    ids[OTHERS] = (await stubs.match(OTHERS, game=GAME, players=["bob", "carol"])).match_id
    ids[NOWHERE] = "nowhere"
    await stubs.move(1, ids[OPPONENT], 0, FIRST, "used")
    await stubs.move(1, ids[OVER], 0, FIRST)
    await stubs.matches.Resign(pb.ResignRequest(request_id="r", match_id=ids[OVER]), metadata=stubs.bob)
    return ids


async def test_no_refusal_ends_a_play_stream(stubs: Stubs) -> None:
    ids = await scene(stubs)
    async with Idle(stubs.served.channel, stubs.alice) as alice:
        for n, wrong in enumerate([*MOVES, *OTHER_ACTS], 1):
            asked = wrong.request_id or f"wrong {n}"
            await alice.say(play_pb2.PlayAct(request_id=asked, match_id=ids[wrong.where], **wrong.act))
            answer = await alice.receive(n)
            assert (answer.request_id, answer.match_id) == (asked, ids[wrong.where])
            assert reason_of(answer.refusal) == wrong.reason, (wrong.where, wrong.act)
        await alice.say(play_pb2.PlayAct(request_id="right", match_id=ids[OWN], move=move()))
        await alice.until(lambda: alice.answers[-1].request_id == "right")
        assert alice.answers[-1].receipt.ply == 1
        assert (alice.ends, alice.notices) == ([], [])


async def test_no_refusal_ends_a_stream_of_moves(stubs: Stubs) -> None:
    ids = await scene(stubs)
    call: Any = stubs.matches.SubmitMoves(metadata=stubs.alice)
    for n, wrong in enumerate(MOVES):
        act = wrong.act["move"]
        request = pb.SubmitMoveRequest(
            request_id=wrong.request_id or f"wrong {n}", match_id=ids[wrong.where], ply=act.ply, move=act.move
        )
        await call.write(pb.SubmitMovesRequest(moves=[request]))
        (answer,) = (await call.read()).answers
        assert reason_of(answer.refusal) == wrong.reason, wrong.where
        await refused(stubs.matches.SubmitMove(request, metadata=stubs.alice), wrong.reason)  # as a unary call
    right = pb.SubmitMoveRequest(request_id="right", match_id=ids[OWN], ply=0, move=FIRST)
    await call.write(pb.SubmitMovesRequest(moves=[right]))
    assert (await call.read()).answers[0].receipt.ply == 1
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF
    assert await call.code() is grpc.StatusCode.OK


@pytest.mark.long
async def test_many_wrong_moves_in_one_message_are_answered_one_by_one() -> None:
    """More than may wait for a client: the server reads the rest as the client reads the answers."""
    async with served(limits=Limits(session_items=10)) as server:
        stubs = await Stubs(server).enter()
        moves = [pb.SubmitMoveRequest(request_id=f"{n}", match_id="nowhere", ply=0, move=FIRST) for n in range(1_000)]
        call = stubs.matches.SubmitMoves(iter([pb.SubmitMovesRequest(moves=moves)]), metadata=stubs.alice)
        answers = [answer async for response in call for answer in response.answers]
        assert {answer.request_id for answer in answers} == {move.request_id for move in moves}
        assert {reason_of(answer.refusal) for answer in answers} == {Reason.MATCH_NOT_FOUND}


def test_every_request_of_a_bot_is_tested() -> None:
    """Messages that are not requests get no answer: hello, pong and acknowledgement."""
    asked = {kind for wrong in [*MOVES, *OTHER_ACTS] for kind in wrong.act}
    arms = {field.name for field in play_pb2.PlayAct.DESCRIPTOR.oneofs_by_name["act"].fields}
    assert asked == arms - {"hello", "pong", "acknowledge", "ready"}


class TestStore:
    @pytest.mark.long
    async def test_a_failing_store_is_named_and_the_repeated_request_is_carried_out_once(self) -> None:
        journals: list[FaultyJournal] = []

        @asynccontextmanager
        async def faulty(settings: Settings) -> AsyncIterator[World]:
            async with memory_world(settings) as world:
                journals.append(FaultyJournal(world.store.journal))
                yield world._replace(store=Store(journals[0], world.store.directory))

        async with served(faulty) as server:
            stubs = await Stubs(server).enter()
            match_id = (await stubs.match(game=GAME)).match_id
            request = pb.SubmitMoveRequest(request_id="m", match_id=match_id, ply=0, move=FIRST)
            moves: Any = stubs.matches.SubmitMoves(metadata=stubs.alice)
            async with Idle(server.channel, stubs.alice) as alice:
                await alice.first_item("hello")
                act = play_pb2.PlayAct(request_id="m", match_id=match_id, move=move())
                (journal,) = journals
                journal.refuse = journal.mute = True
                unavailable: dict[str, Any] = {"reason": Reason.STORE_UNAVAILABLE, "retry_after_ms": "1000"}
                await refused(stubs.matches.SubmitMove(request, metadata=stubs.alice), **unavailable)
                await refused(stubs.match("another"), **unavailable)
                nowhere = stubs.matches.GetMatch(pb.GetMatchRequest(match_id="nowhere"), metadata=stubs.alice)
                await refused(nowhere, **unavailable)
                await moves.write(pb.SubmitMovesRequest(moves=[request]))
                assert reason_of((await moves.read()).answers[0].refusal) == Reason.STORE_UNAVAILABLE
                await alice.say(act)
                await alice.receive(1)
                assert alice.refused == [Reason.STORE_UNAVAILABLE]
                journal.refuse = journal.mute = False
                while not alice.answers[-1].HasField("receipt"):  # a bot repeats the request until it is carried out
                    heard = len(alice.answers)
                    await alice.say(act)
                    await alice.receive(heard + 1)
                assert set(alice.refused) == {Reason.STORE_UNAVAILABLE}
                assert (alice.ends, alice.notices) == ([], [])
            await moves.write(pb.SubmitMovesRequest(moves=[request]))
            assert (await moves.read()).answers[0].receipt == alice.answers[-1].receipt
            moves.cancel()
            assert (await stubs.match("another", game=GAME)).match_id != match_id


class TestClaims:
    @pytest.mark.long
    async def test_a_claim_that_the_rules_grant_ends_the_match(self, stubs: Stubs) -> None:
        for as_call in (True, False):
            match_id = (await stubs.match(f"call {as_call}", game=GAME)).match_id
            for ply, text in enumerate(quiet_line()):
                await stubs.move(1 + ply % 2, match_id, ply, text)
            claim = pb.ClaimDrawRequest(request_id="claim", match_id=match_id)
            await refused(stubs.matches.ClaimDraw(claim, metadata=stubs.bob), Reason.NOT_YOUR_TURN)
            async with Idle(stubs.served.channel, stubs.alice) as alice:
                assert (await alice.first_item("turn")).draw_claim == "sixty_moves"
                if as_call:
                    result = (await stubs.matches.ClaimDraw(claim, metadata=stubs.alice)).receipt.result
                else:
                    act = play_pb2.PlayAct(request_id="c", match_id=match_id, claim_draw=play_pb2.ClaimDrawAct())
                    await alice.say(act)
                    await alice.until(lambda: bool(alice.answers))
                    result = alice.answers[0].receipt.result
                assert (result.kind, result.reason) == (pb.RESULT_KIND_DRAW, "sixty_moves")
                assert (result.cause, result.party, result.responsible_seat) == (pb.CAUSE_RULES, pb.PARTY_PLAYER, 1)
                assert await alice.result(match_id) == result


def quiet_line() -> Iterator[str]:
    """Yield moves of pondlife from the start until a draw may be claimed."""
    position = RULES.initial()
    while RULES.claim(position) is None:
        after = {text: RULES.play(position, text) for text in sorted(RULES.moves(position))}
        text = next(text for text, there in after.items() if there.quiet > position.quiet and there.outcome is None)
        position = after[text]
        yield text
