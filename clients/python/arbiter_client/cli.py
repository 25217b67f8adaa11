"""The command line of a bot, the same for all, so that the file of a bot contains only the bot."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import NoReturn

from arbiter_client import log
from arbiter_client.addresses import DEFAULT_SERVER
from arbiter_client.blocking import BlockingClient
from arbiter_client.bot import Bot
from arbiter_client.channel import Tls, security
from arbiter_client.errors import ClientError
from arbiter_client.playing import run
from arbiter_client.values.player import Terms

_SEEK = "GAME [TIME] [rated] [seat=1|2]"


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line on standard error, with exit code 1."""

    def error(self, message: str) -> NoReturn:
        """End the program with a message."""
        self.exit(1, f"{self.prog}: {message} (--help lists the options)\n")


def main(
    bot: Bot | Callable[[int | None], Bot], description: str | None = None, argv: Sequence[str] | None = None
) -> None:
    """Play a bot by the arguments and the environment; `--help` shows the description, by default its class's.

    A bot that uses random numbers is given as a function from a seed to a bot (None: a different one every time).
    Returns when the bot is done or interrupted. A mistake is reported in one line on standard error, with exit code 1.
    """
    parser = connection_parser(description or bot.__doc__ or "")
    _add_bot_options(parser, seeded=not isinstance(bot, Bot))
    arguments = parser.parse_args(argv)
    if not isinstance(bot, Bot):
        bot = bot(arguments.seed)
    _set_up(bot, arguments)
    try:
        run(
            bot,
            arguments.server,
            name=arguments.name,
            token=arguments.token,
            tls=_tls(arguments),
            matches=arguments.matches,
            invitation=arguments.invitation,
        )
    except ClientError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


def connection_parser(description: str) -> Parser:
    """Return a parser with the options for the server and the player.

    Its description is the first line of `description`.
    """
    parser = Parser(description=description.partition("\n")[0])
    add = parser.add_argument
    place = f"the arbiter; several of its addresses with commas (default: $ARBITER_SERVER or {DEFAULT_SERVER})"
    add("--server", metavar="HOST:PORT", help=place)
    add("--name", default="", help="the player (default: $ARBITER_NAME or the bot's name)")
    add("--token", help="the player's token (default: $ARBITER_TOKEN or the credentials file)")
    add("--tls", action="store_true", help="speak TLS, and trust the system's certificates")
    add(
        "--root-certificate", metavar="FILE", help="speak TLS, and trust this (PEM; default: $ARBITER_ROOT_CERTIFICATE)"
    )
    add("--client-certificate", metavar="FILE", help="one's own (PEM; default: $ARBITER_CLIENT_CERTIFICATE)")
    add("--client-key", metavar="FILE", help="its key (PEM; default: $ARBITER_CLIENT_KEY)")
    add("--verbose", action="store_true", help="say more on standard error")
    add("--quiet", action="store_true", help="say only what is wrong on standard error")
    return parser


def connected(arguments: argparse.Namespace) -> BlockingClient:
    """Return a client for the arguments of a `connection_parser`. Raises ClientError."""
    _log(arguments)
    name = arguments.name or os.environ.get("ARBITER_NAME", "")
    return BlockingClient(arguments.server, token=arguments.token, name=name, tls=_tls(arguments))


def seek_terms(text: str) -> Terms:
    """Return the terms of a seek, written as GAME [TIME] [rated] [seat=1|2]. Raises ValueError."""
    game, *words = text.split() or [""]
    rated, seat, time_control = False, 0, ""
    for word in words:
        if word == "rated" and not rated:
            rated = True
        elif word in ("seat=1", "seat=2") and not seat:
            seat = int(word[-1])
        elif word != "rated" and "=" not in word and not time_control:
            time_control = word
        else:
            raise ValueError(f"{word!r} does not belong into a seek: expected {_SEEK}")
    if not game:
        raise ValueError(f"a seek is for a game: expected {_SEEK}")
    return Terms(game, time_control, rated, seat)


def _add_bot_options(parser: Parser, seeded: bool) -> None:
    add = parser.add_argument
    add("--invitation", default="", help="the invitation to register with, where one is needed")
    add("--games", default="", help="games or variants to play, separated by commas (default: the bot's own)")
    add("--most-matches", type=int, metavar="N", help="how many matches to play at once (default: the bot's own)")
    add("--matches", type=int, metavar="N", help="stop after N matches have ended")
    add("--seek", action="append", default=[], type=_checked_terms, metavar=f'"{_SEEK}"', help="keep a seek open")
    add("--accept-seeks", action="store_true", help="accept open seeks of others that suit")
    add("--enter-tournaments", action="store_true", help="enter tournaments that suit")
    if seeded:
        add("--seed", type=int, metavar="N", help="make the same choices in every run")


def _checked_terms(text: str) -> Terms:
    try:
        return seek_terms(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _set_up(bot: Bot, arguments: argparse.Namespace) -> None:
    """Change the attributes of a bot as the arguments say; without an argument, the bot's own stay."""
    _log(arguments)
    if arguments.games:
        bot.games = [game.strip() for game in _split(arguments.games)]
    if arguments.most_matches is not None:
        bot.most_matches = arguments.most_matches
    if arguments.seek:
        bot.seeks = arguments.seek
    bot.accept_seeks = bot.accept_seeks or arguments.accept_seeks
    bot.enter_tournaments = bot.enter_tournaments or arguments.enter_tournaments


def _log(arguments: argparse.Namespace) -> None:
    log.show(arguments.quiet, arguments.verbose)


def _tls(arguments: argparse.Namespace) -> Tls | None:
    """Return the transport security of the arguments; files that they do not name come from the environment."""
    found = security(None)
    root = arguments.root_certificate or found.root_certificate
    certificate = arguments.client_certificate or found.client_certificate
    key = arguments.client_key or found.client_key
    return Tls(root, certificate, key) if arguments.tls or root or certificate or key else None


def _split(games: str) -> list[str]:
    """Return the items of a list; commas in parentheses do not separate, as in `pods(size=5,x=1),hop-it`."""
    items, depth = [""], 0
    for letter in games:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            items.append("")
        else:
            items[-1] += letter
    return [item for item in items if item.strip()]
