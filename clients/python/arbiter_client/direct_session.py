"""A bot's session in the process of its server: no network is between, and no queue."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from arbiter_protos.v1.play_pb2 import PlayAct, PlayResponse, Pong

from arbiter_client.backoff import Backoff
from arbiter_client.bot import Bot
from arbiter_client.channel import Connection
from arbiter_client.errors import ArbiterError
from arbiter_client.outbox import DirectActs, Opens
from arbiter_client.runner import BotRunner
from arbiter_client.session import hello_of, passes

logger = logging.getLogger("arbiter_client")


class DirectSession:
    """A bot's session in the process of its server: one after another, until it is stopped or the server refuses it."""

    def __init__(self, bot: Bot, connection: Connection, opens: Opens, acts: DirectActs, runner: BotRunner) -> None:
        self._bot = bot
        self._connection = connection
        self._opens = opens
        self._acts = acts
        self._runner = runner
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Play until `stop`. Raises ArbiterError if the server refuses the bot."""
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
                self._acts.session, self._connection.up = None, False

    async def _one_session(self, backoff: Backoff) -> None:
        """Play in one session, until `stop`. Raises ArbiterError."""
        async with self._opens(hello_of(self._bot), self._take) as session:
            backoff.reset()
            logger.info("plays as %s", session.player)
            self._connection.up = True
            self._connection.greet()
            self._runner.greeted(session.player)
            self._acts.session = session
            session.begin()
            self._acts.repeat()
            await session.over

    def stop(self) -> None:
        """End the session."""
        self._stopped.set()
        if self._acts.session is not None and not self._acts.session.over.done():
            self._acts.session.over.set_result(None)

    def _take(self, response: PlayResponse) -> None:
        for item in response.items:
            if item.HasField("ping"):
                self._acts.say(PlayAct(pong=Pong(number=item.ping.number)))
            else:
                self._runner.take(item)
