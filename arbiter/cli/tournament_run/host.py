"""The environment of a run's tournaments: an arbiter, its bots and the organiser's client; and how a run is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, starmap
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import arbiter_client as arb
from arbiter_client import credentials

from arbiter.bootstrap.operator_tokens import create_tokens
from arbiter.cli.failure import Failure
from arbiter.cli.terminal import counted
from arbiter.cli.tournament_bots import BotEntry
from arbiter.cli.tournament_run.folder import RUN_PREFIX, Folder
from arbiter.cli.tournament_run.run_processes import BotOrder, Processes
from arbiter.cli.tournament_run.running_tournament import RunningTournament
from arbiter.cli.tournament_run.screen import PlainOutput, Screen
from arbiter.cli.transcript_files import published_keys
from arbiter.matches.signing import write_keys
from arbiter.runtime.loopback import HOST, free_port
from arbiter.sandbox.bot_process import Hit
from arbiter.sandbox.bubblewrap import Program, Sandbox

ORGANISER: Final = "organiser"
SERVER_PATIENCE_S: Final = 300.0  #: for the server to answer first: a start on a busy machine takes a minute
BOTS_PATIENCE_S: Final = 60.0  #: for all bots to connect
LOOK_EVERY_S: Final = 0.1
STALL_MS: Final = 1_000
"""How long the server may stand still in a turn, since its engines take its processor: a shorter time is credited, a
longer one interrupts the matches."""
PIPED: Final = "arbiter_client.bridge.piped_bot"  #: plays a bundled bot without a connection
MOST_FALSE_STARTS: Final = 3  #: for a bot that has not connected yet


class RunSettings(NamedTuple):
    """Settings of a run on this machine: port (0: a free one), games at once, sandbox or None, the bots' folder.

    remark: on the sandbox. again: the command that continues the run. resumed: whether this is that command. log_days:
    for how many days the bots' output is kept, 0 for ever. file: the specification of the run, which bots cannot read,
    because it contains the environments of all of them. tables: the folder of Syzygy tables.
    """

    port: int
    games: int
    sandbox: Sandbox | None
    base: Path
    remark: str
    again: str
    resumed: bool
    file: Path | None = None
    log_days: int = 0
    tables: Path | None = None


class Host:
    """An arbiter and bots. Entering the context starts the arbiter; leaving it ends all processes.

    client: makes requests as the organiser.
    """

    def __init__(
        self, folder: Folder, lock: int, terms: RunSettings, bots: Sequence[BotEntry], view: Screen | PlainOutput
    ) -> None:
        self.client: arb.Client
        self._folder = folder
        self._lock = lock
        self._terms = terms
        self._bots = bots
        self._view = view
        self._processes: Processes | None = None
        self._open = contextlib.AsyncExitStack()
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []
        self._manned = False

    async def __aenter__(self) -> Self:
        """Start the arbiter. Raises Failure, ClientError, or an exception group of these."""
        async with contextlib.AsyncExitStack() as stack:
            processes = self._processes = await stack.enter_async_context(await self._programs_to_start())
            await processes.serve()
            await stack.enter_async_context(self._group)
            stack.callback(self._done)
            for work in (processes.watch_server(), processes.write_bot_logs(self._terms.log_days), self._view.run()):
                self._tasks.append(self._group.create_task(work))
            client = arb.Client(processes.address, token=self._organiser, tls=arb.NO_TLS, patience_s=SERVER_PATIENCE_S)
            self.client = await stack.enter_async_context(client)
            keep_keys(self._folder.keys, await self.client.server_info())
            processes.server_answers()
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *why: Any) -> bool | None:
        return await self._open.__aexit__(*why)

    def hurry(self) -> None:
        """Kill all processes at once."""
        if self._processes is not None:
            self._processes.hurry()

    def contest(self, spec: arb.TournamentSpec, key: str) -> RunningTournament:
        """Return a tournament of all the bots, and show it from now on; `key` is its key in the run."""
        assert self._processes is not None
        contest = RunningTournament(self.client, spec, self._bots, key, self._processes.bot_logs, self._view, self.fill)
        self._view.contest = contest
        return contest

    async def fill(self) -> None:
        """Start the bots unless they are started, and wait until all are connected. Raises Failure, ClientError."""
        assert self._processes is not None
        if not self._manned:
            self._manned = True
            self._tasks += [self._group.create_task(self._processes.keep(bot.name)) for bot in self._bots]
        await self._wait_for_bots(self._processes)

    @property
    def page(self) -> str:
        """The address of the page for browsers, while the arbiter runs."""
        assert self._processes is not None
        return self._processes.page

    @property
    def hits(self) -> Mapping[tuple[str, Hit], int]:
        """Return how often each bot hit each limit of the sandbox; complete after the end of the context."""
        return self._processes.hits if self._processes is not None else {}

    def _done(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _programs_to_start(self) -> Processes:
        """Return the processes to start, with a token for each."""
        folder, terms = self._folder, self._terms
        port = terms.port or free_port()
        if any(bot.name == ORGANISER for bot in self._bots):
            raise Failure(f"a bot can't be named {ORGANISER}, the name of its organiser: choose another name")
        scopes = {ORGANISER: ["organise", "observe"], **{bot.name: ["play", "observe"] for bot in self._bots}}
        tokens = await create_tokens(folder.store, scopes, "run")
        self._organiser = tokens[ORGANISER]
        address = f"{HOST}:{port}"
        shares = shared_out(self._bots, usable_cores())
        orders = {
            bot.name: BotOrder(
                program(bot, terms.base, address, tokens[bot.name])._replace(cores=shares[bot.name]),
                _job(bot, tokens[bot.name]),
            )
            for bot in self._bots
        }
        sandbox = terms.sandbox and terms.sandbox._replace(hidden=_hidden_paths(folder, terms))
        settings = {
            "ARBITER_LIMITS__TOURNAMENT_GAMES": str(terms.games),
            "ARBITER_BOOKS": str(terms.base.resolve()),
            "ARBITER_LIMITS__STALL_MS": str(STALL_MS),
            "ARBITER_CREDIT__HAND_OVER_MOST_MS": str(STALL_MS),
            "ARBITER_CREDIT__NETWORK_MOST_MS": str(STALL_MS),
        }
        if terms.tables is not None:
            settings["ARBITER_SYZYGY"] = str(terms.tables)
        return Processes(folder, self._lock, port, settings, orders, sandbox, self._view.note)

    async def _wait_for_bots(self, processes: Processes) -> None:
        """Wait until all bots are connected, in the expected versions. Raises Failure."""
        give_up_s = time.monotonic() + BOTS_PATIENCE_S
        while True:
            known = {player.name: player for player in await self.client.list_players(len(self._bots) + 10)}
            missing = [bot for bot in self._bots if not known[bot.name].online]
            if not missing:
                break
            for bot in missing:
                late = time.monotonic() > give_up_s
                if late or processes.deaths[bot.name] >= MOST_FALSE_STARTS:
                    why = "did not come to the arbiter" if late else f"ended {MOST_FALSE_STARTS} times before it came"
                    raise Failure(f"{bot.name} {why}; its output is in {self._folder.notes(bot.name)}")
            await asyncio.sleep(LOOK_EVERY_S)
        check_versions(self._bots, known)


def check_versions(bots: Sequence[BotEntry], players: Mapping[str, arb.Player]) -> None:
    """Raise Failure if a bot reports a version other than the one in its file; players: by name."""
    for bot in bots:
        version = players[bot.name].bot_version
        if bot.version not in ("", version):
            raise Failure(f"{bot.name} says that it is version {version!r}, not {bot.version!r} as its file says")


def program(bot: BotEntry, folder: Path, address: str, token: str) -> Program:
    """Return a bot's program; its environment has the server and its identity, as clients/README.md describes.

    An engine's has neither: it talks to nobody but the bridge, which is in the server's process.
    """
    command, start = bot.command, folder / bot.folder
    sees = tuple(folder / path for path in bot.sees)
    if bot.bundled:
        start = start if bot.folder != Path() else Path("/")  # it needs none of our modules
        module = (f"arbiter_client.bots.{bot.bundled}",) if bot.engine is None else (PIPED, bot.bundled)
        command = (sys.executable, "-m", *module, *command)
    if bot.engine is not None:
        return Program(command, start, bot.environment, sees, spawned=not bot.bundled)
    where = {"ARBITER_SERVER": address, "ARBITER_TOKEN": token, "ARBITER_NAME": bot.name}
    return Program(command, start, {**bot.environment, **where}, sees)


def _job(bot: BotEntry, token: str) -> Mapping[str, Any] | None:
    """Return what `hosted_engines` has to know of an engine; None for another bot."""
    if bot.engine is None:
        return None
    command = (bot.bundled, *bot.command) if bot.bundled else bot.command
    return {"name": bot.name, "token": token, "command": command, "engine": bot.engine}


def _hidden_paths(folder: Folder, terms: RunSettings) -> tuple[Path, ...]:
    """Return the paths hidden from bots, even inside their folders: runs, their plans, and our own tokens."""
    runs = folder.path.resolve().parent
    beside = [entry for entry in runs.iterdir() if entry.is_dir() and entry.name.startswith(RUN_PREFIX)]
    whole = [] if terms.base.is_relative_to(runs) else [runs]
    plan = [terms.file] if terms.file is not None else []
    return (*beside, *whole, *plan, credentials.path())


def keep_keys(file: Path, server: arb.ServerInfo) -> None:
    """Save the public keys that verify the transcripts. Raises Failure."""
    write(file, write_keys(published_keys(server)).encode())


def write(file: Path, data: bytes) -> None:
    """Write a file atomically. Raises Failure."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.draft")
        draft.write_bytes(data)
        draft.replace(file)
    except OSError as error:
        raise Failure(f"can't write {file}: {error.strerror or error}") from None


