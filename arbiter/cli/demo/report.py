"""The report of a demo: standings, ratings from all games, and where the records are."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from arbiter.cli import tournament_view as words
from arbiter.cli.ratings_view import signed, whole
from arbiter.cli.terminal import counted, drawn_table
from arbiter.cli.tournament_run.export import KEYS, TRANSCRIPTS, file_name
from arbiter.cli.tournament_run.folder import shown
from arbiter.cli.tournament_run.progress import EndedMatch, Progress
from arbiter.cli.tournament_run.run_processes import now_ms
from arbiter.cli.tournament_run.running_tournament import TournamentState
from arbiter.cli.tournament_run.screen import elapsed, not_played, unusual, void_matches
from arbiter.ratings.counts import Counts, RatedGame
from arbiter.ratings.fit import fit


def standings(stand: TournamentState) -> RenderableType:
    """Return the final standings of a tournament."""
    heading = Text(f"\n{words.in_short(stand.tournament)}", style="bold cyan")
    drawn = drawn_table(*words.lines(stand.standings, brief=True))
    legend = [Text(sentence, "dim") for sentence in words.legend(stand.standings)]
    return Group(heading, Text(words.state(stand.tournament)), drawn, *legend)


def ratings(progresses: Sequence[Progress]) -> RenderableType:
    """Return the ratings computed from all rated games."""
    rated = fit(Counts.of(rated_games(progresses))).rated
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.add_column("player", no_wrap=True)
    for heading in ("rating", "95 % interval", "games"):
        table.add_column(heading, justify="right", no_wrap=True)
    for player in rated:
        interval = f"{whole(player.low)} to {whole(player.high)}"
        table.add_row(player.player, Text(signed(player.rating), style="bold"), interval, str(player.games))
    note = "In Elo against the mean of the field, across games: a player may be good at one game and not at another."
    return Group(Text("\nRatings from all games of both", style="bold cyan"), table, Text(note, style="dim"), "")


def rated_games(progresses: Sequence[Progress]) -> list[RatedGame]:
    """Return the games that count for ratings: not the games of a bot against itself."""
    return [
        RatedGame(played.board.players[0], played.board.players[1], winner_of(played))
        for progress in progresses
        for played in progress.played
        if len(set(played.board.players)) > 1 and played.came and played.result.score(1) is not None
    ]


def winner_of(played: EndedMatch) -> Literal[0, 1, 2]:
    """Return the winner's seat, or 0 for a draw."""
    return 1 if played.result.winner == 1 else 2 if played.result.winner == 2 else 0


def remarks(progresses: Sequence[Progress]) -> list[str]:
    """Return remarks on the games, as lines."""
    games = sum(progress.games for progress in progresses)
    moves = sum(progress.moves_now for progress in progresses)
    took_ms = max(1, now_ms() - progresses[0].began_ms)
    rate = moves * 1000 / took_ms
    took = elapsed(progresses[0], now_ms())
    lines = [f"{counted(games, 'game')} and {counted(moves, 'move')} in {took}, {rate:.0f} moves a second."]
    odd = sum(len(progress.not_by_play()) for progress in progresses)
    if odd:
        lines.append(f"{odd} ended by a clock, a violation, absence or a decision:")
        lines += [line for progress in progresses for line in unusual(progress)]
    else:
        lines.append("Every game ended by its rules: no flag fell, no move was illegal, nobody was missing.")
    return [*lines, *filter(None, (not_played(progresses), void_matches(progresses)))]


def where(folder: Path, swiss: Progress) -> list[str]:
    """Return lines with the place of the records, and commands to look at one of them."""
    path = shown(folder)
    lines = [f"Transcripts are in {path}/swiss and {path}/ladder, the processes' logs in {path}/logs."]
    if swiss.played:
        board = swiss.played[-1].board
        place = folder / "swiss" / TRANSCRIPTS / file_name(board.game, board.players, board.match_id, board.number)
        file, key = shlex.quote(str(shown(place))), shlex.quote(str(path / "swiss" / KEYS))
        lines += [
            f"Look at one: less {file}",
            f"Check it:    arbiter verify {file} --key {key}",
            f"Its end:     arbiter show {shlex.quote(board.game)} {shlex.quote(_last_position(place))}",
        ]
    return lines


def _last_position(transcript: Path) -> str:
    """Return the text of the position after the last move on record."""
    events = (json.loads(line) for line in reversed(transcript.read_bytes().splitlines()))
    return next((str(event["position"]) for event in events if "position" in event), "")
