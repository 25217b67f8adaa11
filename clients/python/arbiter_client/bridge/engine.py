"""Play an engine of chess or Go: `python -m arbiter_client.bridge.engine --nodes 1 -- stockfish`."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import fields
from typing import Final

from arbiter_client import cli
from arbiter_client.bridge.bot import run
from arbiter_client.bridge.gtp import Gtp
from arbiter_client.bridge.language import Language
from arbiter_client.bridge.uci import Concessions, Search, Uci
from arbiter_client.errors import ClientError

GAMES: Final = "/usr/games:/usr/local/games"  #: where Debian puts engines; the PATH of a service often lacks it


def found(program: str) -> str | None:
    """Return the path of an engine, or None if there is none."""
    return shutil.which(program) or shutil.which(program, path=GAMES)


def option(text: str) -> tuple[str, str]:
    """Return the name and value in `NAME=VALUE`. Raises ValueError."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not text.isprintable():
        raise ValueError(f"{text!r} is no option: write NAME=VALUE, such as Hash=64")
    return name.strip(), value.strip()


def main(argv: Sequence[str] | None = None) -> None:
    """Play an engine by the arguments and the environment. A mistake is reported in one line, with exit code 1."""
    parser = cli.connection_parser(__doc__ or "")
    add = parser.add_argument
    add("--option", action="append", default=[], type=_checked, metavar="NAME=VALUE", help="an option of the engine")
    add("--nodes", type=int, default=0, metavar="N", help="search so many nodes a move")
    add("--depth", type=int, default=0, metavar="N", help="search so many plies deep")
    add("--movetime", type=int, default=0, metavar="MS", help="search for so many milliseconds")
    add("--resign-moves", type=int, default=0, metavar="N", help="resign after so many successive moves with a score …")
    add("--resign-score", type=int, default=0, metavar="CP", help="… of at most minus so many centipawns")
    add(
        "--draw-moves",
        type=int,
        default=0,
        metavar="N",
        help="agree to a draw after so many quiet moves with a score …",
    )
    add("--draw-score", type=int, default=0, metavar="CP", help="… within so many centipawns of 0 …")
    add("--draw-from", type=int, default=0, metavar="N", help="… from this move on")
    add("--gtp", action="store_true", help="the engine plays Go, and speaks GTP; without it, chess by UCI")
    add("engine", nargs="+", help="the engine, and its arguments")
    arguments = parser.parse_args(argv)
    program, *words = arguments.engine
    path = found(program)
    if path is None:
        parser.error(f"there is no engine {program}: give its path, and see that it may be executed")
    search = Search(arguments.nodes, arguments.depth, arguments.movetime)
    concessions = Concessions(**{field.name: getattr(arguments, field.name) for field in fields(Concessions)})
    chess = Uci(dict(arguments.option), search, concessions)
    language: Language = Gtp() if arguments.gtp else chess
    try:
        run(
            [path, *words],
            arguments.server,
            language=language,
            name=arguments.name,
            token=arguments.token,
            called=program,
        )
    except ClientError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


def _checked(text: str) -> tuple[str, str]:
    try:
        return option(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


if __name__ == "__main__":
    main()
