"""The engines of a run that play in its server's process: the server hosts the bot of each engine that the run sends.

An engine's process stays where the run has started it: in its sandbox, if there is one. Here are the ends of its pipes,
the bot that asks it, and the bot's session, with no network between (`arbiter.rpc.local_sessions`). So the engine gets
its turn when it is durable, as every bot does. Only the server of a run has such a channel (`engine_channel`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shlex
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import fields
from functools import partial
from typing import Any, Final, NoReturn, cast

import arbiter_client as arb
import structlog
from arbiter_client import bridge
from arbiter_client.bridge.child import Child
from arbiter_client.log import PlainLine
from arbiter_client.playing import play_with
from arbiter_client.session import Waiting

from arbiter.bootstrap.running_server import RunningServer
from arbiter.cli.tournament_bots import EngineEntry
from arbiter.sandbox.spawning import SpawnedProcess, SpawnerGone

HANDLES: Final = 3  #: of an engine
END: Final = b"\0"  #: after the log of a bot that has ended by itself
AT_ONCE: Final = 10_000  #: choices under way: an engine of its own makes each, and the organiser says how many games
IDLE: Final = 10_000  #: engines that wait for a next game: no more than have played at the same time
PATIENCE_S: Final = 10.0
MOST_WAITING: Final = 1_048_576  #: bytes of a bot's log that the run has not read yet


class LogToRun(asyncio.Protocol):
    """Sends the log of a bot to the run. What exceeds `MOST_WAITING` is left out, and the log says how much that is.

    closed: called when the run has closed its end.
    """

    def __init__(self, closed: Callable[[], object]) -> None:
        self._transport = asyncio.WriteTransport()
        self._closed = closed
        self._left_out = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to send."""
        self._transport = cast("asyncio.WriteTransport", transport)  # uvloop's transport is no subclass

    def connection_lost(self, _error: Exception | None) -> None:
        """Report that the run reads no more."""
        self._closed()

    def say(self, text: bytes) -> None:
        """Send something, soon."""
        if self._transport.get_write_buffer_size() + len(text) > MOST_WAITING:
            self._left_out += len(text)
        else:
            self._transport.write(self._note() + text)

    def end(self, last: bytes = b"") -> None:
        """Send what waits, then `last`, and close the connection."""
        self._transport.write(self._note() + last)
        self._transport.close()

    def _note(self) -> bytes:
        """Return a line that says how much has been left out here, if anything has."""
        note = f"[arbiter] {self._left_out} bytes are left out here\n".encode() if self._left_out else b""
        self._left_out = 0
        return note


_LOG: ContextVar[LogToRun | None] = ContextVar("log", default=None)
"""The log of the bot that plays in this task."""


@asynccontextmanager
async def playing(channel: socket.socket, running: RunningServer) -> AsyncIterator[None]:
    """Let the engines that come over the channel play inside the context; all have ended at its end."""
    loop, log = asyncio.get_running_loop(), structlog.get_logger("arbiter.engines")
    plays = set[asyncio.Task[None]]()

    def take() -> None:
        message, handles, _, _ = socket.recv_fds(channel, 1, HANDLES)
        if not message:  # the run has ended, and soon this process does
            loop.remove_reader(channel)
            return
        job, *ends = handles
        spawner, bot_log = (socket.socket(fileno=handle) for handle in ends)
        with os.fdopen(job) as file:
            file.seek(0)
            play = asyncio.create_task(_play(json.load(file), spawner, bot_log, running, log))
        plays.add(play)
        play.add_done_callback(plays.discard)

    loop.add_reader(channel, take)
    with _logging():
        try:
            yield
        finally:
            loop.remove_reader(channel)
            for play in plays:
                play.cancel()
            await asyncio.gather(*plays, return_exceptions=True)


async def _play(
    job: Mapping[str, Any], spawner: socket.socket, bot_log: socket.socket, running: RunningServer, log: Any
) -> None:
    """Play an engine until the run has closed its end of the bot's log."""
    task, last = asyncio.current_task(), b""
    assert task is not None
    with spawner:
        _, sent = await asyncio.get_running_loop().create_connection(partial(LogToRun, task.cancel), sock=bot_log)
        _LOG.set(sent)
        try:
            await _until_it_fails(job, spawner, running)
        except (arb.ClientError, bridge.ProgramFailed) as error:
            last = f"{shlex.join(job['command'])}: {error}\n".encode() + END
        except Exception as error:
            log.error("engine_failed", player=job["name"], exc_info=error)
            last = END
        finally:
            sent.end(last)


async def _until_it_fails(job: Mapping[str, Any], spawner: socket.socket, running: RunningServer) -> NoReturn:
    """Play an engine. Raises ProgramFailed if it does not introduce itself, and ClientError."""
    engine = EngineEntry(*job["engine"])
    command, language = job["command"], language_of(engine)
    called = shlex.join(command)

    async def start() -> Child:
        try:
            return SpawnedProcess.start(spawner)
        except SpawnerGone:
            await asyncio.get_running_loop().create_future()  # until the run has noticed it, and cancels this
            raise

    limits = bridge.Limits(idle=IDLE)
    introduction = await bridge.introduce(command, language, limits.start_s, called, start)
    async with (
        bridge.ProgramBot(command, introduction, language, limits, called, start, engine.dialogue) as bot,
        running.client_here(job["token"], "") as client,
    ):
        await play_with(client, bot, None, AT_ONCE, "resign", Waiting(PATIENCE_S))
    raise AssertionError("a bot plays on until it fails")


_LANGUAGES: Final[Mapping[str, Callable[[], bridge.Language]]] = {
    "gtp": bridge.Gtp,
    "lines": bridge.Words,
    "json_lines": bridge.JsonLines,
}


def language_of(engine: EngineEntry) -> bridge.Language:
    """Return the language of an engine."""
    if engine.language != "uci":
        return _LANGUAGES[engine.language]()
    told = engine.numbers
    search = bridge.Search(told["nodes"], told["depth"], told["movetime"])
    concessions = bridge.Concessions(**{field.name: told[field.name] for field in fields(bridge.Concessions)})
    return bridge.Uci(engine.options, search, concessions, engine.ponder)


# The log of each bot goes to the run


@contextlib.contextmanager
def _logging() -> Iterator[None]:
    handler, logger = _ToRun(), logging.getLogger("arbiter_client")
    handler.setFormatter(PlainLine())
    level, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates


class _ToRun(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Send a line to the run."""
        log = _LOG.get()
        if log is not None:
            log.say(f"{self.format(record)}\n".encode(errors="replace"))
