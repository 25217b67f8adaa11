"""PlayService."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import grpc
from arbiter_protos.v1 import play_pb2 as pb
from arbiter_protos.v1 import play_pb2_grpc

from arbiter import __version__
from arbiter.config import Limits
from arbiter.errors import Refusal
from arbiter.rpc.door import AT_ONCE, Context, Door, next_message
from arbiter.service.accounts import Caller, invalid
from arbiter.service.ports import Clock
from arbiter.service.session import Item, PingItem, Session, TurnItem
from arbiter.service.sessions import Sessions, silent
from arbiter.wire.matches import comment_of
from arbiter.wire.play import fill_item, hello_of
from arbiter.wire.version import CAPABILITIES, PROTOCOL_VERSION, SOFTWARE, check_version

FAREWELL_S = 2.0  #: what a stream that ends has to send what waits
MESSAGE_BYTES = 1_000_000  #: about where one message ends and the next begins


class PlayServicer(play_pb2_grpc.PlayServiceServicer):
    """One stream a bot, over which it plays all its matches."""

    def __init__(self, door: Door, sessions: Sessions, clock: Clock, limits: Limits) -> None:
        self._door = door
        self._sessions = sessions
        self._clock = clock
        self._limits = limits

    async def Play(  # type: ignore[override]  # noqa: N802 - reads and writes on its context
        self, request_iterator: Any, context: Context
    ) -> None:
        """Play, until either side ends the stream."""
        caller = await self._door.player(context)
        with self._door.counted("play", caller.player):
            await self._serve(caller, context)

    async def _serve(self, caller: Caller, context: Context) -> None:
        first = await self._first(context)
        if first is grpc.aio.EOF:
            return
        if not first.acts or first.acts[0].WhichOneof("act") != "hello":
            raise invalid("another act", "acts", "a hello first of all")
        hello = first.acts[0].hello
        check_version(hello.protocol_version)
        arrived = self._clock.now_ms()
        session = await self._sessions.open(caller, hello_of(hello))
        reader = asyncio.create_task(self._read(session, first.acts[1:], arrived, context))
        writer = asyncio.create_task(self._write(session, context))
        over = asyncio.create_task(session.over.wait())
        tasks = (reader, writer, over)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            self._sessions.close(session)
            session.hung_up()
            await asyncio.wait((writer,), timeout=FAREWELL_S)
        finally:
            self._sessions.close(session)
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        if session.ended is not None:
            raise session.ended

    async def _first(self, context: Context) -> Any:
        try:
            async with asyncio.timeout(self._limits.silence_ms / 1000):
                return await next_message(context)
        except TimeoutError:
            raise silent(self._limits.silence_ms) from None

    async def _read(self, session: Session, acts: Any, arrived: int, context: Context) -> None:
        now_ms = self._clock.now_ms
        try:
            await self._take(session, acts, arrived)
            while (message := await next_message(context)) is not grpc.aio.EOF:
                await self._take(session, message.acts, now_ms())
        except Refusal as refusal:  # of a message that can't be read
            session.end(refusal)

    async def _take(self, session: Session, acts: Any, arrived: int) -> None:
        """Do what a message says. All of it arrived at once: no act waits on its clock for those before it."""
        for n, act in enumerate(acts, 1):
            if session.ended is not None:
                return  # the bot has been told that this stream takes nothing more
            self._act(session, act, arrived)
            if not n % AT_ONCE:
                await asyncio.sleep(0)

    def _act(self, session: Session, act: pb.PlayAct, arrived: int) -> None:
        kind, sessions = act.WhichOneof("act"), self._sessions
        sessions.heard(session, kind == "move", arrived)
        request_id, match_id = act.request_id, act.match_id
        match kind:
            case "move":
                move = act.move
                said = comment_of(move.comment) if move.HasField("comment") else None
                sessions.play(session, request_id, match_id, move.ply, move.move, arrived, said)
            case "pong":
                session.ponged(act.pong.number, arrived)
            case "acknowledge":
                sessions.acknowledge(session, act.acknowledge.cursor)
            case "offer_draw":
                sessions.offer_draw(session, request_id, match_id)
            case "answer_draw":
                sessions.answer_draw(session, request_id, match_id, act.answer_draw.accept)
            case "claim_draw":
                sessions.claim_draw(session, request_id, match_id)
            case "resign":
                sessions.resign(session, request_id, match_id)
            case _:
                pass  # an act of a newer client, or a second hello: passed over

    async def _write(self, session: Session, context: Context) -> None:
        hello = pb.ServerHello(
            protocol_version=PROTOCOL_VERSION,
            software=SOFTWARE,
            software_version=__version__,
            capabilities=CAPABILITIES,
            player=session.player,
            now_ms=self._clock.now_ms(),
            silence_most_ms=self._limits.silence_ms,
        )
        await self._send(session, pb.PlayResponse(items=[pb.PlayItem(hello=hello)]), hello.now_ms, context)
        while items := await session.take():
            while items:
                message, now = self._message(session, items)
                await self._send(session, message, now, context)

    async def _send(self, session: Session, message: pb.PlayResponse, now: int, context: Context) -> None:
        session.writes(now)
        await context.write(message)
        session.wrote(self._clock.now_ms())

    def _message(self, session: Session, items: deque[Item]) -> tuple[pb.PlayResponse, int]:
        """Make a message of the first items, many in one but not too large; return it with the instant it goes out at.

        It is made just before it is sent, and timed when it is made: that took the server's own time.
        """
        message, extras, size = pb.PlayResponse(), session.hello.extras, 0
        made, now, timed = message.items, self._clock.now_ms(), list[TurnItem | PingItem]()
        while items and size <= MESSAGE_BYTES:
            item = items.popleft()
            filled = made.add()
            fill_item(filled, item, now, extras)
            if isinstance(item, TurnItem | PingItem):
                timed.append(item)
            if items:  # mostly there is but one, and its size decides nothing
                size += filled.ByteSize()
        now = self._clock.now_ms()
        for item in timed:
            if isinstance(item, TurnItem):
                self._sessions.handed_over(session, item, now)
            else:
                session.sent(item.number, now)
        return message, now
