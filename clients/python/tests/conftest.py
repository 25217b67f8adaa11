"""A scripted peer: a real gRPC server whose messages the test chooses."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import (
    game_pb2,
    game_pb2_grpc,
    match_pb2,
    match_pb2_grpc,
    play_pb2,
    play_pb2_grpc,
    player_pb2,
    player_pb2_grpc,
    rating_pb2,
    rating_pb2_grpc,
    refusal_pb2,
    server_pb2_grpc,
    tournament_pb2,
    tournament_pb2_grpc,
)
from google.protobuf import any_pb2
from google.rpc import status_pb2

PLAYER = "alice"
WAIT_S = 240.0  #: seconds; only a hanging test takes that long, however busy the machine


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """Let programs that tests start be interrupted: a shell runs background jobs with SIGINT ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


Refuse = Callable[..., refusal_pb2.Refusal]  #: `refusal`


def refusal(reason: str, code: grpc.StatusCode, **facts: str) -> refusal_pb2.Refusal:
    """Return a refusal as the arbiter writes it."""
    number = refusal_pb2.RefusalReason.Value(f"REFUSAL_REASON_{reason}")
    return refusal_pb2.Refusal(reason=number, code=code.value[0], message=f"said {reason}", facts=facts)


async def abort(context: Any, refused: refusal_pb2.Refusal) -> None:
    """End a call with a refusal in the details of its status."""
    detail = any_pb2.Any()
    detail.Pack(refused)
    status = status_pb2.Status(code=refused.code, message=refused.message, details=[detail])
    code = next(code for code in grpc.StatusCode if code.value[0] == refused.code)
    trailer = (("grpc-status-details-bin", status.SerializeToString()),)
    await context.abort(code, refused.message, trailing_metadata=trailer)


class Stream:
    """A Play stream, seen from the server."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.acts: asyncio.Queue[play_pb2.PlayAct | None] = asyncio.Queue()
        self.end: asyncio.Future[refusal_pb2.Refusal | None] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()

    async def say(self, **items: Any) -> None:
        """Send items, each named by its field in the oneof."""
        response = play_pb2.PlayResponse(items=[play_pb2.PlayItem(**{arm: item}) for arm, item in items.items()])
        await self.context.write(response)

    async def read(self, arm: str) -> play_pb2.PlayAct:
        """Return the next act of the bot, which must be of this kind."""
        act = await asyncio.wait_for(self.acts.get(), WAIT_S)
        assert act is not None, f"the bot ended the stream instead of saying {arm}"
        assert act.WhichOneof("act") == arm, f"expected {arm}, got {act}"
        return act

    async def gone(self) -> None:
        """Wait until the server has ended the stream."""
        await asyncio.wait_for(self.over.wait(), WAIT_S)

    async def closed(self) -> None:
        """Wait until the bot has closed its side; an act before that is a failure."""
        assert await asyncio.wait_for(self.acts.get(), WAIT_S) is None

    async def meet(self, silence_most_ms: int = 60_000) -> play_pb2.ClientHello:
        """Read the bot's hello and answer it."""
        act = await self.read("hello")
        await self.say(hello=play_pb2.ServerHello(player=PLAYER, silence_most_ms=silence_most_ms))
        return act.hello

    async def receipt(self, act: play_pb2.PlayAct) -> None:
        """Send the receipt of a move."""
        done = match_pb2.Receipt(request_id=act.request_id, match_id=act.match_id, ply=act.move.ply + 1)
        await self.say(answer=match_pb2.MoveAnswer(request_id=act.request_id, match_id=act.match_id, receipt=done))

    async def refuse(self, act: play_pb2.PlayAct, reason: str, code: grpc.StatusCode, **facts: str) -> None:
        """Refuse a request."""
        refused = refusal(reason, code, **facts)
        await self.say(answer=match_pb2.MoveAnswer(request_id=act.request_id, match_id=act.match_id, refusal=refused))


