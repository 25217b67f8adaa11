"""Playing a bot: `run` for scripts, `play` for programs with an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from arbiter_client import credentials, forks, log
from arbiter_client.blocking import BlockingClient
from arbiter_client.bot import Bot, Run, running
from arbiter_client.calling import OnError
from arbiter_client.channel import Tls
from arbiter_client.client import Client
from arbiter_client.direct_session import DirectSession
from arbiter_client.errors import ArbiterError, ClientError, CredentialsError, Reason
from arbiter_client.hooks import Hooks, logging_to
from arbiter_client.outbox import DirectActs, Outbox
from arbiter_client.runner import BotRunner
from arbiter_client.session import Session, Waiting
from arbiter_client.time_control import ALLOWED, canonical

logger = logging.getLogger("arbiter_client")

NO_HOOKS: Final = Hooks()

FAREWELL_WAIT_S: Final = 5.0
"""The time limit for the server to end the stream after the bot has ended it."""

WITHDRAWAL_WAIT_S: Final = 2.0
"""The time limit for withdrawing the bot's seeks before that."""


async def play(
    bot: Bot,
    server: str | None = None,
    *,
    name: str = "",
    token: str | None = None,
    tls: Tls | None = None,
    matches: int | None = None,
    thinkers: int = 8,
    on_error: OnError = "resign",
    patience_s: float = 10.0,
    invitation: str = "",
    hooks: Hooks = NO_HOOKS,
) -> None:
    """Play a bot on a server, without end or until `matches` have ended; cancel it to stop earlier.

    `matches` counts ended matches: the bot agrees to no more than that, and plays all matches to their end that it has
    agreed to or that are under way. In any case its open seeks are withdrawn, its last acts are sent, and the server's
    end of the stream is awaited, for some seconds at most; a second cancellation ends this wait.

    `server`, `token` and `tls` are as for `Client`. `name` is the player: ARBITER_NAME or the bot's name by default.
    Without a token it is registered and its token stored in the credentials file, so that the next run is the same
    player. `thinkers` is the largest number of choices under way at once. `patience_s` is how long to wait for a server
    that was never reached; a lost connection is tried again without end. `on_error` is the cost of an exception in
    `choose`: the match ("resign"), the time on the clock ("wait"), or the whole run ("raise": BotFailed). `hooks` are
    functions of the program for its metrics and logs.

    Raises ArbiterError if the server refuses the bot (SESSION_SUPERSEDED: the same player plays elsewhere), and before
    anything is sent if one of its time controls is none (PARAMETER_INVALID); ConnectionFailed, CredentialsError,
    BotFailed.
    """
    _check_time_controls(bot)
    name = name or os.environ.get("ARBITER_NAME") or bot.name
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(logging_to(hooks))
        client = await stack.enter_async_context(Client(server, token=token, name=name, tls=tls, patience_s=patience_s))
        connection = client.connection
        waiting = Waiting(patience_s)
        connection.on_wait = waiting.say
        if not connection.token:
            await _register(client, name, invitation)
        elif not credentials.given(token):
            await _renew(client, name, invitation)
        await play_with(client, bot, matches, thinkers, on_error, waiting, hooks)


async def play_with(
    client: Client,
    bot: Bot,
    matches: int | None,
    thinkers: int,
    on_error: OnError,
    waiting: Waiting,
    hooks: Hooks = NO_HOOKS,
) -> None:
    """Play a bot as `play` does, over the connection of a client that has its token."""
    connection, loop = client.connection, asyncio.get_running_loop()
    run = Run(client, BlockingClient.around(client, loop))
    with running(bot, run):
        acts = Outbox() if connection.direct is None else DirectActs()
        runner = BotRunner(bot, run, acts, hooks, on_error, thinkers, matches)
        session: Stream
        if isinstance(acts, Outbox):
            session = Session(bot, connection, acts, runner, waiting)
        else:
            assert connection.direct is not None
            session = DirectSession(bot, connection, connection.direct, acts, runner)
        await _until_done(session, runner)


class Stream(Protocol):
    """A bot's session, over one stream after another."""

    async def run(self) -> None:
        """Play until `stop`. Raises ArbiterError if the server ends the session finally, ConnectionFailed."""

    def stop(self) -> None:
        """Send the last acts and end the stream; `run` returns once the server has ended it too."""


