"""A run as it is shown while it goes on: a table that lives on a terminal, plain lines anywhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from arbiter.cli.demo.plan import PLAYERS
from arbiter.cli.demo.progress import Played, Progress
from arbiter.tournaments.crosstable import Crosstable
from arbiter.tournaments.standings import points_text

PICTURES_A_SECOND: Final = 4
LINE_EVERY_S: Final = 10.0
BOARDS_SHOWN: Final = 8
ENDS_SHOWN: Final = 3
BAR_WIDTH: Final = 16


class Screen:
    """The live table, for a terminal."""

    def __init__(self, console: Console, progress: Progress, now_ms: Callable[[], int]) -> None:
        self._progress = progress
        self._now_ms = now_ms
        self._console = console

    def note(self, text: str) -> None:
        """Show a line above the table; it stays."""
        self._console.print(text, style="yellow")

    def ended(self, played: Played, progress: Progress) -> None:
        """Do nothing: the next picture shows it."""

    async def run(self) -> None:
        """Draw until cancelled."""
        with Live(console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
            while True:
                live.update(picture(self._progress, self._now_ms()), refresh=True)
                await asyncio.sleep(1 / PICTURES_A_SECOND)


class Lines:
    """Plain lines, for files and pipes: one a match that has ended, and now and then one that says how far it is."""

    def __init__(self, say: Callable[[str], None], progress: Progress, now_ms: Callable[[], int]) -> None:
        self._say = say
        self._progress = progress
        self._now_ms = now_ms

    def note(self, text: str) -> None:
        """Print a line."""
        self._say(text)

    def ended(self, played: Played, progress: Progress) -> None:
        """Print a line on a match."""
        self._say(
            f"{elapsed(progress, self._now_ms())}  {len(progress.played)}/{len(progress.fixtures)}  {end(played)}"
        )

    async def run(self) -> None:
        """Say how far it is, until cancelled."""
        while True:
            await asyncio.sleep(LINE_EVERY_S)
            now_ms = self._now_ms()
            self._say(f"{elapsed(self._progress, now_ms)}  {state(self._progress, now_ms)}")


def end(played: Played) -> str:
    """Return how a match ended: `pods: greedy 1–0 wire, territory, 85 plies`."""
    fixture, result = played.fixture, played.result
    reason = result.reason.replace("_", " ")
    return f"{fixture.game}: {fixture.seat1} {played.score} {fixture.seat2}, {reason}, {played.plies} plies"


def state(progress: Progress, now_ms: int) -> str:
    """Return how far a run is, in a line."""
    if not (progress.played or progress.under_way):
        return "the arbiter and the bots start and warm up"
    return (
        f"{len(progress.played)} of {len(progress.fixtures)} games ended, {len(progress.under_way)} under way, "
        f"{progress.moves:,} moves, {progress.moves_a_second(now_ms):.0f} a second"
    )


def elapsed(progress: Progress, now_ms: int) -> str:
    """Return how long this process has played: `1:05`."""
    seconds = max(0, now_ms - progress.began_ms) // 1000
    return f"{seconds // 60}:{seconds % 60:02}"


def picture(progress: Progress, now_ms: int) -> RenderableType:
    """Return the live picture of a run: standings by game, boards under way, the last ends, and a line on the whole."""
    heading = Text.assemble(("Arbiter demo", "bold"), (f"  {progress.name}: every bot against every other", "dim"))
    foot = Text.assemble((f" {elapsed(progress, now_ms)}  ", "bold cyan"), state(progress, now_ms))
    foot.append("   Ctrl-C stops", style="dim")
    return Group("", heading, _games(progress), _boards(progress), "", _ends(progress), foot)


def _games(progress: Progress) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=True, show_footer=True, footer_style="bold")
    fixtures, played = len(progress.fixtures), len(progress.played)
    totals = points(progress.table())
    table.add_column("game", footer="all games")
    for player in PLAYERS:
        table.add_column(player, justify="right", footer=totals[player])
    table.add_column("", footer=ProgressBar(fixtures, played, width=BAR_WIDTH, complete_style="cyan"))
    table.add_column("ended", justify="right", footer=f"{played}/{fixtures}")
    table.add_column("under way", justify="right", footer=str(len(progress.under_way) or ""))
    for game in progress.games:
        of_game = sum(fixture.game == game for fixture in progress.fixtures)
        under_way = sum(fixture.game == game for fixture in progress.under_way)
        standing = progress.table(game)
        ended = sum(row.games for row in standing.rows) // 2
        done = ended == of_game
        table.add_row(
            Text(game, style="bold" if done else ""),
            *points(standing).values(),
            ProgressBar(of_game, ended, width=BAR_WIDTH, complete_style="cyan", finished_style="green"),
            Text(f"{ended}/{of_game}", style="green" if done else ""),
            str(under_way or ""),
        )
    return table


def points(standing: Crosstable) -> dict[str, Text]:
    """Return each player's points, in the players' order; who leads stands out, who has not played is a dot."""
    best = max(row.points for row in standing.rows)
    rows = {row.player: row for row in standing.rows}
    texts = {}
    for player in PLAYERS:
        row = rows[player]
        style = "bold green" if row.points == best > 0 else ""
        texts[player] = Text(points_text(row.points), style=style) if row.games else Text("·", style="dim")
    return texts


def _boards(progress: Progress) -> Table:
    table = Table(box=None, show_header=False, pad_edge=True, padding=(0, 1))
    table.add_column(style="cyan", min_width=15)
    table.add_column(justify="right", min_width=6)
    table.add_column(style="dim")
    table.add_column(min_width=6)
    table.add_column(justify="right", style="dim", min_width=9)
    shown = list(progress.under_way.items())[:BOARDS_SHOWN]
    for fixture, match_id in shown:
        table.add_row(fixture.game, fixture.seat1, "–", fixture.seat2, f"ply {progress.plies.get(match_id, 0)}")
    for _ in range(BOARDS_SHOWN - len(shown)):
        table.add_row("")
    return table


def _ends(progress: Progress) -> Group:
    last = [Text(f" {end(played)}", style="dim", overflow="ellipsis") for played in progress.played[-ENDS_SHOWN:]]
    return Group(*last, *([Text("")] * (ENDS_SHOWN - len(last))), Text(""))
