"""The processes of a run: an arbiter and the bots, in one process each, started, supervised and ended together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, Self

from arbiter.cli.failure import Failure
from arbiter.cli.tournament_run.bot_log import HOLD_MS, BotLog
from arbiter.cli.tournament_run.engine_channel import EngineChannel
from arbiter.cli.tournament_run.folder import Folder
from arbiter.errors import OperatorError
from arbiter.runtime.loopback import HOST, free_port
from arbiter.runtime.supervision import KeptProcess, again_and_again
from arbiter.sandbox.bot_process import BotProcess, Hit
from arbiter.sandbox.bubblewrap import Program, Sandbox

SERVER: Final = "server"
SERVER_MODULE: Final = "arbiter.cli.tournament_run.hosting_server"
END_WAIT_S: Final = 10.0  #: grace period for the server's shutdown
FIRST_PAUSE_S: Final = 0.5  #: pause before a bot is restarted; doubled each time
LONGEST_PAUSE_S: Final = 30.0
LAST_WORDS_S: Final = 1.0  #: timeout for the last output of a bot that has ended
PIECE: Final = 65_536  #: bytes

_FORBIDDEN: Final = "ARBITER_"
"""Settings of whoever runs a tournament are for another server."""


class BotOrder(NamedTuple):
    """A bot to run: its program, with its token; or, of an engine, what `hosted_engines` has to know to play it."""

    program: Program
    job: Mapping[str, Any] | None


class ServerNotes:
    """The log of the supervisor as lines for the user. ended: gets the exit code and the pause that follows."""

    def __init__(self, ended: Callable[[int, float], None]) -> None:
        self._ended = ended

    def warning(self, event: str, **values: Any) -> None:
        """Tell that the server has ended."""
        if event == "process_ended":
            self._ended(values["code"], values["again_in_s"])

    def info(self, event: str, **values: Any) -> None:
        """Ignore that the server has started: its log says so."""


async def _at_once(process: asyncio.subprocess.Process) -> None:
    """Take a server for ready when it has started: its clients wait until it answers."""


class Processes:
    """The processes of a run. At the end of the context all of them are ended and waited for.

    bots: by name. lock: an open file that locks the folder, for the server too. settings: of the server, by the names
    of their environment variables. note: callback for a line of information for the user. deaths: how often each bot
    has ended. hits: how often each bot has reached which limit of the sandbox.
    """

    def __init__(
        self,
        folder: Folder,
        lock: int,
        port: int,
        settings: Mapping[str, str],
        bots: Mapping[str, BotOrder],
        sandbox: Sandbox | None,
        note: Callable[[str], None],
    ) -> None:
        self._folder = folder
        self._lock = lock
        self._port = port
        self._page_port = free_port()
        self._settings = settings
        self._orders = bots
        self._engines = EngineChannel()
        self._sandbox = sandbox
        self._note = note
        self._server = KeptProcess("the arbiter", self._spawn_server, _at_once, ServerNotes(self.server_ended))
        self._first: asyncio.subprocess.Process | None = None
        self._answered = asyncio.Event()
        self._bots: dict[str, BotProcess] = {}
        self._hearing: set[asyncio.Task[None]] = set()
        self._hurried = False
        self.deaths: Counter[str] = Counter()
        self.hits: Counter[tuple[str, Hit]] = Counter()
        self.bot_logs = {name: BotLog(folder.notes(name)) for name in bots}

    @property
    def address(self) -> str:
        """The server's address, HOST:PORT."""
        return f"{HOST}:{self._port}"

    @property
    def page(self) -> str:
        """The address of the page for browsers."""
        return f"http://{HOST}:{self._page_port}/"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    def hurry(self) -> None:
        """Kill all processes at once."""
        self._hurried = True
        self._server.kill()
        for bot in self._bots.values():
            bot.kill()

    # -- the server ----------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Start the server. It is not ready yet when this returns."""
        await self._server.start()

    async def _spawn_server(self) -> asyncio.subprocess.Process:
        addresses = (self.address, f"{HOST}:{self._page_port}")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_FORBIDDEN)}
        # A second thread for matrices of a handful of players costs more than it gains.
        environment = {**kept, **self._settings, "OPENBLAS_NUM_THREADS": "1"}
        with self._folder.log(SERVER).open("ab") as log, self._engines.renew() as channel:
            # In its own process group, a child does not get the terminal's Ctrl-C: the server must end first.
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "arbiter.runtime.tied", SERVER_MODULE),
                *(str(channel.fileno()), *addresses, self._folder.store),
                stdin=asyncio.subprocess.PIPE,  # never written to; it is closed when this process ends in any way
                stdout=log,
                stderr=log,
                env=environment,
                pass_fds=(self._lock, channel.fileno()),
                process_group=0,
            )
        self._first = self._first or process
        return process

    def server_answers(self) -> None:
        """Note that the server has answered: from now on it is started again if it ends."""
        self._answered.set()

    async def watch_server(self) -> None:
        """Start the server again whenever it ends, as a supervisor does. Raises Failure if it never answers."""
        assert self._first is not None
        ending, answering = asyncio.create_task(self._first.wait()), asyncio.create_task(self._answered.wait())
        try:
            await asyncio.wait({ending, answering}, return_when=asyncio.FIRST_COMPLETED)
            if not self._answered.is_set():
                code = ending.result()
                words = f": {self._last_log_line()}" if code > 0 else ""
                how = f"the arbiter ended by itself ({_exit_text(code)}){words}"
                raise Failure(f"{how}; its log is {self._folder.log(SERVER)}")
        finally:
            ending.cancel()
            answering.cancel()
        await self._server.keep()

    def server_ended(self, code: int, again_in_s: float) -> None:
        """Tell the user that the server has ended, and goes on."""
        place = self._folder.log(SERVER)
        self._note(
            f"the arbiter ended by itself ({_exit_text(code)}), is started again in {again_in_s:g} s; see {place}"
        )

    # -- bots ----------------------------------------------------------------------------------------------------

    async def keep(self, name: str) -> NoReturn:
        """Run a bot and restart it whenever it ends, with increasing pauses. Raises Failure."""

        def tell(ended: str, again_in_s: float) -> None:
            self._note(f"{name} {ended}, is started again in {again_in_s:g} s; see {self._folder.notes(name)}")

        await again_and_again(partial(self._run_until_end, name), tell, FIRST_PAUSE_S, LONGEST_PAUSE_S)

    async def _run_until_end(self, name: str) -> str:
        """Run a bot until it ends; return how it did, as a clause with the bot as its subject."""
        code, why = await self._run_once(name)
        ended = why or f"ended by itself ({_exit_text(code)})"
        self.deaths[name] += 1
        self.bot_logs[name].died(f"the bot {ended}", now_ms())
        return ended

    async def _run_once(self, name: str) -> tuple[int, str]:
        """Run a bot until it ends; return its exit code, or the negative signal number, and the limits that it hit."""
        job = self._orders[name].job
        if job is None:
            return await self._ended(name, await self._started(name))
        ours, its = socket.socketpair()
        with ours:
            with its:
                bot = await self._started(name, its.fileno())
            playing = asyncio.create_task(self._play(name, bot, ours, job))
            try:
                return await self._ended(name, bot)
            finally:
                playing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await playing

    async def _started(self, name: str, given: int = asyncio.subprocess.DEVNULL) -> BotProcess:
        """Start a bot's process. given: the standard input of an engine's spawner. Raises Failure."""
        host, _, port = self.address.rpartition(":")
        try:
            bot = await BotProcess.start(
                self._orders[name].program,
                host if self._orders[name].job is None else "",
                int(port),
                self._sandbox,
                lambda hit: self.bot_logs[name].noted(f"the bot {hit.words}", now_ms()),
                given,
            )
        except (OSError, OperatorError) as error:
            raise Failure(f"{name} can't be started: {error}") from None
        self._bots[name] = bot
        return bot

    async def _play(self, name: str, bot: BotProcess, spawner: socket.socket, job: Mapping[str, Any]) -> None:
        """Have the server play an engine; end its process once that has failed."""
        await self._engines.play(job, spawner, lambda data: self.bot_logs[name].wrote(data, now_ms()))
        bot.terminate()

    async def _ended(self, name: str, bot: BotProcess) -> tuple[int, str]:
        """Wait until a bot's process has ended, and note what it has said and which limits it has reached."""
        hearing = asyncio.create_task(self._read_output(bot, self.bot_logs[name]))
        self._hearing.add(hearing)
        hearing.add_done_callback(self._hearing.discard)
        code = await bot.wait()
        await asyncio.wait({hearing}, timeout=LAST_WORDS_S)  # its child processes may keep the pipe open
        hearing.cancel()
        del self._bots[name]
        self.hits.update((name, hit) for hit in bot.hits)
        return code, "; ".join(hit.words for hit in bot.hits)

    async def _read_output(self, bot: BotProcess, bot_log: BotLog) -> None:
        while data := await bot.output.read(PIECE):
            bot_log.wrote(data, now_ms())

    async def write_bot_logs(self, days: int) -> NoReturn:
        """Save the bots' output, a moment after it was written. What is older than this many days is removed; 0: never.

        It is looked for at the start, and once a day.
        """
        removed_on: date | None = None
        while True:
            await asyncio.sleep(HOLD_MS / 1_000)
            today = datetime.fromtimestamp(now_ms() / 1_000, UTC).date()
            for bot_log in self.bot_logs.values():
                bot_log.keep(now_ms() - HOLD_MS)
                if days and today != removed_on:
                    await asyncio.to_thread(bot_log.remove_before, today - timedelta(days))
            removed_on = today

    # -- the end -------------------------------------------------------------------------------------------------

    async def _end(self) -> None:
        """End all processes, the server first: with it all clocks stop, so no bot is absent from a running match."""
        number = signal.SIGKILL if self._hurried else signal.SIGTERM
        try:
            await asyncio.wait_for(self._server.stop(number), END_WAIT_S)
        except TimeoutError:
            await self._server.stop(signal.SIGKILL)
        await asyncio.gather(*(bot.end() for bot in self._bots.values()))
        self.hits.update((name, hit) for name, bot in self._bots.items() for hit in bot.hits)
        if self._hearing:
            await asyncio.wait(self._hearing, timeout=LAST_WORDS_S)
        for bot_log in self.bot_logs.values():
            bot_log.close(now_ms())

    def _last_log_line(self) -> str:
        """Return the last line of the server's log."""
        lines = self._folder.log(SERVER).read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def now_ms() -> int:
    """Return the time, in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def _exit_text(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
