"""`arbiter play`: a person in the terminal plays against a bot, or against another player on a server."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import logging
import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, Literal, NamedTuple

import arbiter_client as arb
from arbiter_client import credentials
from arbiter_client.addresses import server_addresses

from arbiter.cli import bundled_bot, logs
from arbiter.cli.argument_types import GameName
from arbiter.cli.connection import Connection
from arbiter.cli.failure import Failure
from arbiter.cli.person import Person, TakeBack
from arbiter.cli.person_input import typing
from arbiter.cli.terminal import say
from arbiter.config import load_private
from arbiter.games import registry
from arbiter.runtime.loopback import free_port

ONLINE_WAIT_S: Final = 60.0  #: timeout for our own stream, or that of a bot, to open; a busy machine is slow
LOOK_EVERY_S: Final = 0.1
LONGEST_NAME: Final = 40  #: characters allowed in a player's name
PERSON: Final = "you"  #: the person's name on a private arbiter


class Login(NamedTuple):
    """A server, the token of the person who plays on it, and its security."""

    server: str
    name: str
    token: str
    tls: arb.Tls | None


def play(
    game: GameName,
    /,
    *,
    against: str = "",
    opponent: str = "",
    seat: Literal[1, 2] = 1,
    time: str = "",
    connection: Connection | None = None,
) -> None:
    """Play in the terminal: against a bot on a private arbiter, or on a server.

    Without --server (or another option of the connection, or $ARBITER_SERVER), everything runs on this machine and
    nothing is kept. With it, you play as --as NAME, or under your login name, which is registered if it is new. Type
    `help` at your turn. Moves may also come from a file or a pipe, one per line; at the end of the input, you resign.

    :param against: A bot that comes with the arbiter: random, greedy, … [default: greedy]
    :param opponent: With --server: challenge this player instead of a bot.
    :param seat: Your seat; 1 moves first.
    :param time: The time control, such as `10m+5s`. [default: none]
    """
    if opponent and (against or connection is None):
        raise Failure("--opponent needs a --server, and does not go with --against")
    bot = "" if opponent else against or "greedy"
    if bot:
        bundled_bot.check(bot)
    if connection is None:
        registry.game(game)  # report a typing mistake before a server starts
    logs.configure("error")
    logging.getLogger("arbiter_client").setLevel(logging.ERROR)  # the person sees refusals
    terms = arb.Terms(game, time or "none", seat=seat)
    try:
        asyncio.run(_play(terms, bot, opponent, connection))
    except arb.ClientError as error:
        raise Failure(str(error)) from None


async def _play(terms: arb.Terms, bot: str, opponent: str, connection: Connection | None) -> None:
    async with AsyncExitStack() as stack:
        bot_token, take_back = "", None
        if connection is None:
            place, bot_token, take_back = await stack.enter_async_context(_own_arbiter(bot))
            opponent = bot
        else:
            place = await _on_server(connection)
            if bot:
                opponent, bot_token = await _bot_on_server(place, bot)
        client = await stack.enter_async_context(arb.Client(place.server, token=place.token, tls=place.tls))
        person = Person(typing(), take_back)
        try:
            async with asyncio.TaskGroup() as group:
                # thinkers=1: a person looks at one board at a time, even if other matches of theirs are under way.
                stream = arb.play(person, place.server, token=place.token, tls=place.tls, thinkers=1)
                minded = [group.create_task(stream)]
                if bot:
                    process = await stack.enter_async_context(
                        bundled_bot.playing(bot, place.server, bot_token, place.tls)
                    )
                    minded.append(group.create_task(_fail_with_bot(process)))
                    await _wait_for_stream(client, opponent)
                await _wait_for_stream(client, place.name)
                await _one_match(client, person, opponent, terms, waits=not bot)
                for task in minded:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None


async def _one_match(client: arb.Client, person: Person, opponent: str, terms: arb.Terms, waits: bool) -> None:
    """Challenge the opponent and return when the match is over. Raises Failure if the challenge is declined."""
    challenge = await client.create_challenge(opponent, terms)
    person.wait_for(challenge.challenge_id)
    if waits:
        say(f"Waiting for {opponent} to accept. Ctrl-C withdraws.")
    try:
        await person.over.wait()
    except asyncio.CancelledError:
        with contextlib.suppress(arb.ClientError):  # accepted meanwhile: the server will end the match
            await client.decline_challenge(challenge.challenge_id)
        raise
    if person.declined:
        raise Failure(f"{opponent} declines: {person.declined}")


async def _fail_with_bot(process: bundled_bot.BundledBot) -> None:
    """Raise Failure when the bot's process ends, because nobody would answer the person's moves."""
    raise Failure(await process.wait_for_exit())


async def _wait_for_stream(client: arb.Client, name: str) -> None:
    """Wait until a player has a live stream. Raises Failure after a timeout."""
    try:
        async with asyncio.timeout(ONLINE_WAIT_S):
            while True:
                if (await client.get_player(name)).online:
                    return
                await asyncio.sleep(LOOK_EVERY_S)
    except TimeoutError:
        raise Failure(f"{name} did not connect to {client.server} within {ONLINE_WAIT_S:g} s") from None


@asynccontextmanager
async def _own_arbiter(bot: str) -> AsyncIterator[tuple[Login, str, TakeBack]]:
    """Run an arbiter on a temporary store; yield how the person connects to it, the bot's token, and how to undo."""
    from arbiter.bootstrap.running_server import serving  # with another server, there is no wait for a server's imports

    with tempfile.TemporaryDirectory(prefix="arbiter-") as folder:
        settings = load_private(listen=f"127.0.0.1:{free_port()}", store=f"sqlite:///{folder}/arbiter.db")
        async with serving(settings) as running:
            server = f"127.0.0.1:{running.port}"
            async with arb.Client(server, token=running.admin_token, tls=arb.NO_TLS) as admin:
                person = await admin.create_token(PERSON)
                other = await admin.create_token(bot)

                async def take_back(turn: arb.Turn, moves: tuple[str, ...], begun: Callable[[str], None]) -> None:
                    """Begin the match of a turn again after some moves, and end the one that goes on."""
                    players = (PERSON, bot) if turn.seat == 1 else (bot, PERSON)
                    again = await admin.create_match(turn.game, players, time_control="none", opening=moves)
                    begun(again.match_id)
                    await admin.abort_match(turn.match.match_id, "a move was taken back")

                yield Login(server, PERSON, person.secret, arb.NO_TLS), other.secret, take_back


