"""A server in this process: its start, its end by a signal, and the bots that play on it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import structlog
from google.protobuf.internal import api_implementation

from arbiter.bootstrap.running_server import RunningServer, serving
from arbiter.bootstrap.store import shown_store
from arbiter.cli.announcing import OPERATOR, Serving, client_address
from arbiter.cli.failure import FAILED, USAGE, Failure
from arbiter.cli.terminal import tell
from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.runtime.loop import keep, let_players_go_first, run_process

Engines = Callable[[RunningServer], AbstractAsyncContextManager[None]]
"""A context in which engines play in the process of a server."""


def run_server(
    settings: Settings,
    new: bool = False,
    bots: tuple[str, ...] = (),
    serves: Callable[[Serving], None] = lambda _: None,
    engines: Engines | None = None,
) -> None:
    """Run a server as the work of this process: as `serve_until_signal`. What is wrong is a line and an exit code.

    If it has the page alone, the processes of this machine that have the players go first.
    """
    if settings.has_page_alone:
        let_players_go_first()
    try:
        run_process(serve_until_signal(settings, new, bots, serves, lambda: None, engines))
    except (OperatorError, Failure) as error:
        tell(f"arbiter: {' '.join(str(error).split())}")
        sys.exit(USAGE if isinstance(error, OperatorError) else FAILED)


async def serve_until_signal(
    settings: Settings,
    new: bool,
    bots: tuple[str, ...],
    serves: Callable[[Serving], None],
    stops: Callable[[], None],
    engines: Engines | None = None,
) -> None:
    """Run a server until SIGINT or SIGTERM. serves: called once it does; stops: once it has stopped its clocks.

    engines: a context in which engines play in this process; it ends last, so that none is absent while clocks run.
    After SIGHUP it looks at the files of its certificate at once.
    """
    _check_protobuf()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        stopped.set()
        _end_after(settings.limits.stop_ms)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once: durable data is safe

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    async with AsyncExitStack() as last, serving(settings, new=new) as running:
        running.reading.add_done_callback(keep)
        if engines is not None:
            await last.enter_async_context(engines(running))
        loop.add_signal_handler(signal.SIGHUP, _renew, running)
        serves(_described(settings, running))
        async with _with_bots(settings, running, bots):
            await stopped.wait()
        loop.remove_signal_handler(signal.SIGHUP)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        stops()


def _renew(running: RunningServer) -> None:
    log = structlog.get_logger("arbiter.certificate")
    if running.certificate is None:
        log.info("nothing_to_renew", why="the server has no TLS certificate")
    elif not running.certificate.renew(log):
        log.info("nothing_to_renew", why="the certificate is the same, or can't be used")


def _end_after(most_ms: int) -> None:
    """End this process unless it ends by itself in time.

    Its database may not answer. Then nothing can be stored any more, and the next start treats it as if it was killed.
    """

    def end() -> None:
        structlog.get_logger("arbiter").error("not_stopped", after_ms=most_ms)
        os._exit(FAILED)

    timer = threading.Timer(most_ms / 1_000, end)
    timer.daemon = True
    timer.start()


def _described(settings: Settings, running: RunningServer) -> Serving:
    metrics = [running.metrics] if running.metrics else []
    token = running.admin_token or ""
    matches = running.matches, running.arbiter.matches.without_rules
    return Serving(running.port, shown_store(settings.store), *matches, running.page, metrics, OPERATOR, token)


@asynccontextmanager
async def _with_bots(settings: Settings, running: RunningServer, names: tuple[str, ...]) -> AsyncIterator[None]:
    if not names:
        yield
        return
    from arbiter.cli import serve_bots  # a server without bots need not wait for the client's imports

    address = client_address(settings.listen, running.port)
    async with serve_bots.playing(names, running, address, bool(settings.tls_certificate)):
        yield


def _check_protobuf() -> None:
    if api_implementation.Type() != "upb":
        structlog.get_logger("arbiter").warning(
            "protobuf does not run on upb, so messages take many times as long: install its binary wheel",
            implementation=api_implementation.Type(),
        )
