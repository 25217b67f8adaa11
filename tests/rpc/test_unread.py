"""How the server ends each kind of stream, for each state of its reader, with real HTTP/2 back-pressure.

A reader that does not read announces a flow-control window of zero bytes: the first message of the server waits. In
every state the stream leaves the server's counts at once; a reader that reads gets the reason, and one that does not
loses its connection after `silence_ms`. The server reports none of this as an error of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import structlog
from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, player_pb2, tournament_pb2

from arbiter.bench.h2 import WINDOW, RawCall
from arbiter.config import Limits
from arbiter.rpc import play_stream, servicing
from arbiter.rpc.unread import Unread
from arbiter.service.gate.open_streams import OpenStreams
from arbiter.testing.served import served
from arbiter.tournaments.spec import Format, Spec
from tests.rpc.calls import Metadata, Stubs

pytestmark = pytest.mark.long

WAIT_S = 240
SILENCE_MS = 250  #: less than an operator may set, so that the tests are quick
LIMITS = Limits().model_copy(update={"silence_ms": SILENCE_MS, "bookmark_ms": 50, "ping_ms": 50})
PATIENT = Limits().model_copy(update={"bookmark_ms": 50})

MATCHES, PLAY, GAMES = "/arbiter.v1.MatchService/", "/arbiter.v1.PlayService/Play", "/arbiter.v1.GameService/"
HELLO = play_pb2.PlayRequest(acts=[play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))])
GARBAGE = b"\xff\xff\xff"

KINDS = {
    "Play": (PLAY, "play"),
    "SubmitMoves": (f"{MATCHES}SubmitMoves", "moves"),
    "Observe a match": (f"{MATCHES}Observe", "events"),
    "Observe all": (f"{MATCHES}Observe", "events"),
    "GetTranscript": (f"{MATCHES}GetTranscript", "transcripts"),
    "ExportTournament": ("/arbiter.v1.TournamentService/ExportTournament", "transcripts"),
    "LegalMoves": (f"{GAMES}LegalMoves", "legal moves"),
}
"""The streams of the protocol: method, and the kind under which the server counts it."""

TWO_WAY = ("Play", "SubmitMoves")
FINITE = ("GetTranscript", "ExportTournament", "LegalMoves")  #: these end by themselves for a reader that reads
STATES = ("reading", "slow", "not reading", "half closed", "reset", "gone")
ENDS = ("token revoked", "player suspended", "garbage", "draining", "unread")


def request_of(kind: str, match_id: str, tournament_id: str) -> bytes:
    """Return the first message of a call of a kind."""
    one = match_pb2.ObserveMatch(match_id=match_id)
    all_ = match_pb2.ObserveAll(after_token="0")
    move = match_pb2.SubmitMoveRequest(request_id="x", match_id=match_id, ply=7, move="z")
    message: Any = {
        "Play": HELLO,
        "SubmitMoves": match_pb2.SubmitMovesRequest(moves=[move]),
        "Observe a match": match_pb2.ObserveRequest(match=one, with_record=True),
        "Observe all": match_pb2.ObserveRequest(all=all_, with_record=True),
        "GetTranscript": match_pb2.GetTranscriptRequest(match_id=match_id),
        "ExportTournament": tournament_pb2.ExportTournamentRequest(tournament_id=tournament_id),
        "LegalMoves": game_pb2.LegalMovesRequest(line=game_pb2.LineOfPlay(game="pods")),
    }[kind]
    return bytes(message.SerializeToString())


class Reader:
    """A raw client with one stream, in a state."""

    def __init__(self, kind: str, state: str, own: Metadata) -> None:
        self.kind = kind
        self.state = state
        self.received = 0
        window = 0 if state in ("slow", "not reading") or kind in FINITE else WINDOW
        self.call = RawCall(KINDS[kind][0], own, self._message, lambda: None, window)
        self._slowly: asyncio.Task[None] | None = None

    def _message(self, data: bytes) -> None:
        self.received += 1

    async def open(self, address: str, match_id: str, tournament_id: str) -> None:
        await self.call.connect(address)
        self.call.send(request_of(self.kind, match_id, tournament_id), last=self.kind not in TWO_WAY)
        if self.state == "slow":
            self._slowly = asyncio.create_task(self._read_slowly())

    async def _read_slowly(self) -> None:
        while not self.call.lost.is_set():
            self.call.grant(1)
            await asyncio.sleep(0.02)

    def act(self) -> None:
        """Bring about the state, once the server has written."""
        if self.state == "half closed" and self.kind in TWO_WAY:
            self.call.half_close()
        elif self.state == "reset":
            self.call.reset()
        elif self.state == "gone":
            self.call.close()

    def close(self) -> None:
        self.call.close()
        if self._slowly is not None:
            self._slowly.cancel()


def noted(kind: type[Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list to which new objects of a class are added."""
    made: list[Any] = []
    init = kind.__init__

    def noting(self: Any, *args: Any) -> None:
        init(self, *args)
        made.append(self)

    monkeypatch.setattr(kind, "__init__", noting)
    return made


