"""Sessions without a network: a match from both ends, and how they are refused and ended."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar

import arbiter_client as arb
import pytest
from arbiter_client.outbox import ServerEnd
from arbiter_client.playing import play_with
from arbiter_client.session import Waiting
from arbiter_protos.v1 import match_pb2
from arbiter_protos.v1 import play_pb2 as pb

from arbiter.errors import Reason
from arbiter.testing.served import Served, memory_world, served
from tests.refusals import refusing
from tests.rpc.calls import Metadata, Stubs
from tests.rpc.servers import WAIT_S
from tests.rpc.test_streams import FIRST

HELLO = pb.ClientHello(protocol_version="1.0", bot_name="here", bot_version="1")


class Bot:
    """A bot in the server's process."""

    def __init__(self) -> None:
        self._items = deque[pb.PlayItem]()
        self._came = asyncio.Event()

    def take(self, response: pb.PlayResponse) -> None:
        self._items += response.items
        self._came.set()

    async def item(self, kind: str) -> pb.PlayItem:
        """Return the next item of a kind; others before it are dropped."""
        async with asyncio.timeout(WAIT_S):
            while True:
                while self._items:
                    item = self._items.popleft()
                    if item.WhichOneof("item") == kind:
                        return item
                self._came.clear()
                await self._came.wait()


def token(metadata: Metadata) -> str:
    return metadata[0][1].removeprefix("Bearer ")


def session(
    server: Served, secret: str, take: Callable[[pb.PlayResponse], None]
) -> AbstractAsyncContextManager[ServerEnd]:
    opens = server.running.client_here(secret, "").connection.direct
    assert opens is not None
    return opens(HELLO, take)


def move(hers: ServerEnd, match_id: str, ply: int, text: str = FIRST) -> None:
    hers.act(pb.PlayAct(request_id=f"m{ply}", match_id=match_id, move=pb.MoveAct(ply=ply, move=text)))


async def test_turns_and_answers_are_as_over_the_network() -> None:
    async with served(memory_world) as server:
        stubs, alice, bob = await Stubs(server).enter(), Bot(), Bot()
        async with (
            session(server, token(stubs.alice), alice.take) as hers,
            session(server, token(stubs.bob), bob.take) as his,
        ):
            assert (hers.player, his.player) == ("alice", "bob")
            hers.begin()
            his.begin()
            match_id = (await stubs.match()).match_id
            assert (await alice.item("match")).match.match_id == match_id
            turn = (await alice.item("turn")).turn
            assert (turn.ply, turn.seat, turn.opponent) == (0, 1, "bob")
            move(hers, match_id, 0)
            answer, turn = (await alice.item("answer")).answer, (await bob.item("turn")).turn
            assert (answer.request_id, answer.receipt.ply, answer.receipt.ledger.handed_over_ms > 0) == ("m0", 1, True)
            assert [each.move for each in turn.last_moves] == [FIRST]
            move(his, match_id, 1, "nonsense")
            assert (await bob.item("answer")).answer.WhichOneof("answer") == "refusal"
            his.act(pb.PlayAct(request_id="r", match_id=match_id, resign=pb.ResignAct()))
            for bot in (alice, bob):
                assert (await bot.item("ended")).ended.result.winner == 1


async def test_an_unknown_token_is_refused() -> None:
    async with served(memory_world) as server:
        with pytest.raises(arb.ArbiterError, match="token") as refused:
            async with session(server, "nobody's", Bot().take):
                raise AssertionError("a session was opened")
        assert refused.value.reason is arb.Reason.TOKEN_INVALID


async def test_the_newest_session_of_a_player_ends_the_one_before_which_has_no_effect_any_more() -> None:
    async with served(memory_world) as server:
        stubs, old, new = await Stubs(server).enter(), Bot(), Bot()
        match_id = (await stubs.match()).match_id
        secret = token(stubs.alice)
        async with session(server, secret, old.take) as first:
            first.begin()
            assert (await old.item("turn")).turn.match_id == match_id
            async with session(server, secret, new.take) as second, asyncio.timeout(WAIT_S):
                second.begin()
                with refusing(Reason.SESSION_SUPERSEDED):
                    await first.over
                move(first, match_id, 0)
                assert (await new.item("turn")).turn.ply == 0
                move(second, match_id, 0)
                assert (await new.item("answer")).answer.receipt.ply == 1


async def test_an_error_of_the_bot_is_told_where_its_session_is_awaited() -> None:
    def fails(_: pb.PlayResponse) -> None:
        raise ZeroDivisionError

    async with served(memory_world) as server:
        stubs = await Stubs(server).enter()
        async with session(server, token(stubs.alice), fails) as hers:
            hers.begin()
            with pytest.raises(ZeroDivisionError):
                await hers.over


WHOSE: ContextVar[str] = ContextVar("whose", default="nobody's")


async def test_items_come_in_the_context_of_the_bot_whoever_has_made_them() -> None:
    contexts = list[str]()

    class Noting(Bot):
        def take(self, response: pb.PlayResponse) -> None:
            contexts.append(WHOSE.get())
            super().take(response)

    async def plays(secret: str, bot: Bot) -> None:
        WHOSE.set("the bot's")
        async with session(server, secret, bot.take) as hers:
            hers.begin()
            await bot.item("turn")

    async with served(memory_world) as server:
        stubs, alice = await Stubs(server).enter(), Noting()
        playing = asyncio.create_task(plays(token(stubs.alice), alice))
        await stubs.match()
        await playing
        assert set(contexts) == {"the bot's"}


async def test_the_way_to_a_program_and_back_is_the_round_trip_of_its_move() -> None:
    class Asking(arb.Bot):
        """It asks a program that answers before it is asked."""

        async def choose(self, turn: arb.Turn) -> arb.Choice:
            return arb.Move(FIRST, thought_s=-60.0)

    async with served(memory_world) as server:
        stubs, bob = await Stubs(server).enter(), Bot()
        match_id = (await stubs.match(start=match_pb2.START_RULE_WHEN_PRESENT)).match_id
        of = match_pb2.ObserveRequest(match=match_pb2.ObserveMatch(match_id=match_id))
        async with (
            session(server, token(stubs.bob), bob.take) as his,
            server.running.client_here(token(stubs.alice), "") as client,
        ):
            his.begin()
            playing = asyncio.create_task(play_with(client, Asking(), None, 1, "raise", Waiting(WAIT_S)))
            observed = stubs.matches.Observe(of, metadata=stubs.org)
            moved = list[match_pb2.Ledger]()
            async with asyncio.timeout(WAIT_S):
                while not moved:
                    items = (await observed.read()).items
                    moved += [item.event.moved.ledger for item in items if item.event.HasField("moved")]
            playing.cancel()
            await asyncio.wait([playing])
        assert moved[0].round_trip_ms >= 60_000
