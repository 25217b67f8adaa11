"""The bot's methods: what is sent for their results, and what their errors and refusals cause."""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import grpc
import pytest
from arbiter_client import runner
from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2

if TYPE_CHECKING:
    from conftest import Messages, Peer, Refuse

ILLEGAL = ("MOVE_ILLEGAL", grpc.StatusCode.FAILED_PRECONDITION)


class Scripted(arb.Bot):
    """Plays the given moves in order; an exception among them is raised."""

    name = "scripted"

    def __init__(self, *choices: arb.Choice | Exception) -> None:
        self.choices = list(choices)
        self.turns: list[arb.Turn] = []

    async def choose(self, turn: arb.Turn) -> arb.Choice:
        self.turns.append(turn)
        choice = self.choices.pop(0)
        if isinstance(choice, Exception):
            raise choice
        return choice


@asynccontextmanager
async def stream_of(peer: Any, bot: arb.Bot, **more: Any) -> Any:
    """Connect a bot to the peer, and yield its stream after both hellos."""
    task = asyncio.create_task(arb.play(bot, peer.address, token="secret", **more))
    try:
        stream = await peer.stream()
        await stream.meet()
        stream.task = task
        yield stream
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_bot_sends_its_evaluation(peer: Peer, message: type[Messages]) -> None:
    bot = Scripted(arb.Move("a1", evaluation=612, line=["a1", "b2"]), arb.OfferDraw(arb.Move("c3", line=("c3",))), "d4")
    async with stream_of(peer, bot) as stream:
        moves: list[play_pb2.MoveAct] = []
        for ply in range(3):
            known = [play_pb2.RecentMove(ply=n, seat=1, move=move.move) for n, move in enumerate(moves)]
            await stream.say(turn=message.turn(ply, last_moves=known))
            if ply == 1:
                await stream.receipt(await stream.read("offer_draw"))
            act = await stream.read("move")
            moves.append(act.move)
            await stream.receipt(act)
    assert moves[0].comment == match_pb2.MoveComment(evaluation=612, line=["a1", "b2"])
    assert (moves[1].move, moves[1].comment) == ("c3", match_pb2.MoveComment(line=["c3"]))
    assert not moves[2].HasField("comment")


@pytest.mark.parametrize(
    ("evaluation", "line"),
    [(-1, ()), (1_001, [7]), (0.5, ["\ud800"]), ("much", ["é"]), (2**99, ["x" * 501]), (None, [None])],
)
async def test_a_comment_that_is_too_long_does_not_stop_a_move(
    peer: Peer, message: type[Messages], evaluation: Any, line: Any
) -> None:
    bot = Scripted(arb.Move("a1", evaluation=evaluation, line=line))
    async with stream_of(peer, bot) as stream:
        await stream.say(turn=message.turn(0))
        move = (await stream.read("move")).move
    assert move.move == "a1"
    assert not move.HasField("comment")


async def test_after_a_refused_move_the_bot_chooses_again_with_the_refusal(peer: Peer, message: type[Messages]) -> None:
    bot = Scripted("bad", "good")
    async with stream_of(peer, bot) as stream:
        await stream.say(turn=message.turn(0))
        bad = await stream.read("move")
        await stream.refuse(bad, *ILLEGAL, move="bad", strikes_left="3")
        good = await stream.read("move")
    assert (good.move.move, good.move.ply) == ("good", 0)
    assert good.request_id != bad.request_id
    assert bot.turns[1].refused is not None
    assert bot.turns[1].refused.reason is arb.Reason.MOVE_ILLEGAL
    assert bot.turns[1].refused.facts == {"move": "bad", "strikes_left": "3"}


async def test_the_second_refusal_of_a_turn_resigns(
    peer: Peer, message: type[Messages], caplog: pytest.LogCaptureFixture
) -> None:
    async with stream_of(peer, Scripted("bad", "worse")) as stream:
        await stream.say(turn=message.turn(0))
        await stream.refuse(await stream.read("move"), *ILLEGAL)
        await stream.refuse(await stream.read("move"), *ILLEGAL)
        assert (await stream.read("resign")).match_id == "m1"
    assert "it resigns" in caplog.text