def cores() -> int:
    """Return the number of cores on which this process may run."""
    return len(usable_cores()) or os.cpu_count() or 1


def usable_cores() -> list[int]:
    """Return the numbers of the cores on which this process may run; none if the system does not say it."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def shared_out(bots: Sequence[BotEntry], usable: Sequence[int]) -> dict[str, frozenset[int]]:
    """Return by bot on which cores it runs: those of its own, or none, which means all.

    If they want more than there are, cores are given out again from the first one on.
    """
    shares, given = dict[str, frozenset[int]](), 0
    for bot in bots:
        wanted = min(bot.cores, len(usable))
        shares[bot.name] = frozenset(usable[(given + place) % len(usable)] for place in range(wanted))
        given += wanted
    return shares


def cautions(bots: Sequence[BotEntry], games: int, usable: int) -> Iterator[str]:
    """Yield what whoever compares engines should know: of how many cores and threads there are too few.

    games: at once. usable: cores.
    """
    wanted = sum(bot.cores for bot in bots)
    if wanted > usable:
        yield f"The bots want {wanted} cores of their own, and there {_are(usable)}: some share a core."
    threads = max(starmap(_thinking, combinations(bots, 2)), default=1)
    if games * threads > usable:
        who = f"up to {threads} threads" if threads > 1 else "one thread"
        yield (
            f"In {counted(games, 'game')} at once, {who} each, more threads think than {counted(usable, 'core')} can "
            "run: bots take time from each other."
        )


def at_most(bots: int, at_once: int, games: int) -> Iterator[str]:
    """Yield a caution if the bots can't play this many games at once. at_once: how many each plays at a time."""
    most = bots * at_once // 2
    if most < games:
        yield (
            f"Of {games} games at once no more than {most} can be under way: {counted(bots, 'bot')} play {at_once} "
            "each at a time. The file says how many, as `at_once`."
        )


def _thinking(one: BotEntry, other: BotEntry) -> int:
    """Return how many threads think at once in a game of two bots."""
    ponders = any(bot.engine is not None and bot.engine.ponder for bot in (one, other))
    return one.threads + other.threads if ponders else max(one.threads, other.threads)


def _are(number: int) -> str:
    return f"is {number}" if number == 1 else f"are {number}"
