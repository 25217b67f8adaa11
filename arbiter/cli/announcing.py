"""What `arbiter serve` says once it serves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter import __version__
from arbiter.cli.terminal import counted, say, tell

OPERATOR: Final = "admin"  #: the player that the first start of a server creates; its token is preferred
EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""What a client on this machine calls a server that listens on all addresses."""


class Serving(NamedTuple):
    """What is known of a server that accepts calls. store: where its matches are, as shown. matches: that go on.

    without_rules: further matches, which wait for the packages of their games.
    port: 0 if it has the page alone. page: its address, '' if there is none. metrics: their addresses. admin: a player
    whose first token is shown; the token is '' except at the first start.
    """

    port: int
    store: str
    matches: int
    without_rules: int
    page: str
    metrics: Sequence[str]
    admin: str
    token: str


def announce(serving: Serving, listen: str, save_token: bool, processes: int = 1, page_apart: bool = False) -> None:
    """Say where a server listens, and show the token of its first start. page_apart: one process has the page alone."""
    if not serving.port:
        _announce_page(serving)
        return
    address = client_address(listen, serving.port)
    host = listen.rpartition(":")[0]
    going = counted(serving.matches, "unfinished match continues", "unfinished matches continue")
    waiting = counted(
        serving.without_rules, "waits for the package of its game", "wait for the packages of their games"
    )
    matches = f"{going}." if serving.matches or serving.without_rules else "There are no unfinished matches."
    matches += f" {waiting}, which the log names." if serving.without_rules else ""
    at = f"{host}:{serving.port}" + (f" with {processes} processes" if processes > 1 else "")
    at += ", one of them for the page alone" if page_apart else ""
    say(f"Arbiter {__version__} listens on {at}, and stores its matches in {serving.store}. {matches}")
    if serving.page:
        say(f"The page is at {shown_page(serving.page)}")
    if serving.metrics:
        say(f"The metrics are at {', '.join(shown_page(each) for each in serving.metrics)}")
    if serving.token:
        _show_token(serving.admin, serving.token, address, save_token)
    say(f"Next: `arbiter play hop-it --server {address}`, `arbiter watch --all --server {address}`. Ctrl-C stops.")


def _announce_page(serving: Serving) -> None:
    say(f"Arbiter {__version__} has the page alone, at {shown_page(serving.page)}, of the matches in {serving.store}.")
    if serving.metrics:
        say(f"The metrics are at {', '.join(shown_page(each) for each in serving.metrics)}")
    say("Players connect to the servers with which it shares the store. Ctrl-C stops.")


def _show_token(admin: str, token: str, address: str, save: bool) -> None:
    say(f"First start: the token of {admin}, shown only now: {token}")
    if not save:
        return
    # It takes a fifth of the time of all imports, and only the first start on a store saves a token.
    from arbiter_client import ClientError, credentials

    try:
        credentials.save(address, admin, token)
    except ClientError as error:  # the token is on the screen, so the server can start anyway
        tell(f"arbiter: {error}")
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