async def test_the_bots_own_answer_to_a_refusal_is_sent(peer: Peer, message: type[Messages]) -> None:
    class Stubborn(Scripted):
        def refused(self, turn: arb.Turn, refusal: arb.ArbiterError) -> str:
            return "other"

    async with stream_of(peer, Stubborn("bad")) as stream:
        await stream.say(turn=message.turn(0))
        await stream.refuse(await stream.read("move"), *ILLEGAL)
        assert (await stream.read("move")).move.move == "other"


async def test_after_a_temporary_refusal_the_same_request_is_sent_again(peer: Peer, message: type[Messages]) -> None:
    async with stream_of(peer, Scripted("a")) as stream:
        await stream.say(turn=message.turn(0))
        sent = await stream.read("move")
        await stream.refuse(sent, "STORE_UNAVAILABLE", grpc.StatusCode.UNAVAILABLE, retry_after_ms="1")
        assert await stream.read("move") == sent


async def test_an_unknown_reason_is_handled_by_its_status_code(peer: Peer, message: type[Messages]) -> None:
    async with stream_of(peer, Scripted("a")) as stream:
        await stream.say(turn=message.turn(0))
        sent = await stream.read("move")
        unknown = match_pb2.MoveAnswer(request_id=sent.request_id, match_id="m1")
        unknown.refusal.reason = 999  # type: ignore[assignment]
        unknown.refusal.code = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
        unknown.refusal.facts["retry_after_ms"] = "1"
        await stream.say(answer=unknown)
        assert await stream.read("move") == sent


async def test_a_temporary_refusal_without_a_time_is_repeated_soon(
    peer: Peer, message: type[Messages], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "REPEAT_S", 0.001)
    async with stream_of(peer, Scripted("a")) as stream:
        await stream.say(turn=message.turn(0))
        sent = await stream.read("move")
        for _ in range(3):
            await stream.refuse(sent, "BUDGET_SPENT", grpc.StatusCode.RESOURCE_EXHAUSTED)
            assert await stream.read("move") == sent


@pytest.mark.parametrize("reason", ["PLY_MISMATCH", "NOT_YOUR_TURN", "MATCH_NOT_ACTIVE"])
async def test_a_late_move_causes_no_resignation(peer: Peer, message: type[Messages], reason: str) -> None:
    async with stream_of(peer, Scripted("a", "b")) as stream:
        await stream.say(turn=message.turn(0))
        await stream.refuse(await stream.read("move"), reason, grpc.StatusCode.FAILED_PRECONDITION)
        await stream.say(turn=message.turn(2))
        assert (await stream.read("move")).move.move == "b"


async def test_an_exception_resigns_that_match_with_a_message(
    peer: Peer, message: type[Messages], caplog: pytest.LogCaptureFixture
) -> None:
    async with stream_of(peer, Scripted(ZeroDivisionError("oops"), "a")) as stream:
        await stream.say(turn=message.turn(0))
        assert (await stream.read("resign")).match_id == "m1"
        await stream.say(turn=message.turn(0, "m2"))
        assert (await stream.read("move")).match_id == "m2"
    record = next(record for record in caplog.records if record.levelno == logging.ERROR)
    assert "scripted failed in match m1 at ply 0, and it resigns: ZeroDivisionError: oops" in record.message
    assert record.exc_info is not None


@pytest.mark.parametrize(
    "error",
    [arb.ConnectionFailed("nobody answers"), arb.ArbiterError(arb.Reason.DRAINING, "later", "UNAVAILABLE")],
    ids=["away", "stopping"],
)
async def test_an_unavailable_server_is_no_error_of_the_bot(
    peer: Peer, message: type[Messages], error: arb.ClientError
) -> None:
    async with stream_of(peer, Scripted(error, "a")) as stream:
        await stream.say(turn=message.turn(0))
        assert (await stream.read("move")).move.move == "a"


Wrap = Callable[[Exception], None]  #: raises an error that comes of another one


def from_it(error: Exception) -> None:
    raise ValueError("no move") from error


def in_its_handling(error: Exception) -> None:
    raise ValueError("no move")


def in_a_group(error: Exception) -> None:
    raise ExceptionGroup("no move", [KeyError("another"), error])


def as_a_text(error: Exception) -> None:
    raise ValueError(str(error)) from None


