"""Several addresses of one arbiter: the client tries the next one if one does not answer or is about to stop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from contextlib import asynccontextmanager
from typing import Any

import arbiter_client as arb
import grpc
import pytest
from arbiter_client import credentials
from arbiter_client.addresses import Addresses, Tries, server_addresses
from arbiter_protos.v1 import match_pb2, server_pb2


def _has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as held:
        held.bind(("::1", 0))
        return True
    return False


LOOPBACKS = ["127.0.0.1", "localhost", *(["[::1]"] if _has_ipv6() else [])]  # a container may have no IPv6
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


class First(arb.Bot):
    """Plays the move a."""

    name = "first"

    def choose(self, turn: arb.Turn) -> str:
        return "a"


@pytest.fixture
def nowhere() -> Iterator[str]:
    """Return an address where no server listens, and which no other test gets."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@asynccontextmanager
async def playing(server: str, **more: Any) -> Any:
    task = asyncio.create_task(arb.play(First(), server, token="secret", **more))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


# ---- syntax ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a:1", ("a:1",)),
        ("a:1,b:2", ("a:1", "b:2")),
        (" a:1 , [::1]:2,a:1", ("a:1", "[::1]:2")),
    ],
)
def test_addresses_are_separated_by_commas(text: str, found: tuple[str, ...]) -> None:
    assert server_addresses(text) == found


@pytest.mark.parametrize(
    ("text", "which"),
    [
        ("a:1,b", "'b' (number 2 of 2) is no address"),
        ("a:1,", "'' (number 2 of 2) is no address"),
        ("a:x,b:1", "'a:x' (number 1 of 2) is no address"),
        ("a:1 b:2", "'a:1 b:2' is no address"),
        ("::1:7400", "'::1:7400' is no address"),
        ("a:1,b:70000,c:3", "'b:70000' (number 2 of 3) is no address"),
    ],
)
def test_a_malformed_address_is_named(text: str, which: str) -> None:
    with pytest.raises(arb.ConnectionFailed) as error:
        arb.Client(text)
    assert str(error.value).startswith(which)
    assert "write HOST:PORT, such as 127.0.0.1:7400 or [::1]:7400, and commas between several" in str(error.value)


# ---- where and when to try again -------------------------------------------------------------------------------------


def draining(asked_ms: int) -> arb.ArbiterError:
    return arb.ArbiterError(arb.Reason.DRAINING, "about to stop", "UNAVAILABLE", {"retry_after_ms": str(asked_ms)})


def test_all_addresses_are_tried_before_a_pause() -> None:
    addresses = Addresses(("a:1", "b:1", "c:1"))
    tries = Tries(addresses)
    gone = arb.ConnectionFailed("gone")
    assert (tries.failed("a:1", gone), addresses.current) == (0.0, "b:1")
    assert (tries.failed("b:1", draining(9_000)), addresses.current) == (0.0, "c:1")
    assert 0.05 <= tries.failed("c:1", gone) <= 0.1  # the shortest of the requested pauses
    assert addresses.current == "a:1"
    assert (tries.failed("a:1", gone), addresses.current) == (0.0, "b:1")


def test_if_all_addresses_ask_for_a_pause_the_shortest_one_is_made() -> None:
    tries = Tries(Addresses(("a:1", "b:1")))
    assert tries.failed("a:1", draining(9_000)) == 0.0
    assert 3.0 < tries.failed("b:1", draining(3_000)) <= 3.1


def test_a_refusal_of_one_caller_is_no_reason_to_change_the_address() -> None:
    addresses = Addresses(("a:1", "b:1"))
    limited = arb.ArbiterError(arb.Reason.RATE_LIMITED, "slower", "RESOURCE_EXHAUSTED", {"retry_after_ms": "1000"})
    assert 1.0 < Tries(addresses).failed("a:1", limited) <= 1.1
    assert addresses.current == "a:1"


def test_two_callers_that_fail_at_an_address_change_it_once() -> None:
    addresses = Addresses(("a:1", "b:1", "c:1"))
    gone = arb.ConnectionFailed("gone")
    assert Tries(addresses).failed("a:1", gone) == Tries(addresses).failed("a:1", gone) == 0.0
    assert addresses.current == "b:1"


# ---- calls, streams, bots --------------------------------------------------------------------------------------------


async def test_a_call_continues_at_the_next_address(peer: Any, nowhere: str) -> None:
    peer.tokens["secret"] = "alice"
    async with arb.Client(f"{nowhere},{peer.address}", token="secret", patience_s=0) as client:
        assert (await client.myself()).player.name == "alice"
        assert client.server == peer.address


