"""What a demo found out: a crosstable and ratings for each game, and where the records are."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from arbiter.cli.demo.folder import Folder
from arbiter.cli.demo.plan import PLAYERS
from arbiter.cli.demo.progress import Played, Progress
from arbiter.cli.demo.screen import elapsed, end
from arbiter.ratings.counts import Counts, Game
from arbiter.ratings.fit import Ratings, fit
from arbiter.tournaments.crosstable import Row
from arbiter.tournaments.standings import points_text, quarters_text

SIGNS = {0: "0", 1: "½", 2: "1"}  #: half points, as crosstables write them


def report(progress: Progress, now_ms: int) -> RenderableType:
    """Return the tables of a run that has ended."""
    tables = [_crosstable(progress, game) for game in progress.games]
    if len(tables) > 1:
        tables.append(_crosstable(progress))
    note = Text(
        "Ratings are in Elo against the mean of the field, with their 95 % intervals. "
        "S–B is the Sonneborn–Berger score, the tie-break.",
        style="dim",
    )
    return Group("", *tables, note, "", *_remarks(progress, now_ms))


def ratings(played: list[Played]) -> Ratings:
    """Return the ratings from what was played."""
    games = (Game(each.fixture.seat1, each.fixture.seat2, each.winner) for each in played)
    return fit(Counts.of(games, PLAYERS))


def _crosstable(progress: Progress, game: str = "") -> Table:
    """Return the crosstable of a game with its ratings, or the table of all games."""
    standing = progress.table(game)
    rated = ratings(progress.of(game) if game else progress.played)
    table = Table(
        box=box.SIMPLE_HEAD,
        title=game or "all games",
        title_style="bold cyan",
        title_justify="left",
        header_style="dim",
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("", justify="right", style="dim")
    table.add_column("player", no_wrap=True)
    for row in standing.rows:
        table.add_column(row.player, justify="center", no_wrap=True)
    for heading in ("points", "S–B", "rating", "95 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in standing.rows:
        player = rated.of(row.player)
        table.add_row(
            str(row.place),
            Text(row.player, style="bold green" if row.place == 1 else "bold"),
            *_scores(row, short=not game),
            Text(points_text(row.points), style="bold"),
            quarters_text(row.sonneborn_berger),
            Text(f"{player.rating:+.0f}", style="bold"),
            f"{player.low:+.0f} … {player.high:+.0f}",
        )
    return table


def _scores(row: Row, short: bool) -> list[Text]:
    """Return the cells against each player: every game, or the sum where there are many."""
    cells = []
    for scores in row.scores:
        played = points_text(sum(scores)) if short else " ".join(SIGNS[score] for score in scores)
        cells.append(Text(played) if scores else Text("·", style="dim"))
    return cells


def _remarks(progress: Progress, now_ms: int) -> list[Text]:
    moves_now = progress.moves_now
    took = elapsed(progress, now_ms)
    rate = moves_now * 1000 / max(1, now_ms - progress.began_ms)
    lines = [Text(f"{len(progress.played)} games and {moves_now:,} moves in {took}, {rate:.0f} moves a second.")]
    odd = progress.not_by_play()
    if odd:
        lines.append(Text(f"{len(odd)} ended by a clock, a violation, absence or a decision:", style="yellow"))
        lines += [Text(f"  {end(each)}", style="yellow") for each in odd]
    else:
        lines.append(Text("Every game ended by its rules: no flag fell, no move was illegal, nobody was missing."))
    if progress.void:
        lines.append(Text(f"{progress.void} void games were played again.", style="yellow"))
    return lines


def where(folder: Folder, progress: Progress) -> list[str]:
    """Return lines that say where the records are, and commands to look at one."""
    path = _shown(folder.path)
    lines = [f"Transcripts are in {path}/transcripts, a folder a game; the processes' logs are in {path}/logs."]
    if progress.played:
        last = progress.of(progress.games[0])[-1]
        file = shlex.quote(str(_shown(folder.transcript(last.fixture))))
        position = shlex.quote(_last_position(folder.transcript(last.fixture)))
        lines += [
            f"Look at one: less {file}",
            f"Check it:    arbiter verify {file} --key {shlex.quote(str(_shown(folder.keys)))}",
            f"Its end:     arbiter show {shlex.quote(last.fixture.game)} {position}",
        ]
    return lines


def _last_position(transcript: Path) -> str:
    """Return the text of the position after the last move on record."""
    events = (json.loads(line) for line in reversed(transcript.read_bytes().splitlines()))
    return next((str(event["position"]) for event in events if "position" in event), "")


def _shown(path: Path) -> Path:
    """Return a path as a person would write it from here."""
    try:
        return path.resolve().relative_to(Path.cwd())
    except ValueError:
        return path.resolve()