async def _until_done(session: Stream, runner: BotRunner) -> None:
    """Hold the stream until the run is done or fails; say farewell at its end, and when it is cancelled."""
    stream = asyncio.create_task(session.run())
    try:
        await asyncio.wait({stream, runner.outcome}, return_when=asyncio.FIRST_COMPLETED)
        if not runner.outcome.done():
            await stream
        else:
            await _farewell(session, runner, stream)
            runner.outcome.result()
    except asyncio.CancelledError:
        runner.stop_thinking()
        await _farewell(session, runner, stream)
        raise
    finally:
        runner.close()
        stream.cancel()
        await asyncio.wait([stream])


def _check_time_controls(bot: Bot) -> None:
    """Raise the arbiter's refusal for what is no time control: with it, the bot would wait for a match in vain."""

    def refusal(what: str, where: str, allowed: str, message: str) -> ArbiterError:
        facts = {"what": what, "where": where, "allowed": allowed}
        return ArbiterError(Reason.PARAMETER_INVALID, f"{bot.name or 'the bot'}: {message}", "INVALID_ARGUMENT", facts)

    if isinstance(bot.time_controls, str):
        allowed = f"a list of them: [{bot.time_controls!r}]"
        message = f"time_controls is {bot.time_controls!r}: expected {allowed}"
        raise refusal(bot.time_controls, "time_controls", allowed, message)
    for what in [*bot.time_controls, *(terms.time_control for terms in bot.seeks if terms.time_control)]:
        try:
            canonical(what)
        except ValueError as error:
            raise refusal(what, "time", ALLOWED, str(error)) from None


async def _farewell(session: Stream, runner: BotRunner, stream: asyncio.Task[None]) -> None:
    """Withdraw the bot's seeks, send its last acts, and wait until the server ends the stream too."""
    try:
        async with asyncio.timeout(WITHDRAWAL_WAIT_S):
            await runner.withdraw()
    except TimeoutError:
        logger.warning("the bot's seeks may still be open: the arbiter does not answer")
    except ClientError as error:
        logger.warning("the bot's seeks may still be open: %s", error)
    session.stop()
    await asyncio.wait([stream], timeout=FAREWELL_WAIT_S)


async def _register(client: Client, name: str, invitation: str) -> None:
    if not name:
        raise CredentialsError("who plays? Give a name to register (name=…), or a token (token=… or ARBITER_TOKEN)")
    with contextlib.suppress(ArbiterError):  # a registration is not repeated, so first wait for a server that answers
        await client.server_info()
    try:
        registered = await client.register_player(name, invitation=invitation)
    except ArbiterError as error:
        if error.reason != Reason.PLAYER_EXISTS:
            raise
        hint = f"give its token (token=… or ARBITER_TOKEN) or another name; {credentials.path()} has none for it"
        raise ArbiterError(
            error.reason, f"there is a player {error.facts.get('id', name)} already: {hint}", error.code, error.facts
        ) from error
    credentials.save(client.servers, name, registered.token)
    client.connection.token = registered.token


async def _renew(client: Client, name: str, invitation: str) -> None:
    """Register again if the stored token is unknown: the server at this address has a new database."""
    try:
        await client.myself()
    except ArbiterError as error:
        if error.reason != Reason.TOKEN_INVALID:
            raise
        client.connection.token = ""
        await _register(client, name, invitation)


def run(
    bot: Bot,
    server: str | None = None,
    *,
    name: str = "",
    token: str | None = None,
    tls: Tls | None = None,
    matches: int | None = None,
    thinkers: int = 8,
    on_error: OnError = "resign",
    patience_s: float = 10.0,
    invitation: str = "",
    hooks: Hooks = NO_HOOKS,
    quiet: bool = False,
) -> None:
    """Play a bot as `play` does, and return when it is done, or interrupted by Ctrl-C or SIGTERM.

    If the program has no logging of its own, standard error shows where the bot plays, and the beginning and end of its
    matches, or with `quiet` only problems. An error that ends the program is one line there, without a traceback.
    """
    if not logging.getLogger().handlers and hooks.log is None:
        log.show(quiet)
    log.end_with_a_line()
    run_until_told(
        lambda: play(
            bot,
            server,
            name=name,
            token=token,
            tls=tls,
            matches=matches,
            thinkers=thinkers,
            on_error=on_error,
            patience_s=patience_s,
            invitation=invitation,
            hooks=hooks,
        )
    )


def run_until_told(work: Callable[[], Awaitable[None]]) -> None:
    """Run a program's main coroutine; return when it is done, or interrupted by Ctrl-C or SIGTERM.

    Processes that it forks meanwhile get default signals: what ends one of them does not end the program.
    """

    async def until_signal() -> None:
        task = asyncio.current_task()
        with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):  # some systems and threads have none
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: task and task.cancel())
        await work()

    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError), forks.apart():
        asyncio.run(until_signal())
