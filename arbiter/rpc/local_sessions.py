"""Play sessions without a network, of bots in the server's process.

Everything else is as over the network: the token is checked, the session is the same, and so are its limits, its clocks
and its pings. No task wakes up for a message: a bot's act is carried out when it is made, and the items for a bot are
given to it as soon as there are any.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from typing import Final

from arbiter_protos.v1 import play_pb2 as pb

from arbiter.errors import Refusal
from arbiter.rpc.play_sender import Messages
from arbiter.service.gate.admission import Call
from arbiter.service.gate.play import PlayGate
from arbiter.service.play.session import Session
from arbiter.service.play.sessions import Sessions
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.meter import Meter
from arbiter.wire.play_items import hello_of

ADDRESS: Final = "127.0.0.1"  #: where the caller is


class LocalSession:
    """A session of a bot in this process. over: raises the Refusal with which it has ended, or what the bot raised.

    player: the bot's. take: gets the items for the bot.
    """

    def __init__(
        self, session: Session, messages: Messages, clock: Clock, take: Callable[[pb.PlayResponse], None]
    ) -> None:
        self.player: Final = session.player
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._session = session
        self._messages = messages
        self._clock = clock
        self._take = take
        self._context = copy_context()  # the bot's; items come from anybody's

    def act(self, act: pb.PlayAct, round_trip_s: float = 0.0) -> None:
        """Do what the bot asks, unless the session has ended.

        round_trip_s: how much of the time since the turn came was on the way to a program and back, in seconds. A
        stream has the network there.
        """
        if self._session.ended is None and not self._session.left:
            self._session.round_trip_ms = round(1_000 * round_trip_s)
            self._messages.act(self._session, act, self._clock.now_ms())

    def begin(self) -> None:
        """Give the bot the items that there are, and from now on all others."""
        session = self._session
        if self.over.done():
            return
        try:
            while session.outbox:
                message, _ = self._messages.message(session)
                self._take(pb.PlayResponse.FromString(message))
            if session.ended is not None:
                raise session.ended
        except Exception as error:  # for the bot's task
            self.over.set_exception(error)
        else:
            session.call_with_items(partial(self._context.run, self.begin))


class LocalSessions:
    """Opens sessions of bots in this process."""

    def __init__(self, gate: PlayGate, sessions: Sessions, messages: Messages, clock: Clock, meter: Meter) -> None:
        self._gate = gate
        self._sessions = sessions
        self._messages = messages
        self._clock = clock
        self._meter = meter

    @asynccontextmanager
    async def session(
        self, token: str, hello: pb.ClientHello, take: Callable[[pb.PlayResponse], None]
    ) -> AsyncIterator[LocalSession]:
        """Open a session inside the context, for the bot that has a token; call its `begin`.

        Raises a Refusal as the call `Play` does.
        """
        try:
            async with self._gate.playing(Call(token, ADDRESS)) as caller:
                session = await self._sessions.open(caller, hello_of(hello))
                here = LocalSession(session, self._messages, self._clock, take)
                try:
                    yield here
                finally:
                    self._sessions.close(session)
                    session.left = True
                    session.call_with_items(None)
                    here.over.cancel()
        except Refusal as refusal:
            self._meter.refused(refusal)
            raise
