"""Functions of the program for its metrics and logs."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from arbiter_client.errors import ArbiterError, ClientError
from arbiter_client.values.play import Turn

logger = logging.getLogger("arbiter_client")

LEVELS: Final = {logging.ERROR: "error", logging.WARNING: "warning", logging.INFO: "info"}  #: of a line, in a hook


@dataclass(frozen=True, slots=True)
class Hooks:
    """Each may be left out. The client calls them while it works, so they return at once.

    connected(server, player): after each hello of a server. disconnected(server, error): when a connection after a
    hello is lost. thought(turn, milliseconds): when the bot has chosen, with the time from the turn's arrival to the
    choice. refused(turn, refusal): when a choice was refused. log(level, line): for each line of the log of this
    process, in place of standard error. One that raises is logged, and costs nothing else.
    """

    connected: Callable[[str, str], object] | None = None
    disconnected: Callable[[str, ClientError], object] | None = None
    thought: Callable[[Turn, float], object] | None = None
    refused: Callable[[Turn, ArbiterError], object] | None = None
    log: Callable[[str, str], object] | None = None


def call(hook: Callable[..., object] | None, *arguments: Any) -> None:
    """Call a hook, if it is there."""
    if hook is None:
        return
    try:
        hook(*arguments)
    except Exception:
        logger.exception("the hook %s failed", getattr(hook, "__name__", hook))


@contextlib.contextmanager
def logging_to(hooks: Hooks) -> Iterator[None]:
    """Give each line of the log to a hook, if there is one for it."""
    if hooks.log is None:
        yield
        return
    handler = _ToHook(hooks.log)
    level, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates


class _ToHook(logging.Handler):
    def __init__(self, hook: Callable[[str, str], object]) -> None:
        super().__init__()
        self._hook = hook

    def emit(self, record: logging.LogRecord) -> None:
        """Give a record to the hook, with its trace if it has one."""
        try:
            self._hook(LEVELS.get(record.levelno, "debug"), self.format(record))
        except Exception:
            self.handleError(record)
