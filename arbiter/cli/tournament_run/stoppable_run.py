"""One run of a command, from the start of its processes to its report; a signal stops it, and it can be continued."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Final

import arbiter_client as arb

from arbiter.cli.failure import INTERRUPTED, Failure
from arbiter.cli.terminal import PlainConsole, on_terminal
from arbiter.cli.tournament_bots import BotEntry
from arbiter.cli.tournament_run.folder import Folder, shown
from arbiter.cli.tournament_run.host import Host, RunSettings
from arbiter.cli.tournament_run.running_tournament import RunningTournament
from arbiter.cli.tournament_run.screen import so_far, view_of

FILE_WIDTH: Final = 120  #: line width if there is no terminal


def check_settings(games: int, port: int) -> None:
    """Raise Failure for a number of games at once, or a port, that no run can have."""
    if games < 1:
        raise Failure(f"{games} games at once are too few: at least 1")
    if not 0 <= port <= 65535:
        raise Failure(f"{port} is not a port: expected 1 to 65535, or 0 for a free one")


class Run(ABC):
    """One run: its arbiter and its bots, what it prints, and the tournament that is played now, if one is."""

    def __init__(self, folder: Folder, lock: int, settings: RunSettings, bots: Sequence[BotEntry]) -> None:
        self.folder = folder
        self.settings = settings
        width = None if on_terminal() else FILE_WIDTH
        self.console = PlainConsole(force_terminal=on_terminal(), width=width)
        self.host = Host(folder, lock, settings, bots, view_of(self.console))
        self.contest: RunningTournament | None = None

    def say(self, text: str) -> None:
        """Print a line and flush it."""
        self.console.print(text, soft_wrap=True)
        self.console.file.flush()

    @contextlib.asynccontextmanager
    async def opened(self, name: str, what: str) -> AsyncIterator[Host]:
        """Start the processes, and print which run this is and what it plays. Raises as `Host` does."""
        verb = "continues" if self.settings.resumed else "begins"
        self.say(f"{name} {verb} in {shown(self.folder.path)}: {what}.")
        self.say(self.settings.remark)
        async with self.host as host:
            self.say(f"Watch it in a browser: {host.page}")
            yield host

    @abstractmethod
    async def play(self) -> None:
        """Play to the end, and print the report. Raises ClientError, Failure, or a group of them."""

    def ended(self, contest: RunningTournament) -> str:
        """Return how much of a tournament has ended, for the line about a run that was stopped."""
        return so_far(contest)

    def stopped(self) -> None:
        """Print the state of the run, and how to resume it."""
        ended = f": {self.ended(self.contest)} had ended" if self.contest is not None else ""
        self.say(f"Stopped{ended}. `{self.settings.again}` continues it.")


@contextlib.contextmanager
def logged(file: Path) -> Iterator[None]:
    """Write the log of this process's libraries into a file, because it would disturb the picture on the terminal."""
    handler = logging.FileHandler(file, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.root.addHandler(handler)
    try:
        yield
    finally:
        logging.root.removeHandler(handler)
        handler.close()


async def until_signal(run: Run) -> int:
    """Play a run until it is over, or a signal stops it; return the exit code. Raises Failure."""
    work = asyncio.create_task(run.play())
    stopped = False

    def stop() -> None:
        nonlocal stopped
        if stopped:
            run.host.hurry()
        elif not work.done():
            stopped = True
            work.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    await asyncio.wait({work})
    if stopped:
        if not work.cancelled():
            work.exception()  # errors that happened during the stop do not matter
        run.stopped()
        return INTERRUPTED
    try:
        work.result()
    except BaseExceptionGroup as group:
        raise _first_error(group) from None
    except arb.ClientError as error:
        raise Failure(str(error)) from None
    return 0


def _first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of a group, as a command reports it."""
    error = group.exceptions[0]
    if isinstance(error, BaseExceptionGroup):
        return _first_error(error)
    return Failure(str(error)) if isinstance(error, arb.ClientError) else error