class Asks(arb.Bot):
    """Calls the server at each turn, or when a move is refused, and wraps the error in some way."""

    name = "asks"

    def __init__(self, wrapped: Wrap) -> None:
        self.wrapped = wrapped
        self.causes: list[BaseException | None] = []

    async def choose(self, turn: arb.Turn) -> str:
        return "a"

    async def refused(self, turn: arb.Turn, refusal: arb.ArbiterError) -> str:
        try:
            return (await self.client.legal_moves(arb.Line("pods")))[0].text
        except arb.ClientError as error:
            self.causes.append(error.__cause__)
            self.wrapped(error)
            raise AssertionError from None


class AsksAtOnce(Asks):
    """Calls the server at each turn."""

    async def choose(self, turn: arb.Turn) -> str:
        return await self.refused(turn, ILLEGAL)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrapped", [from_it, in_its_handling, in_a_group, as_a_text])
@pytest.mark.parametrize("kind", [AsksAtOnce, Asks])
async def test_an_error_caused_by_an_outage_is_no_error_of_the_bot_however_it_is_wrapped(
    peer: Peer, message: type[Messages], refuse: Refuse, wrapped: Wrap, kind: type[Asks]
) -> None:
    away = refuse("STORE_UNAVAILABLE", grpc.StatusCode.UNAVAILABLE, retry_after_ms="60000")  # longer than patience
    peer.answers["LegalMoves"] = [away, "b"]
    bot = kind(wrapped)
    async with stream_of(peer, bot) as stream:
        await stream.say(turn=message.turn())
        if kind is Asks:
            await stream.refuse(await stream.read("move"), *ILLEGAL)
        assert (await stream.read("move")).move.move == "b"
    assert [type(cause) for cause in bot.causes] == [grpc.aio.AioRpcError]


@pytest.mark.parametrize("wrapped", [from_it, in_a_group])
async def test_a_wrapped_error_of_another_client_is_recognised_too(
    peer: Peer, message: type[Messages], wrapped: Wrap
) -> None:
    class Elsewhere(Asks):
        async def choose(self, turn: arb.Turn) -> str:
            if peer.asked:
                return "b"
            peer.asked.append(("", None, {}))
            try:
                raise arb.ConnectionFailed("nobody answers")
            except arb.ConnectionFailed as error:
                self.wrapped(error)
                raise AssertionError from None

    async with stream_of(peer, Elsewhere(wrapped)) as stream:
        await stream.say(turn=message.turn())
        assert (await stream.read("move")).move.move == "b"


async def test_a_choice_that_is_no_move_resigns(
    peer: Peer, message: type[Messages], caplog: pytest.LogCaptureFixture
) -> None:
    async with stream_of(peer, Scripted(5)) as stream:  # type: ignore[arg-type]
        await stream.say(turn=message.turn(0))
        await stream.read("resign")
    assert "choose returned 5" in caplog.text


async def test_an_option_makes_an_exception_end_the_run(peer: Peer, message: type[Messages]) -> None:
    async with stream_of(peer, Scripted(ZeroDivisionError("oops")), on_error="raise") as stream:
        await stream.say(turn=message.turn(0))
        await stream.closed()
        with pytest.raises(arb.BotFailed, match="ZeroDivisionError: oops") as caught:
            await stream.task
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


async def test_an_option_makes_an_exception_leave_the_clock_running(peer: Peer, message: type[Messages]) -> None:
    async with stream_of(peer, Scripted(ZeroDivisionError("oops"), "a"), on_error="wait") as stream:
        await stream.say(turn=message.turn(0))
        await stream.say(turn=message.turn(0, "m2"))
        assert (await stream.read("move")).match_id == "m2"


async def test_draws_are_offered_claimed_and_answered(peer: Peer, message: type[Messages]) -> None:
    class Drawish(Scripted):
        async def draw_offered(self, offer: arb.DrawOffer) -> bool:
            return offer.match.opponent == "bob"

    async with stream_of(peer, Drawish(arb.OfferDraw("a"), arb.ClaimDraw(), arb.Resign())) as stream:
        await stream.say(turn=message.turn(0))
        assert (await stream.read("offer_draw")).match_id == "m1"
        await stream.receipt(await stream.read("move"))
        await stream.say(draw_offered=play_pb2.DrawOffered(match_id="m1", ply=1))
        answer = await stream.read("answer_draw")
        assert answer.answer_draw.accept
        await stream.say(turn=message.turn(2, draw_claim="repetition", draw_offered=True))
        claim = await stream.read("claim_draw")  # the offer has been answered
        await stream.refuse(claim, "DRAW_NOT_AVAILABLE", grpc.StatusCode.FAILED_PRECONDITION, why="no claim")
        await stream.read("resign")


