"""The command `arbiter`: its subcommands, and how errors are reported.

A command is imported when it is run, so that `arbiter --help` is fast. To add a command, add one line to `COMMANDS`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from cyclopts import App, CycloptsError, Group, Parameter, UnusedCliTokensError

from arbiter import __version__
from arbiter.cli.failure import FAILED, INTERRUPTED, USAGE, Failure
from arbiter.cli.terminal import tell
from arbiter.errors import OperatorError, Refusal

RUN: Final = Group("Run and play", sort_key=1)
GAMES: Final = Group("Games and rules (no server needed)", sort_key=2)
SERVER: Final = Group("Ask a server", sort_key=3)


class Command(NamedTuple):
    """A command: its name, `module:attribute` under `arbiter.cli`, its group in the help, and its summary."""

    name: str
    place: str
    group: Group
    help: str


COMMANDS: Final = (
    Command("serve", "serve:serve", RUN, "Run an arbiter."),
    Command("store", "store:app", RUN, "Check the record, and rebuild what is derived from it."),
    Command("doctor", "doctor:doctor", RUN, "Look at a configuration, its store and its server: what is wrong?"),
    Command(
        "export", "export:export", RUN, "Write all finished matches into a folder, as signed transcripts or as tables."
    ),
    Command("archive", "archive:archive", RUN, "Move the records of old matches out of the event log, compressed."),
    Command("backup", "store:backup", RUN, "Copy the store and its signing keys to a new folder, beside the server."),
    Command("restore", "store:restore", RUN, "Copy a backup into an empty store, of either kind."),
    Command("migrate", "migrate:migrate", RUN, "Bring the tables of a store up to date before the next start."),
    Command("demo", "demo:demo", RUN, "Let bots play all games against each other on an arbiter of their own."),
    Command("play", "play:play", RUN, "Play against a bot, or somebody else, in the terminal."),
    Command("bot", "bot:app", RUN, "Play a program that reads and writes lines of text."),
    Command("mcp", "mcp:mcp", RUN, "Let a language model play, by the Model Context Protocol."),
    Command("watch", "watch:watch", RUN, "Watch a match live, or everything that happens."),
    Command("top", "top:top", RUN, "Show what a server does now: moves, times, players, refusals."),
    Command("conformance", "conformance:conformance", RUN, "Check that a bot, in any language, keeps the contract."),
    Command("bench", "bench:app", RUN, "Measure this machine: moves, fan-out, recovery, clocks."),
    Command("games", "games:games", GAMES, "List the games, or show everything about one of them."),
    Command("rules", "games:rules", GAMES, "Show the rules of a game (`rules show`), or let a program ask them."),
    Command("show", "games:show", GAMES, "Draw a position, in the terminal or as SVG."),
    Command("verify", "verify:verify", GAMES, "Verify a transcript: rules, clocks, chain and signature."),
    Command("simulate", "simulate:run", GAMES, "Play matches with faults in virtual time: is every promise kept?"),
    Command("match", "match:app", SERVER, "Make matches, look at them, judge them."),
    Command("tournament", "tournament_corrections:app", SERVER, "Make tournaments, enter them, watch them."),
    Command("web-hook", "web_hooks:app", SERVER, "Have the events of a tournament delivered to an address by HTTP."),
    Command(
        "transcript",
        "transcript:transcript",
        SERVER,
        "Write the signed record of a match, or its moves as text for people.",
    ),
    Command("leaderboard", "leaderboard:leaderboard", SERVER, "Show the players by rating."),
    Command("rating", "rating:rating", SERVER, "Show the ratings of a player, and how they went."),
    Command("compare", "compare:compare", SERVER, "Compare two players: games, ratings, sequential tests."),
    Command("ratings", "rating_rulings:app", SERVER, "Export the record, recompute the ratings from it, rule."),
    Command("key", "keys:app", SERVER, "Show, export and rotate the keys that sign transcripts."),
    Command("player", "accounts:player_app", SERVER, "Register players, invite them, suspend them."),
    Command("token", "accounts:token_app", SERVER, "Make, list and revoke tokens."),
)


def build(chosen: str = "") -> App:
    """Return the command line parser. Help for the command `chosen` is its docstring; the others show their one line.

    To use a docstring, the command must be imported, and the list of commands must be fast.
    """
    app = App(
        name="arbiter",
        help="A game arbiter for bots: `arbiter serve` in one terminal, bots in others, `arbiter watch` to see them "
        "play. Try it at once: `arbiter play hop-it` needs no server. Every command explains itself with --help.",
        version=__version__,
        version_flags=["--version"],
        # Importing a Markdown parser would take a third of the time that the list of commands takes.
        help_format="markdown" if chosen in {command.name for command in COMMANDS} else "plaintext",
        default_parameter=Parameter(show_default=_shown_default),
    )
    for command in COMMANDS:
        summary = None if command.name == chosen else command.help
        app.command(f"arbiter.cli.{command.place}", name=command.name, group=command.group, help=summary)
    app["--help"].group = app["--version"].group = Group("Options", sort_key=4)
    return app


def _shown_default(default: object) -> object:
    """Return a default as help shows it; defaults that are off or empty are not shown."""
    return default or None


def run(arguments: Sequence[str] | None = None) -> int:
    """Execute a command line (default: that of the process) and return the exit code.

    An error is reported as one line on standard error, never as a traceback. Exit code 1: something could not be done.
    Exit code 2: wrong usage or configuration.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    app = build(given[0] if given else "")
    try:
        result = app(given, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except UnusedCliTokensError as error:
        return _fail(f"nothing here takes {' '.join(map(repr, error.unused_tokens or ()))}. See --help.", USAGE)
    except CycloptsError as error:
        return _fail(f"{error} See --help.", USAGE)
    except OperatorError as error:
        return _fail(str(error), USAGE)
    except Refusal as refusal:
        return _fail(refusal.message, FAILED)
    except Failure as failure:
        return _fail(str(failure), FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed it (`arbiter … | head`); do not flush into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return result if isinstance(result, int) else 0


def _fail(message: str, code: int) -> int:
    tell(f"arbiter: {' '.join(message.split())}")
    return code
