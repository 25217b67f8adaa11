"""Calls to the bot's methods: awaited if they are async, otherwise in a thread, and never in the way of the stream."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, Literal

from arbiter_client.bot import Bot
from arbiter_client.errors import BotFailed
from arbiter_client.threads import Threads

logger = logging.getLogger("arbiter_client")

OnError = Literal["resign", "wait", "raise"]
"""What an error of the bot in its turn costs: the match, the time on its clock, or the whole run."""

OURS: Final = ("arbiter_client", "asyncio")  #: packages whose frames stand before those of a bot

_DEFAULTS: Final = {
    getattr(Bot, name)
    for name in (
        *("refused", "started", "ended", "draw_offered"),
        *("challenged", "challenge_closed", "sought", "called"),
    )
}


def of_the_bot(error: Exception) -> Exception:
    """Return an error of the bot whose trace begins in the bot, without the frames of this client before that."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        ours = trace.tb_frame.f_globals["__name__"]
        if ours.startswith("arbiter_client.bots"):
            break
        trace = trace.tb_next
    return error.with_traceback(trace or error.__traceback__)


class Caller:
    """Calls a bot's methods, in tasks of their own. `outcome` gets the exception that ends the run, if any."""

    def __init__(self, bot: Bot, on_error: OnError) -> None:
        self.bot = bot
        self.on_error = on_error
        self.outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._threads = Threads()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a method of the bot. Default methods, which are fast, are called directly."""
        if inspect.iscoroutinefunction(method) or getattr(method, "__func__", None) in _DEFAULTS:
            answer = method(*arguments)
        else:
            answer = await self._threads.run(method, *arguments)
        return await answer if inspect.isawaitable(answer) else answer

    async def callback(self, method: Callable[..., Any], argument: Any, default: Any) -> Any:
        """Return the result of a callback, or the default if it raises."""
        try:
            return await self.call(method, argument)
        except Exception as error:
            where = f"{self.bot.name or 'the bot'} failed in {method.__name__}"
            if self.on_error == "raise":
                self.stop_for(where, error)
            else:
                logger.error(where, exc_info=of_the_bot(error))
            return default

    def stop_for(self, where: str, error: Exception) -> None:
        """End the run because of an error of the bot."""
        if not self.outcome.done():
            failure = BotFailed(f"{where}: {type(error).__name__}: {error}")
            failure.__cause__ = of_the_bot(error)
            self.outcome.set_exception(failure)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine in the background, until `close`."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def close(self) -> None:
        """Cancel all background tasks."""
        for task in self._tasks:
            task.cancel()
        if not self.outcome.done():
            self.outcome.cancel()

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None and not self.outcome.done():
            # An error of this client's own: it must not disappear in a task that nobody reads.
            self.outcome.set_exception(task.exception() or AssertionError)
