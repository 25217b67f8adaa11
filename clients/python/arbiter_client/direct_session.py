"""A bot's session in the process of its server: no network is between, and no queue."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, Self

from arbiter_protos.v1.play_pb2 import ClientHello, PlayAct, PlayResponse, Pong

from arbiter_client.backoff import Backoff
from arbiter_client.bot import Bot
from arbiter_client.errors import ArbiterError
from arbiter_client.outbox import Acts
from arbiter_client.runner import BotRunner
from arbiter_client.session import hello_of, passes

logger = logging.getLogger("arbiter_client")


class ServerEnd(Protocol):
    """The server's end of a session. over: raises what has ended it; done without that after the bot's `stop`."""

    over: asyncio.Future[None]

    @property
    def player(self) -> str:
        """The bot's player."""

    def begin(self) -> None:
        """Give the bot the items that there are, and from now on all others."""

    def act(self, act: PlayAct) -> None:
        """Do what the bot asks, unless the session has ended."""


Opens = Callable[[ClientHello, Callable[[PlayResponse], None]], AbstractAsyncContextManager[ServerEnd]]
"""Opens a session with the bot's hello, and what takes the items for the bot. Raises ArbiterError."""


class DirectSession(Acts):
    """A bot's session in the process of its server: what the bot asks is done when it asks it."""

    def __init__(self, bot: Bot, opens: Opens) -> None:
        super().__init__()
        self._bot = bot
        self._opens = opens
        self._runner: BotRunner
        self._open: ServerEnd | None = None
        self._stopped = asyncio.Event()

    def of(self, runner: BotRunner) -> Self:
        """Return itself, with the bot's side of the session."""
        self._runner = runner
        return self

    async def run(self) -> None:
        """Play until `stop`, in one session after another. Raises ArbiterError if the server refuses the bot."""
        backoff = Backoff()
        while not self._stopped.is_set():
            try:
                await self._one_session(backoff)
            except ArbiterError as error:
                if not passes(error):
                    raise
                logger.debug("the session has ended, trying again: %s", error)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopped.wait(), backoff.next_s(error.retry_after_s))
            finally:
                self._open = None

    async def _one_session(self, backoff: Backoff) -> None:
        """Play in one session, until `stop`. Raises ArbiterError."""
        async with self._opens(hello_of(self._bot), self._take) as session:
            backoff.reset()
            logger.info("plays as %s", session.player)
            self._runner.greeted(session.player)
            self._open = session
            session.begin()
            for act in list(self._unanswered.values()):
                session.act(act)
            await session.over

    def stop(self) -> None:
        """End the session."""
        self._stopped.set()
        if self._open is not None and not self._open.over.done():
            self._open.over.set_result(None)

    def say(self, act: PlayAct, at_once: bool = False) -> None:
        """Have something done that is not answered."""
        self._push(act)

    def _push(self, act: PlayAct) -> None:
        if self._open is not None:
            self._open.act(act)

    def _take(self, response: PlayResponse) -> None:
        for item in response.items:
            if item.HasField("ping"):
                self.say(PlayAct(pong=Pong(number=item.ping.number)))
            else:
                self._runner.take(item)
