"""The log of a program that plays a bot, on standard error."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from types import TracebackType

from arbiter_client.errors import BotFailed, ClientError


def show(quiet: bool = False, verbose: bool = False) -> None:
    """Log where the bot plays, and the beginning and end of its matches; with `quiet` only problems."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    level = logging.DEBUG if verbose else logging.WARNING if quiet else logging.INFO
    logging.getLogger("arbiter_client").setLevel(level)


def end_with_a_line() -> None:
    """Make a program that a ClientError ends log its text, which says what to do, without a traceback."""
    usual = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, ClientError) and not isinstance(error, BotFailed):  # which needs its traceback
            sys.stderr.write(f"{Path(sys.argv[0]).name}: {error}\n")
        else:
            usual(kind, error, trace)

    if usual is sys.__excepthook__:
        sys.excepthook = hook
