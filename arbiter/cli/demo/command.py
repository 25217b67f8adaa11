"""`arbiter demo`: bots play every game against each other, on an arbiter of their own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import arbiter_client as arb
from cyclopts import Parameter
from rich.console import Console

from arbiter.bootstrap import create_token
from arbiter.cli.demo import report
from arbiter.cli.demo.crew import Crew
from arbiter.cli.demo.folder import Folder, Terms, begin, newest
from arbiter.cli.demo.plan import PLAYERS, canonical
from arbiter.cli.demo.playing import Player, keep_keys, now_ms, warm_up
from arbiter.cli.demo.progress import Progress
from arbiter.cli.demo.screen import Lines, Screen
from arbiter.cli.failure import INTERRUPTED, Failure

ORGANISER: Final = "organiser"
START_PATIENCE_S: Final = 60.0  #: what a server gets to come up
AT_ONCE: Final = 3  #: matches at once for each processor
MOST_AT_ONCE: Final = 8  #: a bot is one process: with more matches they wait for each other


def demo(
    *,
    resume: Annotated[bool, Parameter(negative=())] = False,
    directory: Path = Path("arbiter-demo"),
    games: Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())] = None,
    cycles: int | None = None,
    time: str | None = None,
    concurrency: int | None = None,
    port: int = 0,
) -> int:
    """Let four bots play a double round robin in every game, on an arbiter of their own; show tables and ratings.

    It takes about two minutes. Everything runs on this machine: the arbiter and each bot is a process of its own, and
    they talk gRPC. Ctrl-C stops it at any moment, and `arbiter demo --resume` goes on where it stopped. Every run has a
    folder of its own, with its database, the transcripts of all matches, and logs.

    :param resume: Go on with the newest run.
    :param directory: Where the runs are kept.
    :param games: The games or variants to play. [default: all]
    :param cycles: How often each two bots meet in each game. [default: 2]
    :param time: The time control of all games. [default: one for each game]
    :param concurrency: How many matches are played at once. [default: by the number of processors]
    :param port: The port that the arbiter listens on. [default: a free one]
    """
    if concurrency is not None and concurrency < 1:
        raise Failure(f"{concurrency} matches at once are too few: at least 1")
    if not 0 <= port <= 65535:
        raise Failure(f"{port} is no port: 1 to 65535")
    if resume:
        if games is not None or cycles is not None or time is not None:
            raise Failure("a run goes on as it was begun: leave --games, --cycles and --time away, or --resume")
        folder = newest(directory)
    else:
        terms = Terms(canonical(games or ()), 2 if cycles is None else cycles, time or "")
        terms.fixtures()  # what can't be played is refused before there is a folder
        folder = begin(directory, terms)
    with folder.held(), _logged(folder):
        return asyncio.run(
            _until_told(folder, concurrency or min(MOST_AT_ONCE, AT_ONCE * (os.cpu_count() or 1)), port, resume)
        )


@contextlib.contextmanager
def _logged(folder: Folder) -> Iterator[None]:
    """Write what libraries log in this process into the run's folder: it has no place in a table on the terminal."""
    handler = logging.FileHandler(folder.log("demo"), encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.root.addHandler(handler)
    try:
        yield
    finally:
        logging.root.removeHandler(handler)
        handler.close()


async def _until_told(folder: Folder, concurrency: int, port: int, resumed: bool) -> int:
    """Play a run until it is over, or a signal ends it; return the exit code."""
    run = _Run(folder, concurrency, port, resumed)
    work = asyncio.create_task(run.play())
    told = False

    def stop() -> None:
        nonlocal told
        if told:
            run.hurry()
        elif not work.done():
            told = True
            work.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    await asyncio.wait({work})
    if told:
        if not work.cancelled():
            work.exception()  # what went wrong while it was stopped is of no interest
        again = "arbiter demo --resume"
        if folder.path.parent != Path("arbiter-demo"):
            again += f" --directory {folder.path.parent}"
        run.say(f"Stopped: {run.progress_text()}. `{again}` goes on.")
        return INTERRUPTED
    try:
        work.result()
    except BaseExceptionGroup as group:
        raise _first(group) from None
    except arb.ClientError as error:
        raise Failure(str(error)) from None
    return 0


class _Run:
    """One run, from the start of its processes to its report."""

    def __init__(self, folder: Folder, concurrency: int, port: int, resumed: bool) -> None:
        self._folder = folder
        self._concurrency = concurrency
        self._port = port
        self._resumed = resumed
        self._fixtures = folder.terms().fixtures()
        self._progress = Progress(self._fixtures, folder.name, now_ms())
        self._crew: Crew | None = None
        terminal = sys.stdout.isatty()
        self._console = Console(highlight=False, markup=False, force_terminal=terminal)
        self._view: Screen | Lines = (
            Screen(self._console, self._progress, now_ms)
            if terminal
            else Lines(self.say, self._progress, now_ms)
        )  # fmt: skip

    def say(self, text: str) -> None:
        """Print a line at once."""
        self._console.print(text, soft_wrap=True)
        sys.stdout.flush()

    def hurry(self) -> None:
        """End all processes at once."""
        if self._crew is not None:
            self._crew.hurry()

    def progress_text(self) -> str:
        """Return how far the run is."""
        return f"{len(self._progress.played)} of {len(self._fixtures)} games had ended"

    async def play(self) -> None:
        """Play the run and print its report. Raises ClientError, Failure, or a group of them."""
        verb = "goes on" if self._resumed else "begins"
        self.say(f"The demo {verb} in {self._folder.path}: {len(self._fixtures)} games, {self._concurrency} at once.")
        store = self._folder.store
        organiser = await create_token(store, ORGANISER, ["organise", "observe"], "demo")
        tokens = {bot: await create_token(store, bot, ["play", "observe"], "demo") for bot in PLAYERS}
        async with Crew(self._folder, self._port, tokens, self._view.note) as crew:
            self._crew = crew
            await crew.serve()
            async with asyncio.TaskGroup() as group:
                background = [group.create_task(crew.watch_server())]
                client = arb.Client(crew.address, token=organiser, tls=arb.NO_TLS, patience_s=START_PATIENCE_S)
                async with client, _running(self._view.run()):
                    keep_keys(self._folder, await client.server_info())
                    background += [group.create_task(crew.keep(bot)) for bot in PLAYERS]
                    await warm_up(client, self._folder, self._progress.games)
                    await Player(client, self._folder, self._progress, self._view, self._concurrency).play()
                for task in background:
                    task.cancel()
            ended_ms = now_ms()
        self._console.print(report.report(self._progress, ended_ms))
        for line in report.where(self._folder, self._progress):
            self.say(line)


@contextlib.asynccontextmanager
async def _running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run something beside the body of a `with`, for as long as it lasts."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first thing that went wrong, as a command says it."""
    error = group.exceptions[0]
    if isinstance(error, BaseExceptionGroup):
        return _first(error)
    return Failure(str(error)) if isinstance(error, arb.ClientError) else error
