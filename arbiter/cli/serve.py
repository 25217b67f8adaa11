"""`arbiter serve`: runs a server, or several processes of one, until it gets a signal to stop."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from arbiter.cli import logs
from arbiter.cli.announcing import announce
from arbiter.cli.argument_types import Flag
from arbiter.cli.server_options import setting
from arbiter.cli.terminal import say
from arbiter.config import load
from arbiter.errors import OperatorError

STOPPING = "Stopping: all clocks are stopped, and every event is stored."


@Parameter(name="*")
@dataclass(frozen=True)
class ServerSettings:
    """The settings of `arbiter.config.Settings` that have an option. None: the option is not given."""

    listen: Annotated[str | None, Parameter(**setting("listen"))] = None
    listen_proxies: Annotated[list[str] | None, Parameter(**setting("listen_proxies", name="--listen-proxy"))] = None
    web: Annotated[str | None, Parameter(**setting("web"))] = None
    web_process: Annotated[bool | None, Parameter(**setting("web_process", negative=()))] = None
    web_url: Annotated[str | None, Parameter(**setting("web_url"))] = None
    web_proxies: Annotated[list[str] | None, Parameter(**setting("web_proxies", name="--web-proxy"))] = None
    web_origins: Annotated[list[str] | None, Parameter(**setting("web_origins", name="--web-origin"))] = None
    metrics: Annotated[str | None, Parameter(**setting("metrics"))] = None
    store: Annotated[str | None, Parameter(**setting("store"))] = None
    processes: Annotated[int | None, Parameter(**setting("processes"))] = None
    postgres: Annotated[Path | None, Parameter(**setting("postgres"))] = None
    bus: Annotated[str | None, Parameter(**setting("bus"))] = None
    keys: Annotated[Path | None, Parameter(**setting("keys"))] = None
    registration: Annotated[Literal["open", "invitation", "closed"] | None, Parameter(**setting("registration"))] = None
    public: Annotated[bool | None, Parameter(**setting("public", negative=()))] = None
    insecure: Annotated[bool | None, Parameter(**setting("insecure", negative=()))] = None
    tls_certificate: Annotated[Path | None, Parameter(**setting("tls_certificate"))] = None
    tls_key: Annotated[Path | None, Parameter(**setting("tls_key"))] = None
    tls_client_authority: Annotated[Path | None, Parameter(**setting("tls_client_authority"))] = None


def serve(
    *,
    given: ServerSettings | None = None,
    bot: list[str] | None = None,
    config: Path | None = None,
    log_level: logs.Level = "info",
    save_token: Annotated[bool, Parameter(negative="--no-save-token")] = True,
    new: Flag = False,
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
    if bots and settings.has_page_alone:
        raise OperatorError("a server without `listen` has no players: give --bot to one that has some")
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
