"""`arbiter demo`: bots play a Swiss in every game and then a ladder, on an arbiter of their own."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import arbiter_client as arb
from cyclopts import Parameter

from arbiter.cli.argument_types import Flag
from arbiter.cli.boxed import chosen
from arbiter.cli.demo import report
from arbiter.cli.demo.plan import BOTS, LADDER, PLAN, ROUNDS, DemoSettings, bots, canonical, terms_in
from arbiter.cli.failure import Failure
from arbiter.cli.tournament_run.export import export
from arbiter.cli.tournament_run.folder import Folder, begin, newest
from arbiter.cli.tournament_run.host import RunSettings, cores
from arbiter.cli.tournament_run.running_tournament import RunningTournament, TournamentState
from arbiter.cli.tournament_run.screen import so_far
from arbiter.cli.tournament_run.stoppable_run import Run, check_settings, logged, until_signal

RUNS: Final = Path("arbiter-demo")
AT_ONCE: Final = 3  #: games at the same time for each core: these bots think little
MOST_AT_ONCE: Final = 8  #: each bot is one process: with more games, games wait for each other
WARM_UP_TIME: Final = "20s"


def demo(
    *,
    resume: Flag = False,
    directory: Path = RUNS,
    games: Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())] = None,
    rounds: int | None = None,
    ladder: str | None = None,
    time: str | None = None,
    concurrency: int | None = None,
    port: int = 0,
) -> int:
    """Let five bots play a Swiss in every game and then a ladder, on an arbiter of their own, and rate them.

    It takes a good minute. Everything runs on this machine: the arbiter and each bot are separate processes
    that communicate by gRPC. Ctrl-C stops it at any moment, and `arbiter demo --resume` continues where it stopped.
    Every run has its own folder, with its database, the transcripts of all matches, and logs.

    :param resume: Continue the newest run.
    :param directory: The folder that holds the runs.
    :param games: The games or variants to play. [default: all]
    :param rounds: Number of rounds of the Swiss. [default: 3]
    :param ladder: How long the ladder lasts. [default: 10s]
    :param time: The time control of all games. [default: 2s+150ms, 1s+100ms in the ladder]
    :param concurrency: Number of games that are played at the same time. [default: by the number of cores]
    :param port: The port that the arbiter listens on. [default: a free one]
    """
    at_once = min(MOST_AT_ONCE, AT_ONCE * cores()) if concurrency is None else concurrency
    check_settings(at_once, port)
    if resume:
        if (games, rounds, ladder, time) != (None, None, None, None):
            raise Failure(
                "--resume continues a run with the settings that it began with: leave out "
                "--games, --rounds, --ladder and --time"
            )
        folder = newest(directory, PLAN)
        terms = terms_in(folder.plan_file)
    else:
        terms = DemoSettings(canonical(games or ()), ROUNDS if rounds is None else rounds, ladder or LADDER, time or "")
        specs = (terms.swiss(), terms.ladder_spec())  # refuse an invalid plan before a folder is created
        if not specs[1].options.duration_ms:
            raise Failure("the demo's ladder needs an end: say how long it lasts, as in --ladder 30s")
        folder = begin(directory, PLAN, terms.text())
    again = ["arbiter", "demo", "--resume", *(["--directory", str(directory)] if directory != RUNS else [])]
    sandbox, remark = chosen("auto")
    settings = RunSettings(port, at_once, sandbox, Path("/"), remark, shlex.join(again), resume)
    with folder.held() as lock, logged(folder.log("demo")):
        return asyncio.run(until_signal(_Run(folder, lock, settings, terms)))


class _Run(Run):
    """A demo."""

    def __init__(self, folder: Folder, lock: int, settings: RunSettings, terms: DemoSettings) -> None:
        super().__init__(folder, lock, settings, bots())
        self._terms = terms

    def ended(self, contest: RunningTournament) -> str:
        """Say also which tournament."""
        return f"{so_far(contest)} of the {contest.spec.name}"

    async def play(self) -> None:
        """Play both tournaments, and print the report."""
        played: list[tuple[RunningTournament, TournamentState]] = []
        async with self.opened("The demo", f"{len(BOTS)} bots play {', '.join(self._terms.games)}") as host:
            for key, spec in (("swiss", self._terms.swiss()), ("ladder", self._terms.ladder_spec())):
                self.contest = contest = host.contest(spec, key)
                if key == "swiss":
                    await host.fill()
                    await warm_up(host.client, self._terms.games)
                stand = await contest.play()
                self.console.print(report.standings(stand))
                played.append((contest, stand))
                await export(host.client, stand, contest.progress, self.folder.path / key)
        progresses = [contest.progress for contest, _ in played]
        self.console.print(report.ratings(progresses))
        for line in (*report.remarks(progresses), *report.where(self.folder.path, progresses[0])):
            self.say(line)


async def warm_up(client: arb.Client, games: Sequence[str]) -> None:
    """Let every bot make a first move in every game, in matches that do not count.

    Engines and worker processes load code when they first need it. With the short clocks of a demo, the loading time
    would decide matches. Raises ClientError.
    """

    async def first_moves(game: str, players: Sequence[str]) -> None:
        match = await client.create_match(game, players, time_control=WARM_UP_TIME, label="warming up")
        async for event in client.observe(match.match_id):
            if isinstance(event.what, arb.MovePlayed) and event.what.ply == len(players) - 1:
                await client.abort_match(match.match_id, "warmed up")
                return

    players = list(BOTS)
    async with asyncio.TaskGroup() as group:
        for game in games:
            for first in range(0, len(players), 2):
                group.create_task(first_moves(game, (players[first], players[(first + 1) % len(players)])))
