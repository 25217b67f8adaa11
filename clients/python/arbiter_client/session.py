"""The Play stream: connect, send the hello, answer pings, reconnect after a lost connection."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import grpc
from arbiter_protos.v1.play_pb2 import ClientHello, PlayAct, PlayRequest, PlayResponse, Pong, TurnExtras

from arbiter_client.bot import Bot
from arbiter_client.channel import Connection
from arbiter_client.errors import PASSING, ArbiterError, ClientError, ConnectionFailed, Reason, from_refusal, from_rpc
from arbiter_client.hooks import call
from arbiter_client.outbox import Outbox
from arbiter_client.runner import BotRunner

logger = logging.getLogger("arbiter_client")

PROTOCOL_VERSION: Final = "1.0"
SOFTWARE: Final = "arbiter-client-python"
READY: Final = "ready"  #: the capability of a client that says when its bot is ready for a match
HELLO_WAIT_S: Final = 10.0  #: the time limit for the server's hello

FINAL = (Reason.SESSION_SUPERSEDED, Reason.MESSAGE_TOO_LARGE)
"""Reasons after which there is no new stream: it would end with the same reason, or is not wanted."""

Call = grpc.aio.StreamStreamCall[PlayRequest, PlayResponse]


class Waiting:
    """Logs once that it waits for a server that was never reached, and for how long."""

    def __init__(self, patience_s: float) -> None:
        self.patience_s = patience_s
        self._said = False

    def say(self, error: ClientError) -> None:
        """Log the reason of a wait, the first time."""
        level = logging.DEBUG if self._said else logging.WARNING
        logger.log(level, "%s; trying for %g s", error, self.patience_s)
        self._said = True


class Session:
    """A bot's session: one stream after another, until it is stopped or the server refuses it.

    Once all addresses have failed, the first connection is tried again for `patience_s`; a lost one is tried again at
    all addresses until it is back.
    """

    def __init__(
        self,
        bot: Bot,
        connection: Connection,
        outbox: Outbox,
        runner: BotRunner,
        waiting: Waiting,
    ) -> None:
        self._bot = bot
        self._connection = connection
        self._outbox = outbox
        self._runner = runner
        self._patience_s = waiting.patience_s
        self._waiting = waiting
        self._hooks = runner.hooks
        self._tries = connection.tries()
        self._silence_s = HELLO_WAIT_S
        self._met = False
        self._lost_s: float | None = None  # when the connection was lost; None while there is one
        self._stopping = asyncio.Event()
        self._notice: ArbiterError | None = None

    async def run(self) -> None:
        """Play until `stop`. Raises ArbiterError if the server ends the session finally, ConnectionFailed."""
        clock = asyncio.get_running_loop().time
        give_up_s = math.inf
        while True:
            address = self._connection.address
            error = await self._one_stream()
            if self._stopping.is_set():
                return
            if self._connection.up:
                self._connection.up = False
                call(self._hooks.disconnected, address, error)
            if isinstance(error, ArbiterError) and not passes(error):
                raise error
            pause_s = self._tries.failed(address, error)
            if self._met:
                self._lose(address, pause_s, error)
            elif pause_s:
                now_s = clock()
                give_up_s = min(give_up_s, now_s + self._patience_s)
                if now_s + pause_s > give_up_s:
                    raise self._tries.all_failed(error)
                self._waiting.say(error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._stopping.wait()
                    return

    def _lose(self, address: str, pause_s: float, error: ClientError) -> None:
        """Log an outage: once when the connection is lost, and later attempts as details."""
        if self._lost_s is None:
            self._lost_s = asyncio.get_running_loop().time()
            cause = str(error).partition(": ")[0]
            logger.warning("the connection to %s is lost, trying again: %s", address, cause)
        logger.debug("trying again at %s in %.1f s: %s", self._connection.address, pause_s, error)

    def _greet(self, address: str, player: str) -> None:
        """Log that the server has said hello, and after an outage how long that took."""
        if self._lost_s is None:
            logger.info("connected to %s as %s", address, player)
        else:
            away_s = asyncio.get_running_loop().time() - self._lost_s
            logger.warning("connected to %s as %s again, after %.1f s", address, player, away_s)
        self._lost_s = None
        self._met = self._connection.up = True
        call(self._hooks.connected, address, player)

    def stop(self) -> None:
        """Send the last acts and end the stream; `run` returns once the server has ended it too."""
        self._stopping.set()
        self._outbox.close()

    async def _one_stream(self) -> ArbiterError | ConnectionFailed:
        """Run one stream, and return the error that ended it."""
        self._notice = None
        self._silence_s = HELLO_WAIT_S
        self._outbox.hold(hello_of(self._bot))
        address = self._connection.address
        stream = self._connection.play.Play(metadata=self._connection.metadata)
        writer = asyncio.create_task(self._write(stream))
        try:
            await self._read(stream, address)
        except grpc.aio.AioRpcError as failure:
            error = from_rpc(failure, address)
            return self._announced(error) if isinstance(error, ConnectionFailed) else error
        except ArbiterError as refusal:  # of a stream without a network
            return refusal
        except TimeoutError:
            return ConnectionFailed(f"the arbiter at {address} has been silent for {self._silence_s:g} s")
        finally:
            writer.cancel()
            await asyncio.wait([writer])
            stream.cancel()
        return self._announced(ConnectionFailed(f"the arbiter at {address} ended the stream"))

    def _announced(self, error: ConnectionFailed) -> ArbiterError | ConnectionFailed:
        """Return the refusal that the server announced, or else the error."""
        return self._notice or error

    async def _read(self, stream: Call, address: str) -> None:
        clock = asyncio.get_running_loop().time
        async with asyncio.timeout(self._silence_s) as limit:
            while True:
                response = await stream.read()
                if not isinstance(response, PlayResponse):
                    return  # the end of the stream
                for item in response.items:
                    arm = item.WhichOneof("item")
                    if arm == "ping":
                        self._outbox.say(PlayAct(pong=Pong(number=item.ping.number)), at_once=True)
                    elif arm == "hello":
                        self._greet(address, item.hello.player)
                        self._runner.greeted(item.hello.player)
                        self._silence_s = item.hello.silence_most_ms / 1000 or HELLO_WAIT_S
                        self._tries.reset()
                        self._connection.greet()
                        self._outbox.release()
                    elif arm == "notice":
                        self._notice = from_refusal(item.notice)
                        logger.info("the arbiter is about to end the stream: %s", self._notice)
                    else:
                        self._runner.take(item)
                limit.reschedule(clock() + self._silence_s)

    async def _write(self, stream: Call) -> None:
        try:
            while (request := await self._outbox.next()) is not None:
                await stream.write(request)
            await stream.done_writing()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # the stream is over, and its reader has the reason


def hello_of(bot: Bot) -> ClientHello:
    """Return a bot's first message."""
    extras = bot.extras
    return ClientHello(
        protocol_version=PROTOCOL_VERSION,
        software=SOFTWARE,
        software_version=software_version(),
        bot_name=bot.name,
        bot_version=bot.version,
        capabilities=[READY, *bot.capabilities],
        games=bot.games,
        most_matches=bot.most_matches,
        seeks=bot.accept_seeks,
        tournaments=bot.enter_tournaments,
        extras=TurnExtras(
            board=extras.board,
            legal_move_count=extras.legal_move_count,
            legal_moves_up_to=extras.legal_moves_up_to,
            steps=extras.steps,
        ),
    )


def passes(error: ArbiterError) -> bool:
    """Return whether a new stream may succeed after one that ended with this error."""
    return error.reason not in FINAL and error.code in PASSING


def software_version() -> str:
    """Return the version of this package, or '' if it is not installed."""
    try:
        return version("game-arbiter-client")
    except PackageNotFoundError:
        return ""
