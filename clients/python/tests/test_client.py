"""The calls: answers as values, refusals as named errors, streams that continue after a lost connection."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import grpc
import pytest
from arbiter_client.calls.base import Calls
from arbiter_protos.v1 import match_pb2, server_pb2

if TYPE_CHECKING:
    from conftest import Peer, Refuse

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
RESOURCE_EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED


def event(revision: int, kind: str = "left", token: str = "", **what: Any) -> match_pb2.ObserveItem:
    what = what or {"seat": match_pb2.SeatEvent(seat=1)}
    return match_pb2.ObserveItem(
        token=token, event=match_pb2.MatchEvent(match_id="m1", revision=revision, kind=kind, **what)
    )


async def test_an_answer_is_a_value(peer: Peer) -> None:
    answer = server_pb2.GetServerInfoResponse(
        protocol_version="1.2", limits={"move_cap_ms": 9}, capabilities=["a", "b"]
    )
    peer.answers["GetServerInfo"] = [answer]
    async with arb.Client(peer.address, token="secret") as client:
        info = await client.server_info()
    assert (info.protocol_version, info.limits, info.capabilities) == ("1.2", {"move_cap_ms": 9}, ("a", "b"))
    assert peer.asked[0][2]["authorization"] == "Bearer secret"


async def test_a_refusal_is_a_named_error_with_facts(peer: Peer) -> None:
    async with arb.Client(peer.address) as client:
        with pytest.raises(arb.ArbiterError, match="said MATCH_NOT_FOUND") as caught:
            await client.get_match("m404")
    assert (caught.value.reason, caught.value.code) == (arb.Reason.MATCH_NOT_FOUND, "NOT_FOUND")
    assert caught.value.facts == {"id": "m404"}
    assert not caught.value.temporary


async def test_a_call_that_the_server_does_not_have_is_reported(peer: Peer) -> None:
    async with arb.Client(peer.address) as client:
        with pytest.raises(arb.ArbiterError, match="another version") as caught:
            await client.get_game("pods")
    assert (caught.value.reason, caught.value.code) == (arb.Reason.UNKNOWN, "UNIMPLEMENTED")


async def test_a_temporary_failure_is_retried(peer: Peer, refuse: Refuse) -> None:
    draining = refuse("DRAINING", UNAVAILABLE, retry_after_ms="1")
    peer.answers["GetServerInfo"] = [draining, server_pb2.GetServerInfoResponse(software="arbiter")]
    async with arb.Client(peer.address, patience_s=10) as client:
        assert (await client.server_info()).software == "arbiter"
    assert len(peer.asked) == 2


async def test_an_incomplete_list_is_requested_again(peer: Peer, refuse: Refuse) -> None:
    peer.answers["LegalMoves"] = ["a1", refuse("RATE_LIMITED", RESOURCE_EXHAUSTED, retry_after_ms="1"), "b1"]
    async with arb.Client(peer.address, patience_s=10) as client:
        moves = await client.legal_moves(arb.MatchPly("m1", 0))
    assert [move.text for move in moves] == ["a1", "b1"]
    assert len(peer.asked) == 2


async def test_retries_end_after_the_given_patience(peer: Peer, refuse: Refuse) -> None:
    peer.answers["GetServerInfo"] = [refuse("DRAINING", UNAVAILABLE, retry_after_ms="5000")]
    async with arb.Client(peer.address, patience_s=1) as client:
        with pytest.raises(arb.ArbiterError) as caught:
            await client.server_info()
    assert (caught.value.reason, caught.value.temporary, caught.value.retry_after_s) == (arb.Reason.DRAINING, True, 5)


async def test_pages_are_joined(peer: Peer) -> None:
    peer.matches = {f"m{n}": match_pb2.Match(match_id=f"m{n}", phase=match_pb2.PHASE_ACTIVE) for n in range(5)}
    async with arb.Client(peer.address) as client:
        assert [match.match_id for match in await client.list_matches()] == ["m0", "m1", "m2", "m3", "m4"]
        assert [match.match_id for match in await client.list_matches(most=3)] == ["m0", "m1", "m2"]
        assert (await client.list_matches(most=1))[0].phase is arb.Phase.ACTIVE


async def test_observing_a_match_continues_after_the_last_revision(peer: Peer, refuse: Refuse) -> None:
    moved = match_pb2.MovePlayed(ply=0, seat=1, move="a")
    peer.answers["Observe"] = [
        [event(1), event(2, "moved", moved=moved), refuse("READER_TOO_SLOW", grpc.StatusCode.ABORTED)],
        [refuse("DRAINING", UNAVAILABLE, retry_after_ms="1")],
        [event(2, "moved", moved=moved), event(3, "brand_new"), event(4, "ended", ended=match_pb2.Result(winner=1))],
    ]
    async with arb.Client(peer.address) as client:
        events = [event async for event in client.observe("m1")]
    assert [event.revision for event in events] == [1, 2, 3, 4]
    assert [request.match.after_revision for _, request, _ in peer.asked] == [0, 2, 2]
    assert isinstance(events[1].what, arb.MovePlayed)
    assert isinstance(events[3].what, arb.Result)


async def test_observing_all_matches_continues_after_the_last_token(peer: Peer, refuse: Refuse) -> None:
    bookmark = match_pb2.ObserveItem(token="t2", bookmark=match_pb2.Bookmark())
    peer.answers["Observe"] = [
        [event(1, token="t1"), bookmark, refuse("DRAINING", UNAVAILABLE, retry_after_ms="1")],
        [event(2, token="t3"), refuse("TOKEN_INVALID", grpc.StatusCode.UNAUTHENTICATED)],
    ]
    seen = []
    async with arb.Client(peer.address) as client:

        async def watch() -> None:
            async for each in client.observe_all("0", label="cup"):
                seen.append((each.revision, each.token))  # noqa: PERF401 - what came before the error counts

        with pytest.raises(arb.ArbiterError, match="TOKEN_INVALID"):
            await watch()
    assert seen == [(1, "t1"), (2, "t3")]
    assert [(request.all.after_token, request.all.label) for _, request, _ in peer.asked] == [
        ("0", "cup"),
        ("t2", "cup"),
    ]


async def test_the_blocking_client_gives_the_same_answers(peer: Peer, refuse: Refuse) -> None:
    peer.matches["m1"] = match_pb2.Match(match_id="m1", game="pods")
    peer.answers["Observe"] = [[event(1), event(2), event(3)]]

    def without_a_loop() -> tuple[str, list[int]]:
        with arb.BlockingClient(peer.address) as client:
            with pytest.raises(arb.ArbiterError, match="MATCH_NOT_FOUND"):
                client.get_match("m404")
            return client.get_match("m1").game, [event.revision for event in client.observe("m1")]

    assert await asyncio.to_thread(without_a_loop) == ("pods", [1, 2, 3])


def test_a_closed_client_raises_a_clear_error() -> None:
    client = arb.BlockingClient("127.0.0.1:1")
    client.close()
    client.close()
    with pytest.raises(arb.ConnectionFailed, match="is closed"):
        client.list_games()


def test_the_blocking_client_has_every_call() -> None:
    calls = {
        name
        for part in arb.Client.__mro__
        if issubclass(part, Calls) and part is not arb.Client
        for name, value in vars(part).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }
    assert len(calls) > 30
    assert calls == {name for name in calls if callable(getattr(arb.BlockingClient, name, None))}


@pytest.mark.parametrize("address", ["7400", "localhost", "localhost:", ":7400", "localhost:port", "localhost:70000"])
def test_an_address_is_host_and_port(address: str) -> None:
    with pytest.raises(arb.ConnectionFailed, match="write HOST:PORT"):
        arb.Client(address)


def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert arb.Client().server == "127.0.0.1:7400"
    monkeypatch.setenv("ARBITER_SERVER", "there:1")
    assert arb.Client().server == "there:1"
    assert arb.Client("here:2").server == "here:2"


def test_certificates_are_checked_before_anything_is_sent(tmp_path: Path) -> None:
    with pytest.raises(arb.CredentialsError, match="can't read"):
        arb.Tls(root_certificate=tmp_path / "none.pem").credentials()
    with pytest.raises(arb.CredentialsError, match="go together"):
        arb.Tls(client_key=tmp_path / "key.pem").credentials()


@pytest.mark.parametrize(("text", "pause_s"), [("250", 0.25), ("9" * 15, 999_999_999_999.999), ("9" * 5_000, 0.0)])
def test_a_pause_that_is_too_long_for_a_clock_is_ignored(text: str, pause_s: float) -> None:
    error = arb.ArbiterError(arb.Reason.DRAINING, "back soon", "UNAVAILABLE", {"retry_after_ms": text})
    assert error.retry_after_s == pause_s
