"""`arbiter web-hook …`: have the events of a tournament delivered to an address by HTTP."""

from __future__ import annotations

import arbiter_client as arb
from cyclopts import App

from arbiter.cli import short_ids
from arbiter.cli.connection import Connection, connected
from arbiter.cli.short_ids import TournamentId
from arbiter.cli.table_options import AnyTableOptions
from arbiter.cli.terminal import instant, on_terminal, say, table, write_line

app = App(name="web-hook", help="Have the events of a tournament delivered to an address by HTTP.")


@app.command
def create(tournament_id: TournamentId, url: str, /, *, connection: Connection | None = None) -> None:
    """Have the events of a tournament delivered to an address from now on.

    Print the secret by which the receiver checks the signatures: it is shown only now. deploy/WEBHOOKS.md describes the
    deliveries.

    :param url: The address, such as https://example.org/hook.
    """
    with connected(connection) as client:
        made = client.create_web_hook(short_ids.tournament_id(client, tournament_id), url)
    if on_terminal():
        say(f"Made web hook {made.web_hook.web_hook_id}. Its secret, shown only now:", "dim")
    write_line(made.secret)


@app.command(name="list")
def list_(
    tournament_id: TournamentId, /, *, output: AnyTableOptions | None = None, connection: Connection | None = None
) -> None:
    """List the web hooks of a tournament, and how far their deliveries have come."""
    with connected(connection) as client:
        found = client.list_web_hooks(short_ids.tournament_id(client, tournament_id))
    rows = [(each.web_hook_id, each.url, each.delivered_revision, state(each), each.error) for each in found]
    table(("web hook", "address", "revision", "state", "last error"), rows, "This tournament has no web hooks.", output)


@app.command
def retry(tournament_id: TournamentId, web_hook_id: str, /, *, connection: Connection | None = None) -> None:
    """Make the next attempt of a web hook now, also if it has stopped.

    :param web_hook_id: The web hook, as `list` shows it.
    """
    with connected(connection) as client:
        found = client.retry_web_hook(short_ids.tournament_id(client, tournament_id), web_hook_id)
    say(f"The next attempt of {found.web_hook_id} is made now.")


@app.command
def delete(tournament_id: TournamentId, web_hook_id: str, /, *, connection: Connection | None = None) -> None:
    """Remove a web hook. What was not delivered yet is dropped.

    :param web_hook_id: The web hook, as `list` shows it.
    """
    with connected(connection) as client:
        found = client.delete_web_hook(short_ids.tournament_id(client, tournament_id), web_hook_id)
    say(f"Removed {found.web_hook_id}.")


def state(hook: arb.WebHook) -> str:
    """Return in a few words how a web hook does."""
    if hook.stopped:
        return f"stopped, tried {hook.tries} times"
    if hook.next_try_ms:
        return f"tried {hook.tries} times, again {instant(hook.next_try_ms)}"
    return f"delivered {instant(hook.delivered_ms)}" if hook.delivered_ms else "nothing delivered yet"