async def _on_server(connection: Connection) -> Login:
    """Return how the person connects to a server: with the given token, or under a name that is registered if new."""
    server, tls = connection.server, connection.security()
    token = connection.token or ("" if connection.as_ else os.environ.get("ARBITER_TOKEN", ""))
    if not token:
        name = connection.as_ or _login_name()
        token = credentials.find(server_addresses(server), name) or await _registered(server, tls, name)
    async with arb.Client(server, token=token, tls=tls) as client:
        return Login(server, (await client.myself()).player.name, token, tls)


async def _bot_on_server(place: Login, bot: str) -> tuple[str, str]:
    """Return name and token of the player under which the person's bot plays; register it the first time."""
    if place.tls is not None:
        raise Failure("bundled bots can't use TLS: choose an --opponent who is connected to the server already")
    name = f"{place.name[: LONGEST_NAME - len(bot) - 1].rstrip('_.-')}-{bot}"
    return name, credentials.find(server_addresses(place.server), name) or await _registered(place.server, None, name)


async def _registered(server: str, tls: arb.Tls | None, name: str) -> str:
    async with arb.Client(server, token="", tls=tls) as client:
        registered = await client.register_player(name)
    credentials.save(server_addresses(server), name, registered.token)
    return registered.token


def _login_name() -> str:
    """Return the person's login name as a player's name."""
    try:
        login = getpass.getuser()
    except (KeyError, OSError):
        login = ""
    allowed = re.sub(r"[^a-z0-9_.-]", "", login.lower())
    return re.sub(r"([_.-])[_.-]+", r"\1", allowed).strip("_.-")[:LONGEST_NAME].rstrip("_.-") or "person"
