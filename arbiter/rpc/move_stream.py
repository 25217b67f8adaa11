"""One SubmitMoves stream: it reads moves, and answers them once they are durable.

Unread answers limit what it reads.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import grpc
from arbiter_protos.v1 import match_pb2 as pb

from arbiter.errors import Refusal
from arbiter.rpc.servicing import AT_ONCE, Context, MessageWriter, let_end, next_message
from arbiter.service.gate.play import MoveAnswer, PlayerMoves
from arbiter.service.ports.meter import Meter
from arbiter.wire.match_messages import answer_message, comment_of


class MoveStream:
    """The moves and answers of one call."""

    def __init__(self, moves: PlayerMoves, context: Context, writer: MessageWriter, meter: Meter) -> None:
        self._moves = moves
        self._context = context
        self._writer = writer
        self._meter = meter
        self._answers: list[pb.MoveAnswer] = []
        self._unsent = 0  # moves that were read and whose answers were not sent
        self._other = 0  # moves that were refused, or sent again, whose cost has not been waited for
        self._ended = False  # the client has closed its side
        self._over = False  # the server has ended the stream
        self._changed = asyncio.Event()

    async def serve(self) -> None:
        """Read until the client closes its side, and answer every move."""
        reading, writing = asyncio.create_task(self._read()), asyncio.create_task(self._write())
        try:
            await asyncio.wait((reading, writing), return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self._over = True
            self._changed.set()
            let_end(reading)
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        for task in (reading, writing):
            if task.done() and not task.cancelled():
                task.result()

    async def _read(self) -> None:
        while (message := await next_message(self._context)) is not grpc.aio.EOF:
            arrived = self._moves.now_ms()
            for n, request in enumerate(message.moves, 1):
                while self._unsent >= self._moves.most and not self._over:  # if the client does not read answers,
                    await self._change()  # stop reading its moves
                if self._other:
                    other, self._other = self._other, 0
                    await self._moves.other(other)
                if self._over:
                    return
                self._unsent += 1
                is_new = self._moves.is_new(request.match_id, request.request_id)
                answered = self._moves.play(
                    request.match_id, request.request_id, request.ply, request.move, arrived, comment_of(request)
                )
                answered.add_done_callback(partial(self._answered, request))
                if not is_new:  # to look for its match, or its answer, costs more than a move: one after the other
                    await asyncio.wait((answered,))
                    self._other += not isinstance(answered.result(), Refusal)  # a refusal is counted already
                if not n % AT_ONCE:
                    await asyncio.sleep(0)
        self._ended = True
        self._changed.set()

    def _answered(self, request: pb.SubmitMoveRequest, answered: asyncio.Future[MoveAnswer]) -> None:
        answer = answered.result()
        if isinstance(answer, Refusal):
            self._meter.refused(answer)
            self._other += 1
        self._answers.append(answer_message(request.request_id, request.match_id, answer))
        self._changed.set()

    async def _write(self) -> None:
        while not self._ended or self._unsent:
            if not self._answers:
                await self._change()
                continue
            ready, self._answers = self._answers, []
            await self._writer.write(pb.SubmitMovesResponse(answers=ready))
            self._unsent -= len(ready)
            self._changed.set()

    async def _change(self) -> Any:
        self._changed.clear()
        await self._changed.wait()
