"""What a program that plays a bot shows on standard error."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from types import TracebackType

from arbiter_client.errors import BotFailed, ClientError


def show(quiet: bool = False, verbose: bool = False) -> None:
    """Show where the bot plays and how its matches begin and end; with `quiet` only what is wrong."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    level = logging.DEBUG if verbose else logging.WARNING if quiet else logging.INFO
    logging.getLogger("arbiter_client").setLevel(level)


def end_with_a_line() -> None:
    """Have a program that a ClientError ends say so in a line, without a traceback: its text says what to do."""
    usual = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, ClientError) and not isinstance(error, BotFailed):  # of which the trace is the news
            sys.stderr.write(f"{Path(sys.argv[0]).name}: {error}\n")
        else:
            usual(kind, error, trace)

    if usual is sys.__excepthook__:
        sys.excepthook = hook
