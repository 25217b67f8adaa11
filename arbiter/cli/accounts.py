"""`arbiter token …` and `arbiter player …`: the accounts of a server and their permissions."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from arbiter_client import ClientError, Player, Scope, credentials
from arbiter_client.addresses import server_addresses
from cyclopts import App, Parameter

from arbiter.cli.argument_types import Flag, OwnPlayer
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.table_options import AnyTableOptions
from arbiter.cli.terminal import counted, instant, say, table, write_line

ScopeName = Literal["play", "organise", "observe", "admin"]

token_app = App(name="token", help="Make, list and revoke tokens.")
player_app = App(name="player", help="Register players, invite them, suspend them.")


@token_app.command
def create(
    name: str,
    /,
    *,
    scope: Annotated[list[ScopeName] | None, Parameter(negative=())] = None,
    note: str = "",
    save: Flag = False,
    store: str | None = None,
    connection: Connection | None = None,
) -> None:
    """Create a token, and the player if it does not exist; print the secret, which is shown only now.

    :param name: The player.
    :param scope: What the token allows; may be given several times. [default: play and observe]
    :param note: What the token is for.
    :param save: Also save the token in the credentials file, for this server.
    :param store: Write directly to this store (sqlite:///FILE, postgresql://USER@HOST/DATABASE), without a token and
        without a server.
    """
    scopes = scope or ["play", "observe"]
    if store is not None:
        from arbiter.bootstrap.operator_tokens import create_token  # only here a store is loaded

        secret = asyncio.run(create_token(store, name, scopes, note))
    else:
        with connected(connection) as client:
            secret = client.create_token(name, [Scope[item.upper()] for item in scopes], note).secret
    if save:
        _save_token((connection or Connection()).server, name, secret)
    write_line(secret)


@token_app.command(name="list")
def list_tokens(
    player: str = "", /, *, output: AnyTableOptions | None = None, connection: Connection | None = None
) -> None:
    """List tokens, without their secrets.

    :param player: The owner of the tokens. [default: the caller]
    """
    with connected(connection) as client:
        tokens = client.list_tokens(player)
    rows = (
        (
            token.token_id,
            token.player,
            " ".join(scope.name.lower() for scope in token.scopes),
            "revoked" if token.revoked else "valid",
            instant(token.created_ms),
            token.note,
        )
        for token in tokens
    )
    table(("token", "player", "scopes", "state", "made", "note"), rows, "There are no tokens.", output)


@token_app.command
def revoke(token_id: str, /, *, connection: Connection | None = None) -> None:
    """Revoke a token. This takes effect at once.

    :param token_id: The token's id, as `arbiter token list` shows it.
    """
    with connected(connection) as client:
        client.revoke_token(token_id)
    say(f"Revoked {token_id}.")


@player_app.command(name="list")
def list_players(*, output: AnyTableOptions | None = None, connection: Connection | None = None) -> None:
    """List the players, by name."""
    with connected(connection) as client:
        players = client.list_players()
    rows = ((player.current_name, _state(player), _bot(player), ", ".join(player.games)) for player in players)
    table(("player", "state", "bot", "games"), rows, "There are no players.", output)


@player_app.command
def show(name: str = "", /, *, connection: Connection | None = None) -> None:
    """Show a player.

    :param name: The player. [default: the caller]
    """
    with connected(connection) as client:
        if name:
            player, scopes = client.get_player(name), ""
        else:
            myself = client.myself()
            player, scopes = myself.player, ", ".join(scope.name.lower() for scope in myself.scopes)
    lines = (
        ("player", player.current_name),
        ("registered as", "" if player.current_name == player.name else player.name),
        ("state", _state(player)),
        ("about", player.about),
        ("bot", _bot(player)),
        ("games", ", ".join(player.games)),
        ("at once", counted(player.most_matches, "match", "matches") if player.most_matches else ""),
        ("since", instant(player.created_ms)),
        ("this token allows", scopes),
        *((f"no game in {each.tournament} ({each.tournament_id})", each.text) for each in player.unpaired),
    )
    for label, text in lines:
        if text:
            say(f"{label}: {text}")


@player_app.command
def rename(new_name: str, /, *, player: OwnPlayer = "", connection: Connection | None = None) -> None:
    """Show a player under a new name. All its names lead to it; signed records keep the one that it registered.

    :param new_name: The new name, by the rule for names of `arbiter player register`.
    """
    with connected(connection) as client:
        changed = client.change_player(player, new_name=new_name)
    say(f"{changed.name} is {changed.current_name} from now on.")


@player_app.command
def retire(*, back: Flag = False, player: OwnPlayer = "", connection: Connection | None = None) -> None:
    """Retire: the player leaves all tournaments and the leaderboards, and can't be entered or challenged.

    :param back: Come back instead.
    """
    with connected(connection) as client:
        changed = client.change_player(player, retired=not back)
    say(f"{changed.current_name} {'may play again' if back else 'has retired'}.")


@player_app.command
def hide(*, show_again: Flag = False, player: OwnPlayer = "", connection: Connection | None = None) -> None:
    """Hide a player from lists of players and from leaderboards. It plays on, and matches and tournaments show it.

    :param show_again: Show it again instead.
    """
    with connected(connection) as client:
        changed = client.change_player(player, hidden=not show_again)
    say(f"{changed.current_name} is {'listed' if show_again else 'hidden'}.")


@player_app.command
def delete(*, player: OwnPlayer = "", yes: Flag = False, connection: Connection | None = None) -> None:
    """Delete a player for good: all that the server knows of it beside the signed records of its games.

    :param yes: Do it. Without this option the command only says what would happen.
    """
    with connected(connection) as client:
        if not yes:
            found = client.delete_player(player, preview=True)
            raise Failure(
                f"this deletes {found.current_name} for good: its description, tokens and challenges. Its games stay, "
                f"under a neutral name; the signed records of these keep the name {found.name}. Add --yes to do it"
            )
        left = client.delete_player(player)
    say(f"Deleted. Its games are shown under {left.name}.")


@player_app.command
def suspend(name: str, /, *, connection: Connection | None = None) -> None:
    """Suspend a player: its streams end, its calls are refused, its matches go on by their clocks.

    Its tournaments go on without it, and leaderboards leave it out.
    """
    with connected(connection) as client:
        client.suspend_player(name)
    say(f"Suspended {name}.")


@player_app.command
def unsuspend(name: str, /, *, connection: Connection | None = None) -> None:
    """Allow a suspended player to connect and call again."""
    with connected(connection) as client:
        client.suspend_player(name, suspended=False)
    say(f"{name} may play again.")


@player_app.command
def invite(*, connection: Connection | None = None) -> None:
    """Create an invitation for one registration, and print it."""
    with connected(connection) as client:
        write_line(client.create_invitation())


@player_app.command
def register(
    name: str,
    /,
    *,
    about: str = "",
    invitation: str = "",
    save: Annotated[bool, Parameter(negative="--no-save")] = True,
    connection: Connection | None = None,
) -> None:
    """Register a player and print its first token, which is shown only now.

    The name stays in the signed records of its games for good, even if the player is renamed or deleted.

    :param name: The player's name: 1 to 40 of a-z and 0-9; between two of these may stand one '-', '_' or '.'.
    :param about: A description, in the player's own words.
    :param invitation: The invitation, if the server requires one.
    :param save: Save the token in the credentials file.
    """
    with connected(connection) as client:
        registered = client.register_player(name, about, invitation)
    if save:
        _save_token((connection or Connection()).server, name, registered.token)
    write_line(registered.token)


def _save_token(server: str, name: str, secret: str) -> None:
    try:
        credentials.save(server_addresses(server), name, secret)
    except ClientError as error:
        raise Failure(f"{error}; the token is {secret}") from None


def _state(player: Player) -> str:
    states = (("deleted", player.deleted), ("suspended", player.suspended), ("retired", player.retired))
    found = next((word for word, holds in states if holds), "")
    if found:
        return found
    return "online" if player.online else "away"


def _bot(player: Player) -> str:
    return " ".join(part for part in (player.bot_name, player.bot_version) if part)