class Peer(
    play_pb2_grpc.PlayServiceServicer,
    match_pb2_grpc.MatchServiceServicer,
    player_pb2_grpc.PlayerServiceServicer,
    game_pb2_grpc.GameServiceServicer,
    server_pb2_grpc.ServerServiceServicer,
    tournament_pb2_grpc.TournamentServiceServicer,
    rating_pb2_grpc.RatingServiceServicer,
):
    """A server that answers as the test says.

    Challenges and seeks are stored as a server stores them: `seeks` are the open ones. `refusals` has refusals by
    method, each of which is used once.
    """

    def __init__(self) -> None:
        self.address = ""
        self.streams: asyncio.Queue[Stream] = asyncio.Queue()
        self.matches: dict[str, match_pb2.Match] = {}
        self.tokens: dict[str, str] = {}
        self.answers: dict[str, list[Any]] = {}
        self.asked: list[tuple[str, Any, dict[str, str]]] = []
        self.seeks: dict[str, player_pb2.Challenge] = {}
        self.refusals: dict[str, list[refusal_pb2.Refusal]] = {}
        self.ratings: dict[str, list[float]] = {}  # of versions, the newest first
        self._numbers = itertools.count(1)
        self._noted = asyncio.Condition()

    def note(self, method: str, request: Any, context: Any) -> None:
        """Record a request and its metadata."""
        copy = type(request)()
        copy.CopyFrom(request)
        self.asked.append((method, copy, dict(context.invocation_metadata())))

    async def answer(self, method: str, request: Any, context: Any) -> None:
        """Record a request, notify tests that wait for it, and refuse it if the test wants that."""
        self.note(method, request, context)
        async with self._noted:
            self._noted.notify_all()
        if self.refusals.get(method):
            await abort(context, self.refusals[method].pop(0))

    async def until(self, held: Callable[[], bool]) -> None:
        """Wait until a condition holds; it is checked at each call."""

        async def look() -> None:
            async with self._noted:
                await self._noted.wait_for(held)

        await asyncio.wait_for(look(), WAIT_S)

    async def until_asked(self, method: str, times: int = 1) -> Any:
        """Wait until a method has been called this many times, and return the last request."""
        await self.until(lambda: len(self.requests(method)) >= times)
        return self.requests(method)[times - 1]

    def requests(self, method: str) -> list[Any]:
        """Return the requests of a method so far."""
        return [request for name, request, _ in self.asked if name == method]

    async def stream(self) -> Stream:
        """Return the next stream that a bot opens."""
        return await asyncio.wait_for(self.streams.get(), WAIT_S)

    async def Play(self, request_iterator: Any, context: Any) -> None:  # type: ignore[override]  # noqa: N802 - gRPC's name
        await self.play(request_iterator, context)

    async def play(self, request_iterator: Any, context: Any) -> None:
        """Handle a stream as the test says; a test may replace this method."""
        stream = Stream(context)

        async def listen() -> None:
            async for request in request_iterator:
                for act in request.acts:
                    stream.acts.put_nowait(act)
            stream.acts.put_nowait(None)
            if not stream.end.done():
                stream.end.set_result(None)

        listening = asyncio.create_task(listen())
        self.streams.put_nowait(stream)
        try:
            refused = await stream.end
        finally:
            listening.cancel()
            stream.over.set()
        if refused is not None:
            await abort(context, refused)

    async def GetMatch(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self.answer("GetMatch", request, context)
        if request.match_id not in self.matches:
            await abort(context, refusal("MATCH_NOT_FOUND", grpc.StatusCode.NOT_FOUND, id=request.match_id))
        return match_pb2.GetMatchResponse(match=self.matches[request.match_id])

    async def ListMatches(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.note("ListMatches", request, context)
        start = int(request.page_token or 0)
        ids = list(self.matches)[start : start + 2]
        more = str(start + 2) if start + 2 < len(self.matches) else ""
        return match_pb2.ListMatchesResponse(matches=[self.matches[i] for i in ids], next_page_token=more)

    async def Observe(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        self.note("Observe", request, context)
        for item in self.answers["Observe"].pop(0):
            if isinstance(item, refusal_pb2.Refusal):
                await abort(context, item)
            yield match_pb2.ObserveResponse(items=[item])

    async def LegalMoves(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        self.note("LegalMoves", request, context)
        for text in list(self.answers["LegalMoves"]):
            if isinstance(text, refusal_pb2.Refusal):
                self.answers["LegalMoves"].remove(text)
                await abort(context, text)
            yield game_pb2.LegalMovesResponse(moves=[game_pb2.LegalMove(text=text)], total=2)

    async def GetServerInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.note("GetServerInfo", request, context)
        answer = self.answers["GetServerInfo"].pop(0)
        if isinstance(answer, refusal_pb2.Refusal):
            await abort(context, answer)
        return answer

    async def RegisterPlayer(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.note("RegisterPlayer", request, context)
        if request.name in self.tokens.values():
            await abort(context, refusal("PLAYER_EXISTS", grpc.StatusCode.ALREADY_EXISTS, id=request.name))
        token = f"token-{next(self._numbers)}"
        self.tokens[token] = request.name
        return player_pb2.RegisterPlayerResponse(player=player_pb2.Player(name=request.name), token=token)

    async def GetPlayer(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.note("GetPlayer", request, context)
        token = dict(context.invocation_metadata()).get("authorization", "").removeprefix("Bearer ")
        if token not in self.tokens:
            await abort(context, refusal("TOKEN_INVALID", grpc.StatusCode.UNAUTHENTICATED))
        scopes: list[Any] = [1, 3, 99]
        return player_pb2.GetPlayerResponse(player=player_pb2.Player(name=self.tokens[token]), scopes=scopes)

    async def AcceptChallenge(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self.answer("AcceptChallenge", request, context)
        return player_pb2.AcceptChallengeResponse(match=match_pb2.Match(match_id=f"of-{request.challenge_id}"))

    async def DeclineChallenge(self, request: Any, context: Any) -> Any:  # noqa: N802
        if not self.refusals.get("DeclineChallenge"):
            self.seeks.pop(request.challenge_id, None)
        await self.answer("DeclineChallenge", request, context)
        return player_pb2.DeclineChallengeResponse()

    async def CreateSeek(self, request: Any, context: Any) -> Any:  # noqa: N802
        seek = player_pb2.Challenge(challenge_id=f"s{next(self._numbers)}", challenger=PLAYER, terms=request.terms)
        if not self.refusals.get("CreateSeek"):
            self.seeks[seek.challenge_id] = seek
        await self.answer("CreateSeek", request, context)
        return player_pb2.CreateSeekResponse(seek=seek)

    async def ListChallenges(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self.answer("ListChallenges", request, context)
        return player_pb2.ListChallengesResponse(challenges=self.seeks.values())

    async def GetRating(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self.answer("GetRating", request, context)
        estimates = [rating_pb2.Estimate(value=value) for value in self.ratings[request.player]]
        return rating_pb2.GetRatingResponse(versions=[rating_pb2.LeaderboardRow(rating=each) for each in estimates])

    async def EnterTournament(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self.answer("EnterTournament", request, context)
        return tournament_pb2.EnterTournamentResponse(entrant=tournament_pb2.Entrant(player=PLAYER))


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hide the environment and the credentials file of the user who runs the tests."""
    for name in [name for name in os.environ if name.startswith("ARBITER_")] + ["XDG_CONFIG_HOME"]:
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "credentials.json"
    monkeypatch.setenv("ARBITER_CREDENTIALS", str(file))
    return file


@asynccontextmanager
async def listening() -> AsyncIterator[Peer]:
    """Return a peer that listens on a free port of the loopback."""
    peer = Peer()  # type: ignore[abstract]  # other methods answer UNIMPLEMENTED
    server = grpc.aio.server()
    play_pb2_grpc.add_PlayServiceServicer_to_server(peer, server)
    match_pb2_grpc.add_MatchServiceServicer_to_server(peer, server)
    player_pb2_grpc.add_PlayerServiceServicer_to_server(peer, server)
    game_pb2_grpc.add_GameServiceServicer_to_server(peer, server)
    server_pb2_grpc.add_ServerServiceServicer_to_server(peer, server)
    rating_pb2_grpc.add_RatingServiceServicer_to_server(peer, server)
    tournament_pb2_grpc.add_TournamentServiceServicer_to_server(peer, server)
    peer.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield peer
    await server.stop(grace=None)


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    """A peer that listens."""
    async with listening() as peer:
        yield peer


@pytest.fixture
async def other() -> AsyncIterator[Peer]:
    """Another peer that listens."""
    async with listening() as peer:
        yield peer


@pytest.fixture
def refuse() -> Refuse:
    """Build refusals."""
    return refusal


def turn_message(ply: int = 0, match_id: str = "m1", **more: Any) -> play_pb2.Turn:
    """Return a turn whose line so far is a, b, c, …"""
    moves = [play_pb2.RecentMove(ply=i, seat=1 + i % 2, move=chr(97 + i)) for i in range(ply)]
    told = {"game": "pods", "seat": 1 + ply % 2, "position": f"after {ply}", "last_moves": moves, "opponent": "bob"}
    return play_pb2.Turn(match_id=match_id, ply=ply, **{**told, **more})


def match_message(match_id: str = "m1", **more: Any) -> match_pb2.Match:
    """Return a running match of the player's, in seat 1."""
    told = {"game": "pods", "players": [PLAYER, "bob"], "phase": match_pb2.PHASE_ACTIVE, "time_control": "1m+1s"}
    return match_pb2.Match(match_id=match_id, **{**told, **more})


def ended_message(match_id: str = "m1", cursor: str = "c1", **more: Any) -> play_pb2.MatchEnded:
    """Return a match that the player won in seat 1."""
    won = match_pb2.Result(kind=match_pb2.RESULT_KIND_WIN, winner=1, reason="territory", cause=match_pb2.CAUSE_RULES)
    told = {"game": "pods", "seat": 1, "opponent": "bob", "result": won, "position": "end"}
    return play_pb2.MatchEnded(match_id=match_id, cursor=cursor, **{**told, **more})


class Messages:
    """Builds messages of the server."""

    turn = staticmethod(turn_message)
    match = staticmethod(match_message)
    ended = staticmethod(ended_message)


@pytest.fixture
def message() -> type[Messages]:
    """Build messages of the server."""
    return Messages
