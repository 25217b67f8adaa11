"""`arbiter serve --processes`: a parent that starts servers on one address, keeps them running, and stops them.

If the servers have a PostgreSQL of their own, it starts first and stops last. If the parent is killed, the servers stop
as if they had been told to, and PostgreSQL ends after their last connection.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import Any, Final

import structlog

from arbiter.cli.announcing import Serving, announce
from arbiter.cli.failure import FAILED
from arbiter.cli.terminal import say
from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.runtime.address_lock import alone_at
from arbiter.runtime.own_postgres import LOOK_S, OwnPostgres
from arbiter.runtime.supervision import EndedEarly, KeptProcess

SERVER: Final = ("-m", "arbiter.runtime.tied", "arbiter.cli.serve_process")


def serve_processes(settings: Settings, save_token: bool, new: bool, bots: tuple[str, ...], log_level: str) -> int:
    """Run servers until Ctrl-C or SIGTERM; return the exit code.

    Raises OperatorError for settings with which they can't be started. A server that can't start says why itself.
    """
    with _addresses(settings) as held:
        return asyncio.run(_serve(held, save_token, {"new": new, "bots": bots, "log_level": log_level}))


async def _serve(settings: Settings, save_token: bool, options: dict[str, Any]) -> int:
    log, stopped = structlog.get_logger("arbiter.processes"), asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        stopped.set()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)  # a second signal ends this process, and so all others

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    async with AsyncExitStack() as stack:
        if settings.postgres is not None:
            await stack.enter_async_context(_database(settings, log))
        servers = [_Server(settings, number, options) for number in range(settings.all_processes)]
        kept = [KeptProcess(server.name, server.spawn, server.ready, log) for server in servers]
        for each in kept:
            stack.callback(each.kill)  # where the next lines fail
        try:
            await kept[0].start()  # it makes the tables and the keys; what is wrong is said once
            await asyncio.gather(*(each.start() for each in kept[1:]))
        except EndedEarly as ended:
            return 0 if stopped.is_set() else max(FAILED, ended.code)
        keeping = [asyncio.create_task(each.keep()) for each in kept]
        loop.add_signal_handler(signal.SIGHUP, _tell_all, kept, signal.SIGHUP)
        _announce(settings, servers, save_token)
        await stopped.wait()
        loop.remove_signal_handler(signal.SIGHUP)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        say("Stopping: each server stops its clocks, and stores every event.")
        # The last one with players stops all clocks that are left. Nothing of the players waits for the page.
        *others, last = kept[: settings.processes]
        await asyncio.gather(*(each.stop(signal.SIGTERM) for each in others))
        pages = [_stop_in_time(each, settings.limits.stop_ms) for each in kept[settings.processes :]]
        await asyncio.gather(last.stop(signal.SIGTERM), *pages)
        await asyncio.gather(*keeping)
    say("Stopped.")
    return 0


async def _stop_in_time(page: KeptProcess, most_ms: int) -> None:
    """Stop the process that has the page alone; kill it if it does not end in time, since it has nothing to store."""
    try:
        async with asyncio.timeout(most_ms / 1_000):
            await page.stop(signal.SIGTERM)
    except TimeoutError:
        page.kill()


def _tell_all(kept: Sequence[KeptProcess], number: signal.Signals) -> None:
    for each in kept:
        each.tell(number)


def _announce(settings: Settings, servers: Sequence[_Server], save_token: bool) -> None:
    said = [server.serving for server in servers if server.serving is not None]
    token = next((each.token for each in said if each.token), "")
    metrics = [address for each in said for address in each.metrics]
    page = next((each.page for each in said if each.page), "")
    whole = said[0]._replace(token=token, metrics=metrics, page=page)
    announce(whole, settings.listen, save_token, settings.all_processes, settings.web_process)


class _Server:
    """One of the servers."""

    def __init__(self, settings: Settings, number: int, options: dict[str, Any]) -> None:
        has_page = settings.web_process and number == settings.processes
        self.name = "page" if has_page else f"server {number + 1}"
        self.serving: Serving | None = None
        own = settings.model_copy(update={"metrics": settings.metrics_addresses[number] if settings.metrics else ""})
        if settings.web_process:
            changed = {"listen": ""} if has_page else {"web": "", "public": settings.reads_are_public}
            own = own.model_copy(update=changed)
        plan = {"settings": own.model_dump(mode="json"), "number": number + 1, **options}
        if number:
            plan |= {"bots": (), "new": False}  # each bot plays once; the first server accepts a store as new
        self._plan = json.dumps(plan).encode() + b"\n"
        self._options = options

    async def spawn(self) -> Process:
        """Start the process. Raises OSError."""
        # A process group of its own: Ctrl-C in a terminal is for the parent alone, which tells the servers.
        return await asyncio.create_subprocess_exec(sys.executable, *SERVER, stdin=PIPE, stdout=PIPE, process_group=0)

    async def ready(self, process: Process) -> None:
        """Tell it its plan, and wait until it serves. Raises EndedEarly."""
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(self._plan)  # the pipe stays open: its end tells the server that this process has ended
        line = await process.stdout.readline()
        if not line:
            raise EndedEarly(await process.wait())
        self.serving = Serving(**json.loads(line))
        # Whatever was new is not new for a server that is started again.
        self._plan = json.dumps({**json.loads(self._plan), "new": False}).encode() + b"\n"


@asynccontextmanager
async def _database(settings: Settings, log: Any) -> AsyncIterator[None]:
    """Run the servers' own PostgreSQL during the context. Raises OperatorError."""
    assert settings.postgres is not None
    postgres = OwnPostgres(
        settings.postgres, settings.postgres_programs, settings.postgres_user, servers=settings.all_processes
    )

    async def spawn() -> Process:
        with postgres.open_log() as said:
            return await asyncio.create_subprocess_exec(
                *postgres.command, stdout=said, stderr=said, **postgres.surroundings
            )

    async def ready(process: Process) -> None:
        while not postgres.is_ready:
            if process.returncode is not None:
                raise EndedEarly(process.returncode)
            await asyncio.sleep(LOOK_S)

    with postgres.held():
        database = KeptProcess("postgres", spawn, ready, log)
        try:
            await database.start()
        except EndedEarly:
            raise OperatorError(f"the PostgreSQL in {postgres.folder} does not start: {postgres.why()}") from None
        keeping = asyncio.create_task(database.keep())
        try:
            yield
        finally:
            await database.stop(signal.SIGINT)
            await keeping


@contextmanager
def _addresses(settings: Settings) -> Iterator[Settings]:
    """Hold the addresses that the servers share, and return the settings with their ports. Raises OperatorError."""
    held = {}
    with ExitStack() as stack:
        for name in ("listen", "web"):
            address: str = getattr(settings, name)
            if address:
                held[name] = stack.enter_context(held_address(address, name))
        yield settings.model_copy(update=held)


@contextmanager
def held_address(address: str, name: str) -> Iterator[str]:
    """Hold an address on which nobody listens yet, for sockets that share it; return it with its port."""
    host, _, port = address.rpartition(":")
    with ExitStack() as stack:
        try:
            place = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
            with socket.socket(*place[:3]) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(place[4])  # without SO_REUSEPORT: fails if another server listens there
            holder = stack.enter_context(socket.socket(*place[:3]))
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            holder.bind(place[4])
        except (OSError, ValueError, OverflowError):
            raise OperatorError(
                f"can't listen on {address} ({name}): it is not HOST:PORT, the port is taken, or the address is not "
                "this machine's"
            ) from None
        shared = f"{host}:{holder.getsockname()[1]}"
        stack.enter_context(alone_at(shared, name))
        yield shared
