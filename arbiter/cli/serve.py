"""`arbiter serve`: runs a server, or several processes of one, until it gets a signal to stop."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from arbiter.cli import logs
from arbiter.cli.announcing import announce
from arbiter.cli.terminal import say
from arbiter.config import load

STOPPING = "Stopping: all clocks are stopped, and every event is stored."


def _option(text: str, **options: Any) -> Parameter:
    return Parameter(help=text, **options)


@Parameter(name="*")
@dataclass(frozen=True)
class ServerSettings:
    """The settings of `arbiter.config.Settings` that have an option. None: the option is not given."""

    listen: Annotated[str | None, _option("The address to listen on, as HOST:PORT. [default: 127.0.0.1:7400]")] = None
    listen_proxies: Annotated[
        list[str] | None,
        _option(
            "The address or network of a proxy for gRPC whose X-Forwarded-For is believed. May be given several times.",
            name="--listen-proxy",
        ),
    ] = None
    web: Annotated[
        str | None,
        _option(
            "Serve a page for browsers on this address too, as HOST:PORT; reading then needs no token, unless the "
            "configuration says `public = false`."
        ),
    ] = None
    web_url: Annotated[
        str | None,
        _option(
            "The address by which people reach the page, as https://arbiter.example.org, where a proxy is before it. "
            "Cookies are then for that address alone, and forms of other addresses are refused."
        ),
    ] = None
    web_proxies: Annotated[
        list[str] | None,
        _option(
            "The address or network of a proxy of the page whose X-Forwarded-For is believed. May be given several "
            "times.",
            name="--web-proxy",
        ),
    ] = None
    web_origins: Annotated[
        list[str] | None,
        _option(
            "Another site, as https://example.org, whose pages may make calls here by Connect; `*` for all. May be "
            "given several times.",
            name="--web-origin",
        ),
    ] = None
    metrics: Annotated[
        str | None,
        _option(
            "Show metrics for Prometheus on this address, as HOST:PORT. Whoever reaches it may read them. Of several "
            "processes the next one takes the next port."
        ),
    ] = None
    store: Annotated[
        str | None,
        _option("The database, as sqlite:///FILE or postgresql://USER@HOST/DATABASE. [default: sqlite:///arbiter.db]"),
    ] = None
    processes: Annotated[
        int | None,
        _option(
            "Run so many server processes on this machine. They share the address, and a database of PostgreSQL: "
            "`--store`, or one that is started with them. [default: 1]"
        ),
    ] = None
    postgres: Annotated[
        Path | None,
        _option(
            "Start a PostgreSQL with the servers, in this folder, instead of `--store`. [default, with several "
            "processes and no store: arbiter.postgres]"
        ),
    ] = None
    bus: Annotated[
        str | None,
        _option(
            "The NATS by which servers that share a PostgreSQL hear of news early, as nats://HOST:PORT or "
            "tls://HOST:PORT, several with commas between."
        ),
    ] = None
    keys: Annotated[
        Path | None,
        _option("The file of the signing keys. [default: beside an SQLite file; else DATABASE.keys in this folder]"),
    ] = None
    registration: Annotated[
        Literal["open", "invitation", "closed"] | None,
        _option("Who may register: everybody (open), players with an invitation, or nobody (closed). [default: open]"),
    ] = None
    public: Annotated[
        bool | None,
        _option("Let everybody read without a token: matches, events, players, tournaments, ratings.", negative=()),
    ] = None
    insecure: Annotated[
        bool | None, _option("Listen beyond this machine without TLS: tokens are sent unencrypted.", negative=())
    ] = None
    tls_certificate: Annotated[Path | None, _option("The server's certificate chain (PEM).")] = None
    tls_key: Annotated[Path | None, _option("The key of the server's certificate (PEM).")] = None
    tls_client_authority: Annotated[
        Path | None, _option("Require client certificates signed by this authority (PEM).")
    ] = None


def serve(
    *,
    given: ServerSettings | None = None,
    bot: list[str] | None = None,
    config: Path | None = None,
    log_level: logs.Level = "info",
    save_token: Annotated[bool, Parameter(negative="--no-save-token")] = True,
    new: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Run an arbiter until Ctrl-C or SIGTERM. Matches stop with it, and continue when it is started again.

    New files of its TLS certificate are taken within a minute, and at once after SIGHUP, which never ends it.

    The first start on a store creates the player `admin`, shows its token only this once, and saves it in the
    credentials file, so that `arbiter match create` works in the next terminal. Settings that are not given here come
    from the environment (ARBITER_LISTEN, ARBITER_STORE, …), then from the configuration file.

    :param bot: Let a bot that comes with the arbiter play here, for whoever challenges it: random, greedy, … May be
        given several times.
    :param config: A configuration file (TOML).
    :param log_level: How much to log, on standard error.
    :param save_token: Save the token of the first start in the credentials file.
    :param new: Accept a store that is empty, or that holds less than the arbiter has stored with these keys before. Use
        it for one start after a store was lost, or was replaced by an older copy.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it serves
    settings = load(config, **vars(given or ServerSettings()))
    bots = tuple(dict.fromkeys(bot or ()))
    _check_bots(bots)
    logs.configure(log_level)
    # Imported here, because the parent of several processes needs nothing of what a server imports.
    if settings.supervised:
        from arbiter.cli.serve_processes import serve_processes

        return serve_processes(settings, save_token, new, bots, log_level)
    from arbiter.cli.serve_here import serve_until_signal
    from arbiter.runtime.loop import run_process

    serves = partial(announce, listen=settings.listen, save_token=save_token)
    run_process(serve_until_signal(settings, new, bots, serves, partial(say, STOPPING)))
    say("Stopped.")
    return 0


def _check_bots(names: tuple[str, ...]) -> None:
    if names:
        from arbiter.cli import bundled_bot  # a server without bots need not wait for the client's imports

        for name in names:
            bundled_bot.check(name)
