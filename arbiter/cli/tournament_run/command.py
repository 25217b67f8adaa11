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
from arbiter.cli.argument_types import Flag
from arbiter.cli.boxed import chosen
from arbiter.cli.failure import Failure
from arbiter.cli.terminal import counted, on_terminal, say, tables
from arbiter.cli.tournament_run.export import export, export_hits
from arbiter.cli.tournament_run.folder import Folder, begin, newest, shown
from arbiter.cli.tournament_run.host import RunSettings, at_most, cautions, cores
from arbiter.cli.tournament_run.progress import Progress
from arbiter.cli.tournament_run.run_processes import now_ms
from arbiter.cli.tournament_run.running_tournament import TournamentState
from arbiter.cli.tournament_run.screen import elapsed, limits_hit, not_played, unusual, void_matches
from arbiter.cli.tournament_run.stoppable_run import Run, check_settings, logged, until_signal
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
    resume: Flag = False,
    directory: Path | None = None,
    concurrency: int | None = None,
    sandbox: Literal["auto", "require"] = "auto",
    no_sandbox: Flag = False,
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
    :param log_days: Remove the output of bots in matches that began more than this many days ago; 0 keeps all.
    """
    if no_sandbox and sandbox == "require":
        raise Failure("say either --sandbox require or --no-sandbox")
    games = cores() if concurrency is None else concurrency
    check_settings(games, port)
    if log_days < 0:
        raise Failure(f"{log_days} days of bots' output are too few: at least 1, or 0 to keep all of it")
    file = once(read_all(specification, to_play=True))
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
    again = ["arbiter", "tournament", "run", str(specification), "--resume"]
    again += ["--directory", str(directory)] if directory else []
    path = specification.resolve()
    settings = RunSettings(
        port, games, walls, path.parent, remark, shlex.join(again), resume, path, log_days, file.tables
    )
    with folder.held() as lock, logged(folder.log("run")):
        played = _Run(folder, lock, settings, file, export_)
        try:
            return asyncio.run(until_signal(played))
        finally:
            if played.is_nothing:
                folder.remove()


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


class _Run(Run):
    """A run of a tournament from a file."""

    def __init__(self, folder: Folder, lock: int, settings: RunSettings, file: File, export_to: Path | None) -> None:
        super().__init__(folder, lock, settings, file.bots)
        self._file = file
        self._export_to = export_to

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to resume or to read: a tournament that was refused, a wrong book for example."""
        return not self.settings.resumed and self.contest is not None and self.contest.refused

    async def play(self) -> None:
        """Play the tournament, and print the report."""
        what = f"{len(self._file.bots)} bots, {counted(self.settings.games, 'game')} at once"
        async with self.opened(self._file.tournament.name, what) as host:
            self.contest = host.contest(self._file.tournament, KEY)
            stand = await self.contest.play()
            exported = 0
            if self._export_to is not None:
                exported = await export(host.client, stand, self.contest.progress, self._export_to)
        if self._export_to is not None:
            export_hits(self.host.hits, self._export_to)
        self._report(stand, self.contest.progress, exported)

    def _report(self, stand: TournamentState, progress: Progress, exported: int) -> None:
        self.say(f"\n{words.in_short(stand.tournament)}\n{words.state(stand.tournament)}\n")
        tables(words.shown_tables(stand.standings, brief=on_terminal()), "Nobody played.", None)
        if on_terminal():
            for sentence in words.legend(stand.standings):
                say(sentence, "dim")
        if self.contest is not None and self.contest.trial is not None:
            self.say(f"\n{self.contest.trial.line()}")
        self.say(f"\n{remarks(progress, now_ms())}")
        for line in unusual(progress):
            self.say(line)
        for line in limits_hit(self.host.hits):
            self.say(line)
        self.say(f"The output of each bot is in its own folder in {shown(self.folder.path)}/bots.")
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
