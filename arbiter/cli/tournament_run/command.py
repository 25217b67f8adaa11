"""`arbiter tournament run`: runs a tournament from a file, on its own arbiter and with its own bots."""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal

import arbiter_client as arb
from cyclopts import Parameter

from arbiter.cli import tournament_view as words
from arbiter.cli.boxed import chosen
from arbiter.cli.failure import Failure
from arbiter.cli.terminal import counted, on_terminal, say, tables
from arbiter.cli.tournament_run.export import export, export_hits
from arbiter.cli.tournament_run.folder import Folder, begin, newest, shown
from arbiter.cli.tournament_run.host import Host, RunSettings, at_most, cautions, console, cores, logged, until_signal
from arbiter.cli.tournament_run.progress import Progress
from arbiter.cli.tournament_run.run_processes import now_ms
from arbiter.cli.tournament_run.running_tournament import RunningTournament, TournamentState
from arbiter.cli.tournament_run.screen import elapsed, limits_hit, not_played, so_far, unusual, view_of, void_matches
from arbiter.cli.tournament_spec import File, read_all
from arbiter.text_files import text_of

RUNS: Final = Path("arbiter-runs")
PLAN: Final = "tournament.toml"
KEY: Final = "run"
ONCE: Final = "A run plays one tournament of the series: `arbiter tournament create` makes the series on a server."


def run(
    specification: Path,
    /,
    *,
    resume: Annotated[bool, Parameter(negative=())] = False,
    directory: Path | None = None,
    concurrency: int | None = None,
    sandbox: Literal["auto", "require"] = "auto",
    no_sandbox: Annotated[bool, Parameter(negative=())] = False,
    export_: Annotated[Path | None, Parameter(name="--export")] = None,
    port: int = 0,
    log_days: int = 0,
) -> int:
    """Run a tournament; `arbiter.cli.tournament` has its help text.

    :param specification: The tournament's file, in TOML.
    :param resume: Continue the newest run.
    :param directory: The folder that holds the runs. [default: arbiter-runs/NAME for NAME.toml]
    :param concurrency: Number of games under way at the same time; in each game one bot thinks. [default: the number of
        cores]
    :param sandbox: Refuse to run without a sandbox (require), or print a warning if there is none (auto).
    :param no_sandbox: Run the bots with all your permissions.
    :param export_: Write the standings, the tournament's log and all transcripts into this folder at the end.
    :param port: The port that the arbiter listens on. [default: a free one]
    :param log_days: Remove the output of bots in matches that began more than so many days ago; 0 keeps all.
    """
    if no_sandbox and sandbox == "require":
        raise Failure("say either --sandbox require or --no-sandbox")
    games = cores() if concurrency is None else concurrency
    if games < 1:
        raise Failure(f"{games} games at once are too few: at least 1")
    if not 0 <= port <= 65535:
        raise Failure(f"{port} is not a port: expected 1 to 65535, or 0 for a free one")
    if log_days < 0:
        raise Failure(f"{log_days} days of bots' output are too few: at least 1, or 0 to keep all of it")
    file = once(read_all(specification))
    if len(file.bots) < 2:
        number = "one bot" if file.bots else "no bots"
        raise Failure(f"{specification} names {number}: add a table [[bots]] for each, at least two")
    asked = at_most(len(file.bots), file.tournament.at_once, games) if concurrency is not None else ()
    for caution in (*file.cautions, *cautions(file.bots, games, cores()), *asked):
        say(caution, "yellow")
    walls, remark = chosen("off" if no_sandbox else sandbox, file.limits)
    runs = directory or RUNS / specification.stem
    folder = (
        _run_to_resume(newest(runs, PLAN), file) if resume else begin(runs, PLAN, text_of(specification.read_bytes()))
    )
    terms = RunSettings(port, games, walls, specification.resolve().parent, specification.resolve(), log_days)
    again = ["arbiter", "tournament", "run", str(specification), "--resume"]
    again += ["--directory", str(directory)] if directory else []
    with folder.held() as lock, logged(folder.log("run")):
        played = _Run(folder, lock, terms, file, remark, export_, shlex.join(again), resume)
        return asyncio.run(until_signal(played))


