"""`arbiter bot run`: connects a program that reads and writes lines, or a chess engine, to a server."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from json import dump
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any, Final

import arbiter_client as arb
from arbiter_client import bridge
from cyclopts import App, Parameter

from arbiter.cli.boxed import Wanted, chosen, limits_of
from arbiter.cli.connection import Connection
from arbiter.cli.failure import Failure
from arbiter.cli.terminal import say
from arbiter.sandbox.bot_process import environment
from arbiter.sandbox.bubblewrap import Program, guarded
from arbiter.sandbox.limits import ResourceLimits
from arbiter.sandbox.spawner import found

app = App(name="bot", help="Play a program on a server.")

LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(message)s"


def _help(text: str, **options: Any) -> Parameter:
    return Parameter(help=text, **options)


@Parameter(name="*")
@dataclass(frozen=True)
class Wishes:
    """Which matches a program is to play."""

    games: Annotated[tuple[str, ...], _help("The games that it plays, in place of those that it names itself.")] = ()
    accept_seeks: Annotated[bool, _help("Accept open seeks of others that suit.", negative=())] = False
    enter_tournaments: Annotated[bool, _help("Enter every tournament that suits.", negative=())] = False
    most_matches: Annotated[int, _help("Matches at once, a process each; 0: one for each processor.")] = 0

    @property
    def at_once(self) -> int:
        """The number of matches at once."""
        return self.most_matches or os.cpu_count() or 1

    def set_up(self, bot: bridge.ProgramBot) -> None:
        """Have a bot play such matches."""
        bot.games = self.games or bot.games
        bot.accept_seeks = self.accept_seeks
        bot.enter_tournaments = self.enter_tournaments
        bot.most_matches = self.at_once


@Parameter(name="*")
@dataclass(frozen=True)
class Engine:
    """An engine in place of a program that speaks lines, and how a chess engine searches."""

    uci: Annotated[str, _help("A chess engine that speaks UCI, and its arguments: `--uci stockfish`.")] = ""
    gtp: Annotated[str, _help("A Go engine that speaks GTP, and its arguments: `--gtp 'gnugo --mode gtp'`.")] = ""
    option: Annotated[
        tuple[str, ...], _help("With --uci: an option of the engine, such as Hash=64; once for each.", negative=())
    ] = ()
    nodes: Annotated[int, _help("With --uci: search this many nodes a move, whatever the clock says.")] = 0
    depth: Annotated[int, _help("With --uci: search this many plies deep.")] = 0
    movetime: Annotated[int, _help("With --uci: search for this many milliseconds.")] = 0
    ponder: Annotated[
        bool, _help("With --uci: think in the opponent's time, about the answer that it expects.", negative=())
    ] = False

    def language(self) -> bridge.Language:
        """Return the engine's language. Raises Failure for options that are none, or that go with another one."""
        if self.gtp:
            if replace(self, gtp="") != Engine():
                raise Failure(
                    "--gtp stands alone: --uci, --option, --nodes, --depth, --movetime and --ponder are for chess"
                )
            return bridge.Gtp()
        try:
            options = dict(map(_option, self.option))
        except ValueError as error:
            raise Failure(f"--option {error}") from None
        if min(self.nodes, self.depth, self.movetime) < 0:
            raise Failure("--nodes, --depth and --movetime are limits of a search: give 1 or more")
        return bridge.Uci(options, bridge.Search(self.nodes, self.depth, self.movetime), ponder=self.ponder)


@Parameter(name="*")
@dataclass(frozen=True)
class Log:
    """What is written to standard error."""

    dialogue: Annotated[
        bool, _help("Write each line that the program reads (<) and writes (>) to standard error.", negative=())
    ] = False
    quiet: Annotated[bool, _help("Say only what is wrong on standard error.", negative=())] = False

    def begin(self) -> None:
        """Begin to write. Raises Failure."""
        if self.dialogue and self.quiet:
            raise Failure("--dialogue and --quiet exclude each other")
        logging.basicConfig(level=logging.WARNING, format=LOG_FORMAT, stream=sys.stderr)
        logging.getLogger("arbiter_client").setLevel(logging.WARNING if self.quiet else logging.INFO)


