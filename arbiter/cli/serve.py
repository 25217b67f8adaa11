"""`arbiter serve`: runs a server until it gets a signal to stop."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Literal

import structlog
from cyclopts import Parameter
from google.protobuf.internal import api_implementation

from arbiter import __version__
from arbiter.bootstrap import ADMIN, RunningServer, serving, shown_store
from arbiter.cli import logs
from arbiter.cli.counts import counted
from arbiter.cli.terminal import say
from arbiter.config import Settings, load
from arbiter.runtime.loop import run_process

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""What a client on this machine calls a server that listens on all addresses."""


def serve(
    *,
    listen: str | None = None,
    web: str | None = None,
    web_url: str | None = None,
    web_proxy: list[str] | None = None,
    web_origin: list[str] | None = None,
    bot: list[str] | None = None,
    metrics: str | None = None,
    store: str | None = None,
    keys: Path | None = None,
    config: Path | None = None,
    registration: Literal["open", "invitation", "closed"] | None = None,
    public: Annotated[bool, Parameter(negative=())] = False,
    insecure: Annotated[bool, Parameter(negative=())] = False,
    tls_certificate: Path | None = None,
    tls_key: Path | None = None,
    tls_client_authority: Path | None = None,
    log_level: logs.Level = "info",
    save_token: Annotated[bool, Parameter(negative="--no-save-token")] = True,
    new: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Run an arbiter until Ctrl-C or SIGTERM. Matches stop with it, and continue when it is started again.

    The first start on a store creates the player `admin`, shows its token only this once, and saves it in the
    credentials file, so that `arbiter match create` works in the next terminal. Settings that are not given here come
    from the environment (ARBITER_LISTEN, ARBITER_STORE, …), then from the configuration file.

    :param listen: The address to listen on, as HOST:PORT. [default: 127.0.0.1:7400]
    :param web: Serve a page for browsers on this address too, as HOST:PORT; reading then needs no token, unless the
        configuration says `public = false`.
    :param web_url: The address by which people reach the page, as https://arbiter.example.org, where a proxy is before
        it. Cookies are then for that address alone, and forms of other addresses are refused.
    :param web_proxy: The address or network of a proxy whose X-Forwarded-For is believed. May be given several times.
    :param web_origin: Another site, as https://example.org, whose pages may make calls here by Connect; `*` for all.
        May be given several times.
    :param bot: Let a bot that comes with the arbiter play here, for whoever challenges it: random, greedy, … May be
        given several times.
    :param metrics: Show metrics for Prometheus on this address, as HOST:PORT. Whoever reaches it may read them.
    :param store: The database, as sqlite:///FILE or postgresql://USER@HOST/DATABASE. [default: sqlite:///arbiter.db]
    :param keys: The file of the signing keys. [default: beside an SQLite file; else DATABASE.keys in this folder]
    :param config: A configuration file (TOML).
    :param registration: Who may register: everybody (open), players with an invitation, or nobody (closed). [default:
    open]
    :param public: Let everybody read without a token: matches, events, players, tournaments, ratings.
    :param insecure: Listen beyond this machine without TLS: tokens are sent unencrypted.
    :param tls_certificate: The server's certificate chain (PEM).
    :param tls_key: The key of the server's certificate (PEM).
    :param tls_client_authority: Require client certificates signed by this authority (PEM).
    :param log_level: How much to log, on standard error.
    :param save_token: Save the token of the first start in the credentials file.
    :param new: Accept a store that is empty, or that holds less than the arbiter has stored with these keys before. Use
        it for one start after a store was lost, or was replaced by an older copy.
    """
    settings = load(
        config,
        listen=listen,
        web=web,
        metrics=metrics,
        web_url=web_url,
        web_proxies=web_proxy,
        web_origins=web_origin,
        store=store,
        keys=keys,
        registration=registration,
        public=public or None,
        insecure=insecure or None,
        tls_certificate=tls_certificate,
        tls_key=tls_key,
        tls_client_authority=tls_client_authority,
    )
    bots = tuple(dict.fromkeys(bot or ()))
    _check_bots(bots)
    logs.configure(log_level)
    _check_protobuf()
    run_process(_until_signal(settings, save_token, new, bots))


async def _until_signal(settings: Settings, save_token: bool, new: bool, bots: tuple[str, ...]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        stopped.set()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once: durable data is safe

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    async with serving(settings, new=new) as running:
        _announce(settings, running, save_token)
        async with _with_bots(settings, running, bots):
            await stopped.wait()
        say("Stopping: all clocks are stopped, and every event is stored.")
    say("Stopped.")


def _check_bots(names: tuple[str, ...]) -> None:
    if names:
        from arbiter.cli import bundled_bot  # as below: a server without bots need not wait for the client's imports

        for name in names:
            bundled_bot.check(name)


@asynccontextmanager
async def _with_bots(settings: Settings, running: RunningServer, names: tuple[str, ...]) -> AsyncIterator[None]:
    if not names:
        yield
        return
    from arbiter.cli import serve_bots

    address = client_address(settings.listen, running.port)
    async with serve_bots.playing(names, running, address, bool(settings.tls_certificate)):
        yield


def _announce(settings: Settings, running: RunningServer, save_token: bool) -> None:
    address = client_address(settings.listen, running.port)
    host = settings.listen.rpartition(":")[0]
    going = counted(running.matches, "unfinished match continues", "unfinished matches continue")
    matches = f"{going}." if running.matches else "There are no unfinished matches."
    record = shown_store(settings.store)
    say(f"Arbiter {__version__} listens on {host}:{running.port}, and stores its matches in {record}. {matches}")
    if running.page:
        say(f"The page is at {shown_page(running.page)}")
    if running.metrics:
        say(f"The metrics are at {shown_page(running.metrics)}")
    if running.admin_token is not None:
        _show_token(running.admin_token, address, save_token)
    say(f"Next: `arbiter play hop-it --server {address}`, `arbiter watch --all --server {address}`. Ctrl-C stops.")


def _show_token(token: str, address: str, save: bool) -> None:
    say(f"First start: the token of {ADMIN}, shown only now: {token}")
    if not save:
        return
    # It takes a fifth of the time of all imports, and only the first start on a store saves a token.
    from arbiter_client import ClientError, credentials

    try:
        credentials.save(address, ADMIN, token)
    except ClientError as error:  # the token is on the screen, so the server can start anyway
        print(f"arbiter: {error}", file=sys.stderr)
    else:
        say(f"It is kept in {credentials.path()} for {address}: `arbiter match create` finds it there.")


def shown_page(page: str) -> str:
    """Return the address of a page as a browser on this machine reaches it."""
    scheme, _, rest = page.partition("://")
    host_port, _, path = rest.partition("/")
    host, colon, port = host_port.rpartition(":")
    return f"{scheme}://{EVERYWHERE.get(host, host)}{colon}{port}/{path}"


def client_address(listen: str, port: int) -> str:
    """Return the address by which clients on this machine reach a server that listens at an address and got a port."""
    host = listen.rpartition(":")[0]
    return f"{EVERYWHERE.get(host, host)}:{port}"


def _check_protobuf() -> None:
    if api_implementation.Type() != "upb":
        structlog.get_logger("arbiter").warning(
            "protobuf does not run on upb, so messages take many times as long: install its binary wheel",
            implementation=api_implementation.Type(),
        )
