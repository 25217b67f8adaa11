"""The command line of a bot: one for all, so that a bot's own file holds nothing but the bot."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Sequence

from arbiter_client.bot import Bot
from arbiter_client.channel import DEFAULT_SERVER, Tls
from arbiter_client.errors import ClientError
from arbiter_client.playing import run


def main(make_bot: Callable[[int | None], Bot], description: str, argv: Sequence[str] | None = None) -> None:
    """Play the bot that `make_bot` returns for a seed (None: play differently every time), as the arguments say.

    Returns when the bot is done or interrupted; a mistake gets one line on standard error and exit code 1.
    """
    parser = _parser(description.partition("\n")[0])
    arguments = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if arguments.verbose else logging.WARNING, format="%(asctime)s %(levelname)s %(message)s"
    )
    bot = make_bot(arguments.seed)
    if arguments.games:
        bot.games = [game.strip() for game in _split(arguments.games)]
    if arguments.most_matches is not None:
        bot.most_matches = arguments.most_matches
    paths = (arguments.root_certificate, arguments.client_certificate, arguments.client_key)
    try:
        run(
            bot,
            arguments.server,
            name=arguments.name,
            token=arguments.token,
            tls=Tls(*paths) if arguments.tls or any(paths) else None,
            matches=arguments.matches,
            invitation=arguments.invitation,
        )
    except ClientError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


def _parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--server", metavar="HOST:PORT", help=f"the arbiter (default: $ARBITER_SERVER or {DEFAULT_SERVER})")
    add("--name", default="", help="the player (default: the bot's name); registered if there is no token for it")
    add("--token", help="the player's token (default: $ARBITER_TOKEN or the credentials file)")
    add("--invitation", default="", help="the invitation to register with, where one is needed")
    add("--games", default="", help="games or variants to play, separated by commas (default: all)")
    add("--most-matches", type=int, metavar="N", help="how many matches to play at once (default: no limit)")
    add("--matches", type=int, metavar="N", help="stop after so many matches have ended")
    add("--seed", type=int, metavar="N", help="make the same choices in every run")
    add("--tls", action="store_true", help="speak TLS, and trust the system's certificates")
    add("--root-certificate", metavar="FILE", help="speak TLS, and trust this certificate (PEM)")
    add("--client-certificate", metavar="FILE", help="the bot's own certificate (PEM), with --client-key")
    add("--client-key", metavar="FILE", help="the key of the bot's own certificate (PEM)")
    add("--verbose", action="store_true", help="say more on standard error")
    return parser


def _split(games: str) -> list[str]:
    """Return the items of a list whose commas may also stand between parentheses, as in `pods(size=5,x=1),hop-it`."""
    items, depth = [""], 0
    for letter in games:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            items.append("")
        else:
            items[-1] += letter
    return [item for item in items if item.strip()]
