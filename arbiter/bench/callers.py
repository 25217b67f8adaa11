"""A benchmark process: players who make calls all the time, as many at once as they may, within their rates.

Plan: `address`, `tokens` (one of each player; '' for a caller without one), `method` ("GetPlayer"; "ListGames";
"Nothing": a method that is not there; "ListMatches": the largest pages; "GetMatch": of a match; "Play": streams that it
opens far too often; "SubmitMove": moves in a match that does not exist; "SubmitMoves": the same on a stream; "Repeat":
one move of a match of its own again and again; "Acts": acts on a Play stream; "PlayMoves": the boards of a long game;
"LegalMoves": moves with their steps), `match_ids` (one for each player), and how many calls each makes `at_once`. Each
caller has an address of its own. It sends an answer once it has begun, and to each later order: `bytes` of the answers,
`calls` that were answered and `refused` ones. After a refusal for its rate a caller waits as long as that says, except
with those of `IMPATIENT`: with these it calls again at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, cast

import grpc.aio
from arbiter_protos.v1 import (
    game_pb2,
    game_pb2_grpc,
    match_pb2,
    match_pb2_grpc,
    play_pb2,
    play_pb2_grpc,
    player_pb2,
    player_pb2_grpc,
)

from arbiter.bench.processes import answer, go_last, order, run_part
from arbiter.bench.scripts import GAME, scripts

LONGEST: Final = "pods"  #: the game with the longest random games, of more than a thousand plies
MOST_MOVES: Final = "elevation"  #: a game with more than a thousand legal moves at the beginning, each of several steps
IMPATIENT: Final = ("Nothing", "Play", "SubmitMove", "SubmitMoves", "Repeat", "Acts")
ACTS: Final = 100  #: acts, or moves, in a message
ACTS_S: Final = 0.1  #: between two messages of acts: more a second would end the stream
REFUSED_S = 0.5  #: seconds to wait after a refusal, longer than it says, to stay within the rate


class Callers:
    """The calls of one player, or of an address without a token. number: of the address."""

    def __init__(self, address: str, token: str, method: str, match_id: str, number: int) -> None:
        self._metadata = [("x-forwarded-for", f"192.0.2.{number}")]
        if token:
            self._metadata.append(("authorization", f"Bearer {token}"))
        self._channel = grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        self._matches = match_pb2_grpc.MatchServiceStub(self._channel)
        self._games = game_pb2_grpc.GameServiceStub(self._channel)
        self._play = play_pb2_grpc.PlayServiceStub(self._channel)
        self._patient = method not in IMPATIENT
        self._call: Any
        self._call, self._request = self._made(method, match_id)
        self.bytes = self.calls = self.refused = 0

    def _made(self, method: str, match_id: str) -> tuple[Any, Any]:
        """Return the call of a method, and its request."""
        players = player_pb2_grpc.PlayerServiceStub(self._channel)
        matches = self._matches
        hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))
        nowhere = match_pb2.SubmitMoveRequest(request_id="r", match_id="nowhere", move="a1")
        start = game_pb2.LineOfPlay(game=MOST_MOVES)
        found: tuple[Any, Any]
        match method:
            case "GetPlayer":
                found = players.GetPlayer, player_pb2.GetPlayerRequest()
            case "ListGames":
                found = self._games.ListGames, game_pb2.ListGamesRequest()
            case "Nothing":
                path = "/arbiter.v1.GameService/Nothing"
                found = (
                    self._channel.unary_unary(path, game_pb2.ListGamesRequest.SerializeToString),
                    game_pb2.ListGamesRequest(),
                )
            case "Repeat":
                (moves,) = scripts(GAME, 1)
                again = match_pb2.SubmitMoveRequest(request_id="r", match_id=match_id, move=moves[0])
                found = matches.SubmitMove, again
            case "SubmitMoves":
                found = self._move, match_pb2.SubmitMovesRequest(moves=[nowhere] * ACTS)
            case "Acts":
                claim = play_pb2.PlayAct(request_id="r", match_id="nowhere", claim_draw=play_pb2.ClaimDrawAct())
                found = self._act, play_pb2.PlayRequest(acts=[claim] * ACTS)
            case "ListMatches":
                found = matches.ListMatches, match_pb2.ListMatchesRequest(page_size=1_000)
            case "GetMatch":
                found = matches.GetMatch, match_pb2.GetMatchRequest(match_id=match_id, with_moves=True)
            case "Play":
                found = self._open, play_pb2.PlayRequest(acts=[hello])
            case "SubmitMove":
                found = matches.SubmitMove, nowhere
            case "PlayMoves":
                found = self._games.PlayMoves, game_pb2.PlayMovesRequest(line=_long_line(), with_board=True)
            case _:
                found = self._list_moves, game_pb2.LegalMovesRequest(line=start, with_steps=True)
        return found

    async def _once(self) -> None:
        try:
            answered = await self._call(self._request, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            if self._patient and error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            self.refused += 1
            await asyncio.sleep(REFUSED_S if self._patient else 0)
        else:
            self.calls += 1
            self.bytes += answered.ByteSize()

    async def _open(self, request: play_pb2.PlayRequest, metadata: Any) -> play_pb2.PlayResponse:
        """Open a Play stream, and leave it once it has answered."""
        stream: Any = self._play.Play(metadata=metadata)
        await stream.write(request)
        answered: Any = await stream.read()
        if answered is grpc.aio.EOF:
            raise grpc.aio.AioRpcError(await stream.code(), grpc.aio.Metadata(), grpc.aio.Metadata())
        stream.cancel()
        return cast("play_pb2.PlayResponse", answered)

    async def _move(self, request: match_pb2.SubmitMovesRequest, metadata: Any) -> match_pb2.SubmitMovesResponse:
        """Send moves on a stream as long as it lasts; return its last answer."""
        answered = await self._sent(self._matches.SubmitMoves(metadata=metadata), request, 0.0)
        return cast("match_pb2.SubmitMovesResponse", answered)

    async def _act(self, request: play_pb2.PlayRequest, metadata: Any) -> play_pb2.PlayResponse:
        """Send acts on a Play stream as long as it lasts; return its last message."""
        stream: Any = self._play.Play(metadata=metadata)
        hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))
        await stream.write(play_pb2.PlayRequest(acts=[hello]))
        return cast("play_pb2.PlayResponse", await self._sent(stream, request, ACTS_S))

    async def _sent(self, stream: Any, request: Any, pause_s: float) -> Any:
        """Send a request on a stream again and again; return the last answer. Raises AioRpcError."""

        async def send() -> None:
            while True:
                await stream.write(request)
                await asyncio.sleep(pause_s)

        sending = asyncio.create_task(send())
        last = None
        try:
            async for answered in stream:
                last = answered
                self.calls += 1
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        return last

    async def _list_moves(self, request: game_pb2.LegalMovesRequest, metadata: Any) -> game_pb2.LegalMovesResponse:
        """Read a list of moves; return its last chunk."""
        chunks = [chunk async for chunk in self._games.LegalMoves(request, metadata=metadata)]
        return chunks[-1]

    async def go_on(self, at_once: int) -> None:
        """Make a number of calls at once, and again once all are answered, or each once it is answered."""
        while True:
            if self._patient:
                await asyncio.gather(*(self._once() for _ in range(at_once)))
            else:
                await asyncio.gather(*(self._again() for _ in range(at_once)))

    async def _again(self) -> None:
        while True:
            await self._once()


@cache
def _long_line() -> game_pb2.LineOfPlay:
    (moves,) = scripts(LONGEST, 1, drawn=1)
    return game_pb2.LineOfPlay(game=LONGEST, moves=moves)


async def run(address: str, tokens: Sequence[str], method: str, match_ids: Sequence[str], at_once: int) -> None:
    """Call until there are no more orders."""
    callers = [
        Callers(address, token, method, match_id, number)
        for number, (token, match_id) in enumerate(zip(tokens, match_ids, strict=True), 1)
    ]
    tasks = [asyncio.create_task(each.go_on(at_once)) for each in callers]
    answer(at_once=at_once)
    while await asyncio.to_thread(order) is not None:
        for task in tasks:
            if task.done():
                task.result()
        answer(**{name: sum(getattr(each, name) for each in callers) for name in ("bytes", "calls", "refused")})
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    run_part(run, priority=go_last)
