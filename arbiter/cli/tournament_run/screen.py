"""The display of a running run: a live picture on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import arbiter_client as arb
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from arbiter.cli import tournament_view as words
from arbiter.cli.terminal import counted, drawn_table
from arbiter.cli.tournament_run.progress import EndedMatch, Progress
from arbiter.cli.tournament_run.run_processes import now_ms
from arbiter.cli.tournament_run.running_tournament import RunningTournament
from arbiter.sandbox.bot_process import Hit

PICTURES_A_SECOND: Final = 4
BOARDS_SHOWN: Final = 8
ROWS_SHOWN: Final = 24  #: rows of the standings
ENDS_SHOWN: Final = 3
UNUSUAL_SHOWN: Final = 12  #: games that did not end by play, in the report
BAR_WIDTH: Final = 30

Say = Callable[[str], None]


class Screen:
    """The live picture of the tournament, for a terminal."""

    look_every_s = 1.0

    def __init__(self, console: Console) -> None:
        self._console = console
        self.contest: RunningTournament | None = None

    def note(self, text: str) -> None:
        """Show a permanent line above the picture."""
        self._console.print(text, style="yellow")

    def ended(self, played: EndedMatch, contest: RunningTournament) -> None:
        """Do nothing: the next picture shows it."""

    def found(self, statistics: str) -> None:
        """Do nothing: each picture shows the newest ones."""

    def looked(self) -> None:
        """Do nothing: the next picture shows it."""

    async def run(self) -> None:
        """Redraw until cancelled."""
        with Live(console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
            while True:
                live.update(picture(self.contest, now_ms()), refresh=True)
                await asyncio.sleep(1 / PICTURES_A_SECOND)


class PlainOutput:
    """Plain lines, for files and pipes: one for each match that has ended, and now and then one on the progress."""

    look_every_s = 10.0

    def __init__(self, say: Say) -> None:
        self._say = say
        self.contest: RunningTournament | None = None

    def note(self, text: str) -> None:
        """Print a line."""
        self._say(text)

    def ended(self, played: EndedMatch, contest: RunningTournament) -> None:
        """Print a line on a match."""
        progress = contest.progress
        of = "" if contest.planned is None else f"/{contest.planned}"
        self._say(f"{elapsed(progress, played.at_ms)}  {done(progress)}{of}  {end(played)}")

    def found(self, statistics: str) -> None:
        """Print the statistics of a trial."""
        self._say(statistics)

    def looked(self) -> None:
        """Print the progress."""
        if self.contest is not None and self.contest.stand is not None:
            found, stand = self.contest.stand
            self._say(f"{elapsed(self.contest.progress, now_ms())}  {words.state(found)}{words.leader(stand)}")

    async def run(self) -> None:
        """Do nothing: it prints what it is told."""


def view_of(console: Console) -> Screen | PlainOutput:
    """Return the view for a console."""
    if console.is_terminal:
        return Screen(console)

    def say(text: str) -> None:
        console.print(text, soft_wrap=True)
        sys.stdout.flush()

    return PlainOutput(say)


def end(played: EndedMatch) -> str:
    """Return how a match ended: `pods: greedy 1–0 wire, territory, 85 plies`."""
    board, result = played.board, played.result
    first, second = board.players
    reason, plies = result.reason.replace("_", " "), counted(board.plies, "ply", "plies")
    return f"{board.game}: {first} {played.score} {second}, {reason}, {plies}"


def unusual(progress: Progress) -> list[str]:
    """Return lines on the games that did not end by play, up to a maximum."""
    odd = progress.not_by_play()
    lines = [f"  {end(played)}" for played in odd[:UNUSUAL_SHOWN]]
    return [*lines, f"  and {len(odd) - UNUSUAL_SHOWN} more"] if len(odd) > UNUSUAL_SHOWN else lines


def void_matches(progresses: Iterable[Progress]) -> str:
    """Return a sentence on the matches without a result, or "" if there are none; for tournaments that have ended.

    Such a match is played again, unless it was the last attempt, or its tournament ends first: closing a tournament
    stops its matches.
    """
    counts = ((progress.void, progress.replays, progress.given_up) for progress in progresses)
    void, replays, given_up = map(sum, zip(*counts, strict=True))
    if not void:
        return ""
    stopped = void - replays - given_up
    said = (
        f"{replays} played again" if replays else "",
        f"{given_up} given up after the last attempt" if given_up else "",
        f"{stopped} stopped when the tournament ended" if stopped > 0 else "",
    )
    return f"{counted(void, 'match', 'matches')} ended without a result: {', '.join(filter(None, said))}."


def not_played(progresses: Iterable[Progress]) -> str:
    """Return a sentence on the games that have a result without having been played, or "" if there are none."""
    counts = ((len(each.played) - each.games, each.walkovers - each.given_up) for each in progresses)
    no_shows, walkovers = map(sum, zip(*counts, strict=True))
    said = (
        f"a player did not come to {no_shows}" if no_shows else "",
        f"{walkovers} ended by walkover" if walkovers else "",
    )
    if not no_shows + walkovers:
        return ""
    verb = "was" if no_shows + walkovers == 1 else "were"
    return f"{counted(no_shows + walkovers, 'game')} {verb} not played: {', '.join(filter(None, said))}."


def limits_hit(hits: Mapping[tuple[str, Hit], int]) -> list[str]:
    """Return lines on the sandbox limits that bots have hit, and how often."""
    return [
        f"  {name} {hit.words}{f', {times} times' if times > 1 else ''}" for (name, hit), times in sorted(hits.items())
    ]


def so_far(contest: RunningTournament) -> str:
    """Return how many games of a tournament have ended: `5 of 30 games`, or `5 games` if play decides how many."""
    ended = done(contest.progress)
    if contest.planned is None:
        return counted(ended, "game")
    return f"{ended:,} of {counted(contest.planned, 'game')}"


def done(progress: Progress) -> int:
    """Return how many games of a tournament have a result."""
    return len(progress.played) + progress.walkovers


def elapsed(progress: Progress, at_ms: int) -> str:
    """Return how long this process has played at a given time: `1:05`."""
    seconds = max(0, at_ms - progress.began_ms) // 1000
    return f"{seconds // 60}:{seconds % 60:02}"


def picture(contest: RunningTournament | None, at_ms: int) -> RenderableType:
    """Return the live picture of a tournament: standings, boards under way, the latest results, and a summary line."""
    if contest is None or contest.stand is None:
        return Text("The arbiter and the bots start.", style="dim")
    found, stand = contest.stand
    progress = contest.progress
    foot = Text.assemble(
        (f" {elapsed(progress, at_ms)}  ", "bold cyan"),
        f"{counted(progress.moves_now, 'move')}, {progress.moves_a_second:.0f} a second",
        (_time_left(found, at_ms), "cyan"),
        ("   Ctrl-C stops", "dim"),
    )
    return Group(
        "",
        Text(words.in_short(found), "bold"),
        _bar(found, at_ms),
        Text(contest.trial.line(), "dim") if contest.trial is not None else "",
        _standings(stand),
        _boards(progress),
        _latest_results(progress),
        foot,
    )


def _time_left(found: arb.Tournament, at_ms: int) -> str:
    if not found.ends_ms or found.phase is not arb.TournamentPhase.RUNNING:
        return ""
    seconds = max(0, found.ends_ms - at_ms) // 1000
    return f", ends in {seconds // 60}:{seconds % 60:02}"


def _bar(found: arb.Tournament, at_ms: int) -> RenderableType:
    """Return the state beside a bar: of the games, or of the time; without a bar if nobody can know the end."""
    planned = words.planned_games(found)
    if planned is not None:
        bar = (planned, found.games_ended)
    elif found.ends_ms and found.started_ms:
        length_ms = max(1, found.ends_ms - found.started_ms)
        bar = (length_ms, min(length_ms, max(0, at_ms - found.started_ms)))
    else:
        return Text(words.state(found))
    line = Table(box=None, show_header=False, pad_edge=False)
    line.add_row(ProgressBar(max(1, bar[0]), bar[1], width=BAR_WIDTH, complete_style="cyan"), words.state(found))
    return line


def _standings(stand: arb.Standings) -> RenderableType:
    drawn: list[RenderableType] = []
    for headings, rows in words.shown_tables(stand, brief=True).values():
        drawn.append(drawn_table(headings, rows[:ROWS_SHOWN]))
        if len(rows) > ROWS_SHOWN:
            drawn.append(Text(f"and {len(rows) - ROWS_SHOWN} more", "dim"))
    return Group(*drawn)


def _boards(progress: Progress) -> Table:
    table = Table(box=None, show_header=False, pad_edge=True, padding=(0, 1))
    table.add_column(style="cyan", min_width=15)
    table.add_column(justify="right", min_width=6)
    table.add_column(style="dim")
    table.add_column(min_width=6)
    table.add_column(justify="right", style="dim", min_width=9)
    shown = list(progress.boards.values())[:BOARDS_SHOWN]
    for board in shown:
        first, second = board.players
        table.add_row(board.game, first, "–", second, f"ply {board.plies}")
    for _ in range(BOARDS_SHOWN - len(shown)):
        table.add_row("")
    return table


def _latest_results(progress: Progress) -> Group:
    last = [Text(f" {end(played)}", style="dim", overflow="ellipsis") for played in progress.played[-ENDS_SHOWN:]]
    return Group(*last, *([Text("")] * (ENDS_SHOWN - len(last))), Text(""))
