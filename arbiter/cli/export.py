"""`arbiter export`: the finished matches of a store as files, on the machine of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arbiter.bootstrap.exporting import Exporting, open_export
from arbiter.bootstrap.store import shown_store
from arbiter.cli.argument_types import Flag
from arbiter.cli.export_columns import COLUMN_FILE, MATCHES, MOVES, match_row, move_rows, page
from arbiter.cli.failure import Failure
from arbiter.cli.server_options import ConfigOption, KeysOption, StoreOption
from arbiter.cli.store import progress_of
from arbiter.cli.terminal import counted, say
from arbiter.cli.transcript_files import KEY_FILE, RULINGS_FILE, SUFFIX, TOURNAMENT_FILE, write_whole
from arbiter.config import load
from arbiter.errors import Reason, Refusal
from arbiter.event_json.canonical import RecordError
from arbiter.games import registry
from arbiter.matches.signing import write_keys
from arbiter.runtime import private

Which = tuple[str, str, str]
"""Which matches: of a player, a variant, a label ('' for any)."""


def export(
    folder: Path,
    /,
    *,
    parquet: Flag = False,
    game: str = "",
    label: str = "",
    player: str = "",
    tournament: str = "",
    store: StoreOption = None,
    keys: KeysOption = None,
    config: ConfigOption = None,
) -> None:
    """Write the signed transcripts of all finished matches of a store into a folder, while the server may be running.

    A file MATCH.jsonl for each match: its events, one JSON text a line, and the signature. `arbiter verify` and
    `arbiter ratings recompute` read them, with the public keys in keys.json. Transcripts that are already in the folder
    are not written again. A match whose record is damaged is named and left out; the exit code is 1 then.

    With --parquet, write two tables instead, for pandas, Polars or DuckDB: matches.parquet and moves.parquet. Each time
    they are written whole. columns.md, beside them, says what each column means.

    With --tournament, write a whole tournament: its log with standings and ratings, signed, and the transcripts of its
    matches. `arbiter verify FOLDER` checks all of it.

    :param folder: The folder; it is created if it does not exist.
    :param parquet: Write tables of matches and moves as Parquet files. Needs the extra `parquet` of the package.
    :param game: Only this variant.
    :param label: Only matches with this label, such as a tournament's id.
    :param player: Only matches of this player.
    :param tournament: The id of a tournament that has ended: export it whole.
    """
    settings = load(config, store=store, keys=keys)
    variant = registry.game(game).variant if game else ""
    if tournament and (parquet or game or label or player):
        raise Failure("--tournament exports a whole tournament: leave out --parquet, --game, --label and --player")
    write = _export_tables if parquet else _export_transcripts
    try:
        if tournament:
            damages = asyncio.run(_export_tournament(settings.store, settings.key_ring, folder, tournament))
        else:
            damages = asyncio.run(write(settings.store, settings.key_ring, folder, (player, variant, label)))
    except OSError as error:
        raise Failure(f"can't write {error.filename or folder}: {error.strerror or error}") from None
    if damages:
        raise Failure(f"{counted(damages, 'match', 'matches')} left out, because the record is damaged")


async def _export_transcripts(store_url: str, ring: Path, folder: Path, which: Which) -> int:
    """Write transcripts; return how many matches are left out."""
    async with open_export(store_url, ring) as source:
        there = _prepare(folder, source)
        matches = [match_id async for match_id in source.ended(*which)][::-1]
        missing = [match_id for match_id in matches if match_id not in there]
        damages = await _write(source, folder, missing)
        if rulings := await source.rulings():
            write_whole(folder / RULINGS_FILE, rulings)
    new, has = counted(len(missing) - len(damages), "transcript"), f"{len(matches) - len(damages):,}"
    source_name = shown_store(store_url)
    say(f"{new} written to {folder}, which has {has} of {source_name}; the public keys are in {KEY_FILE}.")
    return len(damages)


async def _export_tournament(store_url: str, ring: Path, folder: Path, tournament: str) -> int:
    """Write a tournament and the transcripts of its matches; return how many of these are left out."""
    async with open_export(store_url, ring) as source:
        data, matches = await source.tournament(tournament)
        there = _prepare(folder, source)
        damages = await _write(source, folder, [match_id for match_id in matches if match_id not in there])
        write_whole(folder / TOURNAMENT_FILE, data)
    has = counted(len(matches) - len(damages), "transcript")
    say(f"{TOURNAMENT_FILE} and {has} written to {folder}; the public keys are in {KEY_FILE}.")
    return len(damages)


def _prepare(folder: Path, source: Exporting) -> set[str]:
    """Make the folder, with the public keys; return the matches that are already in it."""
    folder.mkdir(private.FOLDER, parents=True, exist_ok=True)
    write_whole(folder / KEY_FILE, write_keys(source.public_keys).encode())
    return {file.stem for file in folder.glob(f"*{SUFFIX}")}


async def _write(source: Exporting, folder: Path, matches: list[str]) -> list[str]:
    """Write transcripts; return what is wrong with those that could not be written, a sentence each."""
    damages: list[str] = []
    with progress_of("Exporting", "matches") as progress:
        for done, match_id in enumerate(matches, 1):
            with _noting(damages, match_id):
                write_whole(folder / f"{match_id}{SUFFIX}", await source.transcript(match_id))
            progress(done, len(matches))
    for why in damages:
        say(why, "red")
    return damages


async def _export_tables(store_url: str, ring: Path, folder: Path, which: Which) -> int:
    """Write the tables of matches and moves; return how many matches are left out."""
    try:
        from arbiter.cli.parquet import table  # an extra, and it takes half a second to load
    except ImportError:
        raise Failure(
            "Parquet files need pyarrow, which is not installed: install the package with its extra, "
            "game-arbiter[parquet]"
        ) from None
    matches = moves = done = 0
    damages: list[str] = []
    async with open_export(store_url, ring) as source:
        await asyncio.to_thread(folder.mkdir, private.FOLDER, parents=True, exist_ok=True)
        total = await source.ended_count(*which)
        with (
            table(folder / "matches.parquet", MATCHES) as add_match,
            table(folder / "moves.parquet", MOVES) as add_move,
            progress_of("Exporting", "matches") as progress,
        ):
            async for match_id in source.ended(*which):
                with _noting(damages, match_id):
                    match, events = await source.match(match_id)
                    rows = list(move_rows(match, events))
                    add_match(match_row(match, events))
                    for row in rows:
                        add_move(row)
                    matches, moves = matches + 1, moves + len(rows)
                done += 1
                progress(done, max(done, total))
    for why in damages:
        say(why, "red")
    written = f"{counted(matches, 'match', 'matches')} and {counted(moves, 'move')}"
    write_whole(folder / COLUMN_FILE, page().encode())
    say(f"{written} of {shown_store(store_url)} written to {folder}: matches.parquet, moves.parquet and {COLUMN_FILE}.")
    return len(damages)


@contextmanager
def _noting(damages: list[str], match_id: str) -> Iterator[None]:
    """Note in a sentence what is wrong with a damaged record, and go on."""
    try:
        yield
    except RecordError as error:
        damages.append(f"the record of match {match_id} is damaged: {error}")
    except Refusal as refusal:
        if refusal.reason is not Reason.RECORD_DAMAGED:
            raise
        damages.append(str(refusal.facts["why"]))