def _option(text: str) -> tuple[str, str]:
    """Return the name and value in `NAME=VALUE`. Raises ValueError."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not text.isprintable():
        raise ValueError(f"{text!r} is no option: write NAME=VALUE, such as Hash=64")
    return name.strip(), value.strip()


@app.command
def run(
    *,
    exec: Annotated[str, _help("The program and its arguments, as in a shell.", name="--exec")] = "",
    engine: Engine | None = None,
    name: Annotated[
        str, _help("The player (default: the program's name); registered if there is no token.", env_var="ARBITER_NAME")
    ] = "",
    json: Annotated[bool, _help("Speak JSON lines, and not lines of words.", negative=())] = False,
    wishes: Wishes | None = None,
    matches: Annotated[int | None, _help("Stop after this many have ended.")] = None,
    move_time: Annotated[float | None, _help("Seconds that an answer may take, beside the clock.")] = None,
    start_time: Annotated[float, _help("Seconds that the program has to introduce itself.")] = 10.0,
    restarts: Annotated[int, _help("In how many turns of a match it may fail before it is resigned.")] = 3,
    sandboxed: Annotated[
        Wanted,
        _help("Whether it runs in a sandbox: where there is one, or not without, or never.", name="--sandbox"),
    ] = "auto",
    see: Annotated[tuple[Path, ...], _help("A folder or file that it sees in its sandbox, too.", negative=())] = (),
    limit: Annotated[
        tuple[str, ...],
        _help("A limit of its sandbox, such as memory_mb=512; deploy/SANDBOX.md has them.", negative=()),
    ] = (),
    invitation: Annotated[str, _help("The invitation to register with, where one is needed.")] = "",
    log: Log | None = None,
    connection: Connection | None = None,
) -> None:
    """Let a program that reads and writes lines play on a server, or an engine of chess or Go. It needs no gRPC.

    clients/lines/README.md describes what a program reads and what it must write, and how an engine is set up. If it
    crashes, no match is lost by that, but its clock keeps running. The command ends after --matches, or with Ctrl-C.
    """
    connection, wishes, engine = connection or Connection(), wishes or Wishes(), engine or Engine()
    program, language = _program(exec, engine, json)
    words = _split_command(program, found if engine.uci or engine.gtp else shutil.which)
    limits = _limits(start_time, move_time, restarts)
    if wishes.most_matches < 0 or (matches is not None and matches < 1):
        raise Failure("--most-matches and --matches are numbers of matches: give 1 or more")
    log = log or Log()
    log.begin()
    try:
        with _sandboxed(words, sandboxed, see, limits_of(limit)) as command:
            bridge.run(
                command,
                connection.server,
                language=language,
                limits=limits,
                set_up=wishes.set_up,
                name=name or connection.as_ or "",
                token=connection.token,
                tls=connection.security(),
                matches=matches,
                thinkers=wishes.at_once,
                invitation=invitation,
                called=program,
                dialogue=log.dialogue,
            )
    except arb.ClientError as error:
        raise Failure(str(error)) from None


def _program(exec: str, engine: Engine, json: bool) -> tuple[str, bridge.Language]:
    """Return the command of the program or engine, and its language. Raises Failure."""
    if command := engine.uci.strip() or engine.gtp.strip():
        if exec.strip() or json:
            raise Failure("--uci and --gtp stand in place of --exec and --json")
        return command, engine.language()
    if engine != Engine():
        raise Failure("--option, --nodes, --depth, --movetime and --ponder go with --uci")
    return exec.strip(), bridge.JsonLines() if json else bridge.Words()


def _split_command(command: str, which: Callable[[str], str | None]) -> list[str]:
    """Split a command into its words and check that the program exists. Raises Failure."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Failure(f"{command!r} can't be read as a command: {error}") from None
    if not words:
        raise Failure("there is no program: give one, such as --exec ./mybot, or --uci stockfish")
    program = which(words[0])
    if program is None:
        raise Failure(f"there is no program {words[0]}: give its path, and see that it may be executed")
    return [str(Path(program).absolute()), *words[1:]]


def _limits(start_time: float, move_time: float | None, restarts: int) -> bridge.Limits:
    if not start_time > 0 or (move_time is not None and not move_time > 0):
        raise Failure("--start-time and --move-time are seconds: give more than 0")
    if restarts < 0:
        raise Failure("--restarts is a number: give 0 or more")
    return bridge.Limits(start_s=start_time, move_s=move_time, restarts=restarts)


@contextmanager
def _sandboxed(words: list[str], wanted: Wanted, sees: tuple[Path, ...], most: ResourceLimits) -> Iterator[list[str]]:
    """Yield the command line, in a sandbox if one is used. Raises Failure if one is required but not available."""
    sandbox, remark = chosen(wanted, most)
    if sandbox is None:
        if wanted != "off":
            say(remark)
        yield words
        return
    sees = tuple(path.absolute() for path in sees)
    job = sandbox.job(Program(tuple(words), Path.cwd(), environment({}), sees), None)
    with NamedTemporaryFile("w", prefix="arbiter-job-") as file:
        dump(job, file)
        file.flush()
        yield guarded(Path(file.name))
