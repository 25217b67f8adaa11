"""Play streams: execute what a bot sends, and send what is queued for it, until either side ends the stream."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
from arbiter_protos.v1 import play_pb2 as pb

from arbiter import __version__
from arbiter.config import Limits
from arbiter.errors import Refusal, argument_invalid
from arbiter.rpc.play_sender import Messages, PlaySender
from arbiter.rpc.servicing import AT_ONCE, ContextPart, MessageWriter, call_of, let_end, next_message, readable
from arbiter.rpc.unread import Unread
from arbiter.service.gate.play import PlayGate
from arbiter.service.play.pings import silent
from arbiter.service.play.session import Session
from arbiter.service.play.sessions import Sessions
from arbiter.service.players.accounts import Caller
from arbiter.service.ports.environment import Clock
from arbiter.wire.play_items import hello_of
from arbiter.wire.version import CAPABILITIES, PROTOCOL_VERSION, SOFTWARE, check_version

FAREWELL_S = 2.0  #: time to send the queued items when a stream ends


class PlayStreams:
    """The Play streams: each bot plays all its matches over one of them."""

    def __init__(
        self,
        gate: PlayGate,
        sessions: Sessions,
        messages: Messages,
        clock: Clock,
        unread: Unread,
        limits: Limits,
    ) -> None:
        self._gate = gate
        self._unread = unread
        self._sessions = sessions
        self._clock = clock
        self._limits = limits
        self._messages = messages

    async def serve(self, context: ContextPart) -> None:
        """Serve one Play call."""
        async with self._gate.playing(call_of(context)) as caller:
            await self._serve(caller, context)

    async def _serve(self, caller: Caller, context: ContextPart) -> None:
        first = await self._first(context)
        if first is grpc.aio.EOF:
            return
        if not first.acts or first.acts[0].WhichOneof("act") != "hello":
            raise argument_invalid("another act", "acts", "a hello first")
        hello = first.acts[0].hello
        check_version(hello.protocol_version)
        arrived = self._clock.now_ms()
        session = await self._sessions.open(caller, hello_of(hello))
        reader = asyncio.create_task(self._read(session, first.acts[1:], arrived, context))
        writer = asyncio.create_task(
            self._write(session, MessageWriter(context, self._unread, self._limits, patient=True))
        )
        over = asyncio.create_task(session.over.wait())
        try:
            await asyncio.wait((reader, writer, over), return_when=asyncio.FIRST_COMPLETED)
            self._sessions.close(session)
            session.half_close()
            await asyncio.wait((writer,), timeout=FAREWELL_S)
        finally:
            self._sessions.close(session)
            session.left = True
            let_end(reader)
            for task in (writer, over):
                task.cancel()
            await asyncio.gather(writer, over, return_exceptions=True)
        for task in (reader, writer):
            if task.done() and not task.cancelled():
                task.result()
        if session.ended is not None:
            raise session.ended

    async def _first(self, context: ContextPart) -> Any:
        reading = asyncio.create_task(next_message(context))
        try:
            await asyncio.wait((reading,), timeout=self._limits.silence_ms / 1000)
        finally:
            let_end(reading)
        if not reading.done():
            raise silent(self._limits.silence_ms)
        return reading.result()

    async def _read(self, session: Session, acts: Any, arrived: int, context: ContextPart) -> None:
        """Do all that the bot's messages ask.

        All parts of a message arrived at once, so none costs the bot time while earlier ones are handled.
        """
        try:
            while True:
                for n, act in enumerate(acts, 1):
                    if session.ended is not None or session.left:
                        break  # the bot knows that this stream accepts nothing more
                    self._messages.act(session, act, arrived)
                    if counted := session.take_other_acts():
                        await self._gate.other_acts(session.player, counted)
                    if not n % AT_ONCE:
                        await asyncio.sleep(0)
                message = readable(await context.read())
                if message is grpc.aio.EOF:
                    return
                acts, arrived = message.acts, self._clock.now_ms()
        except Refusal as refusal:  # for a message that cannot be read
            session.end(refusal)

    async def _write(self, session: Session, writer: MessageWriter) -> None:
        hello = pb.ServerHello(
            protocol_version=PROTOCOL_VERSION,
            software=SOFTWARE,
            software_version=__version__,
            capabilities=CAPABILITIES,
            player=session.player,
            now_ms=self._clock.now_ms(),
            silence_most_ms=self._limits.silence_ms,
        )
        message = pb.PlayResponse(items=[pb.PlayItem(hello=hello)]).SerializeToString()
        session.write_began(hello.now_ms)
        await writer.write(message)
        session.write_ended(self._clock.now_ms())
        writes = await writer.begun()
        sender = PlaySender(session, writes, self._messages, self._clock)
        try:
            await sender.run()
        finally:
            sender.stop()
            writes.cancel()
