"""A baseline server (a part of a benchmark): the least work that any arbiter must do for a move.

It reads a message, plays the move by the rules, appends the event as canonical JSON to a hash chain and to the
arbiter's own store, and after the commit sends a receipt to the mover and a turn to the opponent. Both messages have
the same size as an arbiter's. It has no clocks, no ledgers, no memory of requests, no refusals and no sessions. The
modules that it uses may be compiled; this module is always interpreted.

Plan: `store` (URL), `game` (variant), `seats` (pair and seat by token), `matches` (for each pair, in the order in which
they are played). It sends an answer as soon as it serves. It answers every later order with the `commits` (writes, and
seconds of each) since the previous order.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import grpc
from arbiter_protos.v1 import play_pb2 as pb
from arbiter_protos.v1 import play_pb2_grpc

from arbiter.bench.processes import answer, order
from arbiter.bootstrap import open_store
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.matches.canonical import encode_plain
from arbiter.matches.events import FIRST_PREVIOUS
from arbiter.runtime.loop import run_process
from arbiter.service.ports.journal import Append, Journal, Record, Subject

AT: Final = 1_790_000_000_000  #: in place of the times in an arbiter's messages
LEFT_MS: Final = 1_800_000  #: in place of the clocks
SEATS: Final = 2

Fill = Callable[[pb.PlayItem], None]
"""Writes something into its place in a message, as an arbiter does: to make it first and then copy it takes longer."""


class OutgoingMessages:
    """The messages that wait to be sent to one player."""

    def __init__(self) -> None:
        self._fills: list[Fill] = []
        self._idle: asyncio.Future[None] | None = None

    def put(self, fill: Fill) -> None:
        """Queue a message."""
        self._fills.append(fill)
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    async def message(self) -> pb.PlayResponse:
        """Wait until messages are queued, and return all of them as one."""
        while not self._fills:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle
        fills, self._fills = self._fills, []
        message = pb.PlayResponse()
        for fill in fills:
            fill(message.items.add())
        return message


class PairState:
    """Two players and the matches that they play, one after the other."""

    def __init__(self, game: AnyGame, matches: list[str]) -> None:
        self.streams: dict[int, OutgoingMessages] = {}
        self._game = game
        self._matches: Iterator[str] = iter(matches)
        self.begin()

    def begin(self) -> None:
        """Set up the next match."""
        self.match_id = next(self._matches)
        self.position = self._game.initial()
        self.text = self._game.text(self.position)
        self.revision, self._previous = 0, FIRST_PREVIOUS

    def played(self, act: pb.PlayAct) -> Record:
        """Play a move; return the event to store."""
        seat = self.position.turn
        self.position = self._game.play(self.position, act.move.move)
        self.text = self._game.text(self.position)
        self.revision += 1
        data = encode_plain(
            {
                "at": AT,
                "clocks": [{"remaining_ms": LEFT_MS}, {"remaining_ms": LEFT_MS}],
                "kind": "moved",
                "ledger": {
                    "arrived": AT,
                    "charged": 0,
                    "credited": 0,
                    "handed_over": AT,
                    "left": LEFT_MS,
                    "started": AT,
                },
                "match": self.match_id,
                "move": act.move.move,
                "ply": act.move.ply,
                "position": self.text,
                "previous": self._previous,
                "request": act.request_id,
                "revision": self.revision,
                "seat": seat,
                "turn": self.position.turn,
            }
        )
        self._previous = hashlib.sha256(data).hexdigest()
        return Record(self.match_id, self.revision, data, Subject.MATCH)


class BarePlay(play_pb2_grpc.PlayServiceServicer):
    """The part of the Play protocol that scripted players need."""

    def __init__(
        self, journal: Journal, game: str, seats: dict[str, tuple[int, int]], matches: list[list[str]]
    ) -> None:
        self._journal = journal
        self._game = game
        self._seats = seats
        self._pairs = [PairState(registry.game(game), of_pair) for of_pair in matches]

    async def Play(self, _requests: Any, context: Any) -> None:  # type: ignore[override]  # noqa: N802
        """Play until the client ends the stream."""
        token = dict(context.invocation_metadata())["authorization"].removeprefix("Bearer ")
        number, seat = self._seats[token]
        pair, stream = self._pairs[number], OutgoingMessages()
        await context.read()
        stream.put(_hello)
        pair.streams[seat] = stream
        writing = asyncio.create_task(self._write(stream, context))
        if len(pair.streams) == SEATS:
            self._offer_turn(pair, "")
        try:
            while (message := await context.read()) is not grpc.aio.EOF:
                for act in message.acts:
                    if act.WhichOneof("act") == "move":
                        self._play(pair, seat, act)
        finally:
            writing.cancel()

    async def _write(self, stream: OutgoingMessages, context: Any) -> None:
        while True:
            await context.write(await stream.message())

    def _play(self, pair: PairState, seat: int, act: pb.PlayAct) -> None:
        written = self._journal.append(Append((pair.played(act),)))
        written.add_done_callback(partial(self._written, pair, seat, act))

    def _written(self, pair: PairState, seat: int, act: pb.PlayAct, written: asyncio.Future[int]) -> None:
        written.result()
        pair.streams[seat].put(partial(_answer, act, pair.revision))
        if pair.position.outcome is not None:
            for stream in pair.streams.values():
                stream.put(partial(_ended, pair.match_id))
            pair.begin()
        self._offer_turn(pair, act.move.move)

    def _offer_turn(self, pair: PairState, last: str) -> None:
        pair.streams[pair.position.turn].put(partial(_turn, self._game, pair, last))


def _hello(item: pb.PlayItem) -> None:
    item.hello.protocol_version = "1.0"


def _answer(act: pb.PlayAct, revision: int, item: pb.PlayItem) -> None:
    item.answer.request_id, item.answer.match_id = act.request_id, act.match_id
    receipt = item.answer.receipt
    receipt.request_id, receipt.match_id = act.request_id, act.match_id
    receipt.revision, receipt.ply = revision, act.move.ply + 1
    ledger = receipt.ledger
    ledger.started_ms = ledger.handed_over_ms = ledger.arrived_ms = AT
    ledger.left_ms = LEFT_MS


def _turn(game: str, pair: PairState, last: str, item: pb.PlayItem) -> None:
    turn, seat = item.turn, pair.position.turn
    turn.match_id, turn.game, turn.seat, turn.ply = pair.match_id, game, seat, pair.revision
    turn.position = pair.text
    if pair.revision:
        move = turn.last_moves.add()
        move.ply, move.seat, move.move = pair.revision - 1, 3 - seat, last
    for _ in range(SEATS):
        clock = turn.clocks.add()
        clock.remaining_ms = clock.available_ms = LEFT_MS
    turn.started_ms = turn.now_ms = AT
    turn.opponent, turn.available_ms, turn.revision = "opponent", LEFT_MS, pair.revision


def _ended(match_id: str, item: pb.PlayItem) -> None:
    item.ended.match_id = match_id


async def run(store: str, game: str, seats: dict[str, tuple[int, int]], matches: list[list[str]]) -> None:
    """Serve until there are no more orders."""
    commits: list[tuple[int, float]] = []
    async with open_store(store, lambda writes, seconds: commits.append((writes, seconds)), alone=True) as opened:
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        play_pb2_grpc.add_PlayServiceServicer_to_server(BarePlay(opened.journal, game, seats, matches), server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        answer(port=port)
        while await asyncio.to_thread(order) is not None:
            taken, commits[:] = list(commits), []
            answer(commits=taken, stages={})
        await server.stop(0)


if __name__ == "__main__":
    plan = order()
    assert plan is not None
    run_process(run(**plan))