async def test_an_offer_is_declined_by_default(peer: Peer, message: type[Messages]) -> None:
    async with stream_of(peer, Scripted()) as stream:
        await stream.say(match=message.match(draw_offered_by=2))
        assert not (await stream.read("answer_draw")).answer_draw.accept


async def test_matches_are_played_simultaneously_up_to_the_limit(peer: Peer, message: type[Messages]) -> None:
    go_on = asyncio.Event()
    thinking: list[str] = []
    enough = asyncio.Event()

    class Waiting(arb.Bot):
        async def choose(self, turn: arb.Turn) -> str:
            thinking.append(turn.match.match_id)
            if len(thinking) == 2:
                enough.set()
            await go_on.wait()
            return turn.match.match_id

    async with stream_of(peer, Waiting(), thinkers=2) as stream:
        for number in range(4):
            await stream.say(turn=message.turn(0, f"m{number}"))
        await asyncio.wait_for(enough.wait(), 240)
        await stream.say(ping=play_pb2.Ping(number=1))
        await stream.read("pong")
        assert thinking == ["m0", "m1"]
        go_on.set()
        moves = [await stream.read("move") for _ in range(4)]
    assert sorted(move.match_id for move in moves) == ["m0", "m1", "m2", "m3"]
    assert all(move.move.move == move.match_id for move in moves)


async def test_a_turn_may_arrive_before_the_receipt_of_the_move_before_it(peer: Peer, message: type[Messages]) -> None:
    """This happens if a seat moves twice in a row; a turn that is only sent again gets no second choice."""
    bot = Scripted("a", "b", "c")
    async with stream_of(peer, bot) as stream:
        await stream.say(turn=message.turn(0))
        first = await stream.read("move")
        await stream.say(turn=message.turn(0))
        await stream.say(turn=message.turn(1, seat=1))
        second = await stream.read("move")
        await stream.receipt(first)
        await stream.say(turn=message.turn(1, seat=1))
        await stream.receipt(second)
        await stream.say(turn=message.turn(2, seat=1))
        third = await stream.read("move")
    assert [(act.move.ply, act.move.move) for act in (first, second, third)] == [(0, "a"), (1, "b"), (2, "c")]
    # The turns share one match, which has the moves up to the last turn.
    assert [turn.match.moves for turn in bot.turns] == [("a", "b")] * 3


async def test_both_seats_of_a_match_against_itself(peer: Peer, message: type[Messages]) -> None:
    """Each seat has its own match object for its state; an answer reaches the seat that sent the request."""
    told: list[Any] = []

    class Twofold(arb.Bot):
        async def started(self, match: arb.LiveMatch) -> None:
            told.append(("started", match.seat, match.opponent, self.playing))

        async def choose(self, turn: arb.Turn) -> arb.Move:
            turn.match.memory.setdefault("plies", []).append(turn.ply)
            return arb.Move(chr(97 + turn.ply), line=[f"seat{turn.seat}"])

        async def ended(self, finished: arb.FinishedMatch) -> None:
            assert finished.match is not None
            told.append(("ended", finished.seat, finished.match.memory, finished.match.over))

    async with stream_of(peer, Twofold(), matches=1) as stream:
        await stream.say(match=message.match(players=["alice", "alice"]))
        acts = []
        for ply in range(4):
            await stream.say(turn=message.turn(ply, opponent="alice"))
            acts.append(await stream.read("move"))
            if ply:  # the answer to a move comes after the turn that follows it
                await stream.receipt(acts[ply - 1])
        assert [act.move.comment.line for act in acts] == [["seat1"], ["seat2"], ["seat1"], ["seat2"]]
        await stream.refuse(acts[3], *ILLEGAL)
        again = await stream.read("move")
        assert (again.move.ply, again.move.comment.line) == (3, ["seat2"])
        await stream.say(ended=message.ended(opponent="alice"))
        assert (await stream.read("acknowledge")).acknowledge.cursor == "c1"
        await stream.closed()
        await stream.task
    assert told == [("started", 1, "alice", 1), ("started", 2, "alice", 1), ("ended", 1, {"plies": [0, 2]}, True)]


