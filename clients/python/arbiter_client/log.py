"""The log of a program that plays a bot, on standard error."""

from __future__ import annotations

import logging
import sys
from copy import copy
from pathlib import Path
from types import TracebackType

from arbiter_client.errors import BotFailed, ClientError
from arbiter_client.plain_text import plain_lines, plain_text


class PlainLine(logging.Formatter):
    """Makes one line of a record: with its time and level, and each character escaped that can't be printed."""

    def __init__(self) -> None:
        """Use the format of all bots."""
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        one_line = copy(record)
        one_line.msg, one_line.args = record.getMessage().replace("\n", "\\n"), None
        return plain_lines(super().format(one_line))


def show(quiet: bool = False, verbose: bool = False) -> None:
    """Log where the bot plays, and the beginning and end of its matches; with `quiet` only problems."""
    handler = logging.StreamHandler()
    handler.setFormatter(PlainLine())
    logging.basicConfig(handlers=[handler])
    level = logging.DEBUG if verbose else logging.WARNING if quiet else logging.INFO
    logging.getLogger("arbiter_client").setLevel(level)


def end_with_a_line() -> None:
    """Make a program that a ClientError ends log its text, which says what to do, without a traceback."""
    usual = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, ClientError) and not isinstance(error, BotFailed):  # which needs its traceback
            sys.stderr.write(f"{Path(sys.argv[0]).name}: {plain_text(str(error))}\n")
        else:
            usual(kind, error, trace)

    if usual is sys.__excepthook__:
        sys.excepthook = hook