async def test_a_call_continues_at_a_server_that_is_not_about_to_stop(peer: Any, other: Any, refuse: Any) -> None:
    peer.refusals["EnterTournament"] = [refuse("DRAINING", UNAVAILABLE, retry_after_ms="60000")]
    async with arb.Client(f"{peer.address},{other.address}", patience_s=0) as client:
        await client.enter_tournament("t1")
    assert len(other.requests("EnterTournament")) == 1


async def test_the_same_request_is_sent_to_the_next_address(peer: Any, other: Any, refuse: Any) -> None:
    peer.refusals["CreateSeek"] = [refuse("STORE_UNAVAILABLE", UNAVAILABLE)]
    async with arb.Client(f"{peer.address},{other.address}") as client:
        await client.create_seek(arb.Terms("pods", "1m+1s"))
    assert peer.requests("CreateSeek") == other.requests("CreateSeek")


async def test_a_request_that_may_be_sent_only_once_is_sent_to_an_address_that_answers(peer: Any, nowhere: str) -> None:
    peer.answers["GetServerInfo"] = [server_pb2.GetServerInfoResponse()]
    async with arb.Client(f"{nowhere},{peer.address}") as client:
        assert (await client.register_player("alice")).token == "token-1"
    assert len(peer.requests("RegisterPlayer")) == 1


async def test_if_none_answers_each_address_and_its_reason_are_named(nowhere: str, peer: Any, refuse: Any) -> None:
    peer.refusals["EnterTournament"] = [refuse("DRAINING", UNAVAILABLE)] * 9
    async with arb.Client(f"{nowhere},{peer.address}", patience_s=0) as client:
        with pytest.raises(arb.ConnectionFailed) as error:
            await client.enter_tournament("t1")
    text = str(error.value)
    assert text.startswith(f"no arbiter answers at {nowhere} (")
    assert "Connection refused" in text
    assert f", nor at {peer.address} (said DRAINING)" in text
    assert text.endswith("is one running there, are hosts and ports right, and does it speak TLS or not as you do?")


async def test_an_observation_continues_at_the_next_address_after_the_last_revision(
    peer: Any, other: Any, refuse: Any
) -> None:
    def item(revision: int) -> match_pb2.ObserveItem:
        return match_pb2.ObserveItem(event=match_pb2.MatchEvent(match_id="m1", revision=revision))

    peer.answers["Observe"] = [[item(1), item(2), refuse("DRAINING", UNAVAILABLE, retry_after_ms="60000")]]
    other.answers["Observe"] = [[item(3)]]
    async with arb.Client(f"{peer.address},{other.address}") as client:
        assert [event.revision async for event in client.observe("m1")] == [1, 2, 3]
    assert other.requests("Observe")[0].match.after_revision == 2


async def test_a_bot_continues_at_the_next_address_with_its_unanswered_move(
    peer: Any, other: Any, message: Any, refuse: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with playing(f"{peer.address},{other.address}"):
        stream = await peer.stream()
        await stream.meet()
        await stream.say(match=message.match(), turn=message.turn(0))
        lost = await stream.read("move")
        stream.end.set_result(refuse("DRAINING", UNAVAILABLE, retry_after_ms="60000"))
        stream = await other.stream()
        await stream.meet()
        assert await stream.read("move") == lost
        await stream.receipt(lost)
        stream.end.set_result(refuse("DRAINING", UNAVAILABLE))
        assert await (await peer.stream()).meet()  # and back again
    assert f"connected to {other.address} as alice again, after" in caplog.text


async def test_a_bot_begins_at_the_first_address_that_answers(nowhere: str, peer: Any) -> None:
    async with playing(f"{nowhere},{peer.address}", patience_s=0):
        assert await (await peer.stream()).meet()


async def test_a_player_has_the_same_token_at_all_addresses(peer: Any, nowhere: str) -> None:
    peer.answers["GetServerInfo"] = [server_pb2.GetServerInfoResponse()] * 2
    play = asyncio.create_task(arb.play(First(), f"{nowhere},{peer.address}", name="alice"))
    await (await peer.stream()).meet()
    play.cancel()
    await asyncio.wait([play])
    assert credentials.find(nowhere, "alice") == credentials.find(peer.address, "alice") == "token-1"
    assert credentials.find(("elsewhere:1", nowhere), "alice") == "token-1"
    assert credentials.forget((nowhere, peer.address), "alice")
    assert credentials.entries() == {}


@pytest.mark.parametrize("host", LOOPBACKS)
async def test_the_loopback_works_as_ipv4_and_as_ipv6(host: str) -> None:
    server = grpc.aio.server()
    port = server.add_insecure_port(f"{host}:0")
    await server.start()
    async with arb.Client(f"{host}:{port}") as client:
        with pytest.raises(arb.ArbiterError, match="is no arbiter"):  # but it answers
            await client.server_info()
    await server.stop(grace=None)