async def test_the_end_of_a_match_cancels_a_running_choice(peer: Peer, message: type[Messages]) -> None:
    thinking, stopped = asyncio.Event(), asyncio.Event()

    class Endless(arb.Bot):
        async def choose(self, turn: arb.Turn) -> str:
            thinking.set()
            try:
                await asyncio.Event().wait()
            finally:
                assert turn.match.over
                stopped.set()
            return ""

    async with stream_of(peer, Endless()) as stream:
        await stream.say(turn=message.turn(0))
        await asyncio.wait_for(thinking.wait(), 240)
        await stream.say(ended=message.ended())
        await stream.read("acknowledge")
        await asyncio.wait_for(stopped.wait(), 240)


async def test_methods_that_are_no_coroutines_may_call_the_server(peer: Peer, message: type[Messages]) -> None:
    class Asking(arb.Bot):
        def choose(self, turn: arb.Turn) -> str:
            return self.legal_moves(turn)[-1].text

    peer.answers["LegalMoves"] = ["x", "y"]
    async with stream_of(peer, Asking()) as stream:
        await stream.say(turn=message.turn(0))
        assert (await stream.read("move")).move.move == "y"
    _, request, metadata = peer.asked[0]
    assert (request.match.match_id, request.match.ply) == ("m1", 0)
    assert metadata["authorization"] == "Bearer secret"


async def test_a_blocking_call_in_the_event_loop_is_refused_with_a_message(
    peer: Peer, message: type[Messages], caplog: pytest.LogCaptureFixture
) -> None:
    class Wrong(arb.Bot):
        async def choose(self, turn: arb.Turn) -> str:
            return self.legal_moves(turn)[0].text

    async with stream_of(peer, Wrong()) as stream:
        await stream.say(turn=message.turn(0))
        await stream.read("resign")
    assert "await self.ask_legal_moves(turn)" in caplog.text


async def test_an_async_method_asks_for_legal_moves_whether_the_turn_has_them_or_not(
    peer: Peer, message: type[Messages], caplog: pytest.LogCaptureFixture
) -> None:
    class Right(arb.Bot):
        async def choose(self, turn: arb.Turn) -> str:
            if turn.ply == 2:
                return self.legal_moves(turn)[0].text  # is refused, though the turn has them
            return (await self.ask_legal_moves(turn))[-1].text

    peer.answers["LegalMoves"] = ["x", "y"]
    async with stream_of(peer, Right()) as stream:
        await stream.say(turn=message.turn(0))
        assert (await stream.read("move")).move.move == "y"
        few = [game_pb2.LegalMove(text="z")]
        await stream.say(turn=message.turn(0, "m2", legal_moves=few))
        assert (await stream.read("move")).move.move == "z"
        await stream.say(turn=message.turn(2, "m3", legal_moves=few))
        await stream.read("resign")
    assert "legal_moves would wait" in caplog.text


async def test_one_bot_is_in_two_runs_each_with_a_client_of_its_own(
    peer: Peer, other: Peer, message: type[Messages]
) -> None:
    asked: list[tuple[str, str, int]] = []

    class Both(arb.Bot):
        def choose(self, turn: arb.Turn) -> str:
            asked.append((turn.match.match_id, self.blocking.client.server, self.playing))
            return self.legal_moves(turn)[0].text

        async def ended(self, finished: arb.FinishedMatch) -> None:
            asked.append((finished.match_id, self.client.server, self.playing))

    bot = Both()
    peer.answers["LegalMoves"], other.answers["LegalMoves"] = ["x"], ["y"]
    async with stream_of(peer, bot) as one, stream_of(other, bot) as two:
        await one.say(match=message.match("m0"), turn=message.turn(0))
        assert (await one.read("move")).move.move == "x"
        await two.say(turn=message.turn(0, "m2"))
        assert (await two.read("move")).move.move == "y"
        await two.say(ended=message.ended("m2"))
        await two.read("acknowledge")
        with pytest.raises(RuntimeError, match="in 2 runs, and this thread belongs to none of them"):
            _ = bot.client
    assert asked == [("m1", peer.address, 2), ("m2", other.address, 1), ("m2", other.address, 0)]
    with pytest.raises(RuntimeError, match="the bot is in no run"):
        _ = bot.client