async def until(what: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(WAIT_S):
        while not what():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.005)


def kinds_of(end: str, state: str) -> list[str]:
    """Return the kinds of streams that the server can end in this way, for a reader in this state.

    A list of legal moves belongs to no token: it ends when it has been read, or is left unread. A reader that reads
    gets all of it, as of a transcript: the server ends neither.
    """
    if end == "garbage":
        return [kind for kind in TWO_WAY if state != "half closed"]  # a client that has closed its side sends nothing
    if end == "unread":
        return [kind for kind in KINDS if kind != "Play"] if state in ("slow", "not reading") else []
    kinds = [kind for kind in KINDS if kind != "LegalMoves" or end == "draining"]
    return [kind for kind in kinds if kind not in FINITE or state not in ("reading", "half closed")]


CASES = [(end, state) for end in ENDS for state in STATES if kinds_of(end, state)]


@pytest.mark.parametrize(("end", "state"), CASES)
async def test_every_end_of_every_kind_in_every_state(
    end: str, state: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(play_stream, "FAREWELL_S", 0.1)
    caplog.set_level(logging.WARNING)
    streams, waiting = noted(OpenStreams, monkeypatch), noted(Unread, monkeypatch)
    kinds = kinds_of(end, state)
    unread_ends = end == "unread"
    with structlog.testing.capture_logs() as logs:
        async with AsyncExitStack() as stack:
            # With a long silence only the cause of this case ends the streams; the ends of calls need a short one.
            limits = LIMITS if state in ("slow", "not reading") else PATIENT
            server = await stack.enter_async_context(served(limits=limits))
            stubs = await Stubs(server).enter()
            match_id = (await stubs.match("first", label="x" * 100)).match_id
            cup = Spec("Cup", Format.ROUND_ROBIN, ("pods",), "1s")
            tournament_id = (await server.running.arbiter.tournaments.create(cup, "alice", "make")).id
            made = await stubs.players.CreateToken(player_pb2.CreateTokenRequest(), metadata=stubs.alice)
            own = [("authorization", f"Bearer {made.secret}")]
            counts, unread = streams[0]._counts, waiting[0]
            readers = [Reader(kind, state, own) for kind in kinds]
            for reader in readers:
                await reader.open(server.address, match_id, tournament_id)
            if not unread_ends:
                await opened(readers, counts, unread)
            for reader in readers:
                reader.act()
            await ended_by(end, stubs, made.token.token_id, readers, stack)
            await until(lambda: not counts)
            await until(lambda: all(reader.call.lost.is_set() or state == "reset" for reader in readers))
            await until(lambda: not len(unread) and not unread.size and not servicing._reading)
            for reader in readers:
                if state in ("reading", "half closed") and end != "draining":
                    assert reader.call.trailers, reader.kind
                reader.close()
    loud = {line["event"] for line in logs if line["log_level"] in ("warning", "error")} - {"stall"}  # a busy machine
    assert loud <= ({"connection_closed"} if state in ("slow", "not reading") else set())
    assert [record for record in caplog.records if record.name.startswith(("grpc", "asyncio"))] == []


async def opened(readers: list[Reader], counts: Any, unread: Unread) -> None:
    """Wait until each stream is open, and its reader has received what it reads, or a write waits for it."""
    for reader in readers:
        await until(lambda reader=reader: bool(reader.received) or bool(len(unread)) or reader.call.lost.is_set())  # type: ignore[misc]
    wanted = {KINDS[reader.kind][1] for reader in readers}
    await until(lambda: {kind for kind, _ in counts} == wanted or any(r.call.lost.is_set() for r in readers))


async def ended_by(end: str, stubs: Stubs, token_id: str, readers: list[Reader], stack: AsyncExitStack) -> None:
    """Have the server end the streams."""
    ways: dict[str, Callable[[], Awaitable[Any]]] = {
        "token revoked": lambda: stubs.players.RevokeToken(
            player_pb2.RevokeTokenRequest(token_id=token_id), metadata=stubs.alice
        ),
        "player suspended": lambda: stubs.players.SuspendPlayer(
            player_pb2.SuspendPlayerRequest(name="alice", suspended=True), metadata=stubs.admin
        ),
        "draining": stack.aclose,
    }
    if end in ways:
        await ways[end]()
    elif end == "garbage":
        for reader in readers:
            if not reader.call.lost.is_set() and reader.state not in ("gone", "reset"):
                reader.call.send(GARBAGE)
