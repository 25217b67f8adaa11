"""The export of a run: transcripts, the tournament's log, all signed, the keys to verify them, and the standings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import arbiter_client as arb

from arbiter.cli import tournament_view as words
from arbiter.cli.tournament_run.host import keep_keys, write
from arbiter.cli.tournament_run.progress import Progress
from arbiter.cli.tournament_run.running_tournament import TournamentState
from arbiter.cli.transcript_files import TOURNAMENT_FILE
from arbiter.sandbox.bot_process import Hit
from arbiter.table_text import shown

TRANSCRIPTS: Final = "transcripts"
KEYS: Final = "keys.json"
STANDINGS: Final = "standings.tsv"
TEAMS: Final = "teams.tsv"  #: the standings of teams, if there are any
LIMITS: Final = "limits.tsv"
MOST: Final = 1_000_000


async def export(client: arb.Client, stand: TournamentState, progress: Progress, folder: Path) -> int:
    """Write a tournament of a run into a folder; return the number of transcripts. Raises ClientError, Failure.

    Void matches are included: they are on record, but count nowhere. Existing transcripts are not overwritten. `arbiter
    verify FOLDER` checks all.
    """
    keep_keys(folder / KEYS, await client.server_info())
    for name, (headings, rows) in words.shown_tables(stand.standings, brief=False).items():
        lines = ["\t".join(map(shown, row)) for row in (headings, *rows)]
        write(folder / (TEAMS if name == "teams" else STANDINGS), "".join(f"{line}\n" for line in lines).encode())
    written, tournament_id = 0, stand.tournament.tournament_id
    for match in await client.list_matches(label=tournament_id, phase=arb.Phase.ENDED, most=MOST):
        number = progress.number_of(match.match_id)
        file = folder / TRANSCRIPTS / file_name(match.game, match.players, match.match_id, *number)
        if not file.exists():
            write(file, await client.transcript(match.match_id))
        written += 1
    write(folder / TOURNAMENT_FILE, await client.export_tournament(tournament_id))
    return written


def export_hits(hits: Mapping[tuple[str, Hit], int], folder: Path) -> None:
    """Write how often each bot hit each limit of the sandbox, if any did. Raises Failure."""
    rows = [(name, hit.limit, str(hit.value), str(times)) for (name, hit), times in sorted(hits.items())]
    if rows:
        lines = ["\t".join(row) for row in (("bot", "limit", "value", "times"), *rows)]
        write(folder / LIMITS, "".join(f"{line}\n" for line in lines).encode())


def file_name(game: str, players: Sequence[str], match_id: str, number: int, attempt: int = 1) -> Path:
    """Return the file name of a match's transcript: `pods-size-5/0007-ann-ben.jsonl`; a second attempt is marked.

    A match that its tournament did not use has no number (0); its file is named by its id.
    """
    variant = re.sub(r"[^a-z0-9-]+", "-", game).strip("-")
    name = "-".join([f"{number:04}" if number else match_id, *players])
    again = f"-attempt-{attempt}" if attempt > 1 else ""
    return Path(variant, f"{name}{again}.jsonl")