async def test_a_trace_of_a_bot_begins_in_the_bot(
    peer: Peer, message: type[Messages], caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(arb.Bot):
        def choose(self, turn: arb.Turn) -> str:
            return helper()

    def helper() -> str:
        raise ZeroDivisionError("in the bot")

    async with stream_of(peer, Failing()) as stream:
        await stream.say(turn=message.turn(0))
        await stream.read("resign")
    [record] = [record for record in caplog.records if record.exc_info]
    assert record.exc_info is not None
    frames = [frame.name for frame in traceback.extract_tb(record.exc_info[2])]
    assert frames == ["choose", "helper"]


async def test_hooks_are_told_of_connections_choices_and_refusals(
    peer: Peer, message: type[Messages], caplog: pytest.LogCaptureFixture
) -> None:
    class Twice(arb.Bot):
        def choose(self, turn: arb.Turn) -> arb.Choice:
            return "a" if turn.refused is None else arb.Resign()

    told: list[Any] = []
    lines: list[str] = []

    def failing(server: str, error: arb.ClientError) -> None:
        told.append(("disconnected", server, str(error)))
        raise ZeroDivisionError

    hooks = arb.Hooks(
        connected=lambda server, player: told.append(("connected", server, player)),
        disconnected=failing,
        thought=lambda turn, milliseconds: told.append(("thought", turn.ply, milliseconds >= 0)),
        refused=lambda turn, refusal: told.append(("refused", turn.ply, refusal.reason.value)),
        log=lambda level, line: lines.append(f"{level} {line.splitlines()[0]}"),
    )
    async with stream_of(peer, Twice(), hooks=hooks) as stream:
        await stream.say(turn=message.turn(0))
        await stream.refuse(await stream.read("move"), "MOVE_ILLEGAL", grpc.StatusCode.FAILED_PRECONDITION)
        await stream.read("resign")
        stream.end.set_result(None)
        for _ in range(3):
            failed = await peer.stream()
            await failed.read("hello")
            failed.end.set_result(None)
        back = await peer.stream()
        await back.meet()
        await back.read("resign")  # which was not answered
    assert told == [
        ("connected", peer.address, "alice"),
        ("thought", 0, True),
        ("refused", 0, "MOVE_ILLEGAL"),
        ("thought", 0, True),
        ("disconnected", peer.address, f"the arbiter at {peer.address} ended the stream"),
        ("connected", peer.address, "alice"),
    ]
    ended = f"the arbiter at {peer.address} ended the stream"
    kept = [re.sub(r"[0-9.]+ s$", "T s", line) for line in lines if not line.startswith(("debug", "error"))]
    assert kept == [
        f"info connected to {peer.address} as alice",
        "info m1 begins: pods as seat 1 against bob",
        "warning refused in match m1: said MOVE_ILLEGAL",
        f"warning the connection to {peer.address} is lost, trying again: {ended}",
        f"warning connected to {peer.address} as alice again, after T s",
    ]
    assert "error the hook failing failed" in lines
    assert "connected to" not in caplog.text


async def test_a_match_that_the_bot_has_moved_in_goes_on(
    peer: Peer, message: type[Messages], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "arbiter_client")
    async with stream_of(peer, Scripted("a")) as stream:
        await stream.say(match=message.match("new", turn=1))
        await stream.say(match=message.match("answered", ply=1, turn=1))
        await stream.say(match=message.match("moved", ply=1, turn=2))
        await stream.say(match=message.match("opened", ply=4, turn=1, opening_plies=3))
        await stream.say(match=message.match("older", ply=8, turn=1))
        await stream.say(ping=play_pb2.Ping(number=1))
        await stream.read("pong")
    told = [record.getMessage().partition(":")[0] for record in caplog.records if "against" in record.getMessage()]
    assert told == ["new begins", "answered begins", "moved goes on", "opened begins", "older goes on"]


def test_a_turn_has_the_time_that_the_bot_may_use() -> None:
    turn = arb.Turn("pods", 1, 0, "", (), (), 1_000, 1_200, "", False, "bob", (), None, (), 5_000, 1)
    left_ms = turn.time_left_ms
    assert left_ms is not None
    assert 3_000 < left_ms <= 4_800
    endless = arb.Turn("pods", 1, 0, "", (), (), 1_000, 1_200, "", False, "bob", (), None, (), 0, 1)
    assert endless.time_left_ms is None