def once(file: File) -> File:
    """Return a file without a series: a run plays one tournament."""
    spec = file.tournament
    if not spec.schedule.every:
        return file
    spec = replace(spec, schedule=replace(spec.schedule, every=""), series=arb.SeriesRules(), league=arb.LeagueRules())
    return file._replace(tournament=spec, cautions=(*file.cautions, ONCE))


def _run_to_resume(folder: Folder, file: File) -> Folder:
    """Return the run to resume. Raises Failure if it was begun as a different tournament."""
    if once(read_all(folder.plan_file)).tournament != file.tournament:
        raise Failure(
            f"{file.path} specifies another tournament than {folder.plan_file}, with which this run began: "
            "start a new run without --resume"
        )
    return folder


class _Run:
    """One run, from the start of its processes to its report."""

    def __init__(
        self,
        folder: Folder,
        lock: int,
        terms: RunSettings,
        file: File,
        remark: str,
        export_to: Path | None,
        again: str,
        resumed: bool,
    ) -> None:
        self._folder = folder
        self._file = file
        self._terms = terms
        self._remark = remark
        self._export_to = export_to
        self._again = again
        self._resumed = resumed
        self._console = console()
        self._view = view_of(self._console)
        self._host = Host(folder, lock, terms, file.bots, self._view)
        self._contest: RunningTournament | None = None

    def say(self, text: str) -> None:
        """Print a line and flush it."""
        self._console.print(text, soft_wrap=True)
        self._console.file.flush()

    def hurry(self) -> None:
        """Kill all processes at once."""
        self._host.hurry()

    def stopped(self) -> None:
        """Print the state of the run, and how to resume it."""
        ended = ""
        if self._contest is not None:
            ended = f": {so_far(self._contest)} had ended"
        self.say(f"Stopped{ended}. `{self._again}` continues it.")

    async def play(self) -> None:
        """Play, and print the report. Raises ClientError, Failure, or an exception group of these."""
        verb = "continues" if self._resumed else "begins"
        name, games = self._file.tournament.name, counted(self._terms.games, "game")
        self.say(f"{name} {verb} in {shown(self._folder.path)}: {len(self._file.bots)} bots, {games} at once.")
        self.say(self._remark)
        async with self._host as host:
            self.say(f"Watch it in a browser: {host.page}")
            self._contest = host.contest(self._file.tournament, KEY)
            stand = await self._contest.play()
            exported = 0
            if self._export_to is not None:
                exported = await export(host.client, stand, self._contest.progress, self._export_to)
        if self._export_to is not None:
            export_hits(self._host.hits, self._export_to)
        self._report(stand, self._contest.progress, exported)

    def _report(self, stand: TournamentState, progress: Progress, exported: int) -> None:
        self.say(f"\n{words.in_short(stand.tournament)}\n{words.state(stand.tournament)}\n")
        tables(words.shown_tables(stand.standings, brief=on_terminal()), "Nobody played.", None)
        if on_terminal():
            for sentence in words.legend(stand.standings):
                say(sentence, "dim")
        if self._contest is not None and self._contest.trial is not None:
            self.say(f"\n{self._contest.trial.line()}")
        self.say(f"\n{remarks(progress, now_ms())}")
        for line in unusual(progress):
            self.say(line)
        for line in limits_hit(self._host.hits):
            self.say(line)
        self.say(f"The output of each bot is in its own folder in {shown(self._folder.path)}/bots.")
        if self._export_to is not None:
            records = counted(exported, "transcript")
            self.say(f"{records}, the tournament's log, their keys and the standings are in {self._export_to}.")


def remarks(progress: Progress, at_ms: int) -> str:
    """Return remarks on a tournament's games."""
    took = elapsed(progress, at_ms)
    odd = len(progress.not_by_play())
    ends = f"{odd} ended by a clock, a violation, absence or a decision:" if odd else "Every game ended by its rules."
    played = f"{counted(progress.games, 'game')} and {counted(progress.moves_now, 'move')} in {took}."
    return " ".join(filter(None, [played, not_played([progress]), void_matches([progress]), ends]))
