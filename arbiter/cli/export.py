"""`arbiter export`: the finished matches of a store as files, on the machine of the server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from arbiter.bootstrap import Exporting, open_export, shown_store
from arbiter.cli.counts import counted
from arbiter.cli.failure import Failure
from arbiter.cli.ratings_record import SUFFIX
from arbiter.cli.store import progress_of
from arbiter.cli.terminal import say
from arbiter.cli.transcript_files import KEY_FILE, write_whole
from arbiter.config import load
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.matches.public_keys import write_keys


def export(
    folder: Path,
    /,
    *,
    game: str = "",
    label: str = "",
    player: str = "",
    store: str | None = None,
    keys: Path | None = None,
    config: Path | None = None,
) -> None:
    """Write the signed transcripts of all finished matches of a store into a folder, while the server may be running.

    A file MATCH.jsonl for each match: its events, one JSON text a line, and the signature. `arbiter verify` and
    `arbiter ratings recompute` read them, with the public keys in keys.json. Transcripts that are already in the folder
    are not written again. A match whose record is damaged is named and left out; the exit code is 1 then.

    :param folder: The folder; it is created if it does not exist.
    :param game: Only this variant.
    :param label: Only matches with this label, such as a tournament's id.
    :param player: Only matches of this player.
    :param store: The store, as sqlite:///FILE or postgresql://USER@HOST/DATABASE. [default: as the server's settings]
    :param keys: The file of the signing keys. [default: as the server's settings]
    :param config: The server's configuration file (TOML).
    """
    settings = load(config, store=store, keys=keys)
    variant = registry.game(game).variant if game else ""
    try:
        asyncio.run(_export(settings.store, settings.key_ring, folder, (player, variant, label)))
    except OSError as error:
        raise Failure(f"can't write {error.filename or folder}: {error.strerror or error}") from None


async def _export(store_url: str, ring: Path, folder: Path, which: tuple[str, str, str]) -> None:
    async with open_export(store_url, ring) as source:
        there = _prepare(folder, source)
        matches = await source.ended(*which)
        missing = [match_id for match_id in matches if match_id not in there]
        damages = await _write(source, folder, missing)
    new, has = counted(len(missing) - len(damages), "transcript"), f"{len(matches) - len(damages):,}"
    source_name = shown_store(store_url)
    say(f"{new} written to {folder}, which has {has} of {source_name}; the public keys are in {KEY_FILE}.")
    if damages:
        raise Failure(f"{counted(len(damages), 'match', 'matches')} left out, because the record is damaged")


def _prepare(folder: Path, source: Exporting) -> set[str]:
    """Make the folder, with the public keys; return the matches that are already in it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / KEY_FILE, write_keys(source.public_keys).encode())
    return {file.stem for file in folder.glob(f"*{SUFFIX}")}


async def _write(source: Exporting, folder: Path, matches: list[str]) -> list[str]:
    """Write transcripts; return what is wrong with those that could not be written, a sentence each."""
    damages: list[str] = []
    with progress_of("Exporting", "matches") as progress:
        for done, match_id in enumerate(matches, 1):
            try:
                write_whole(folder / f"{match_id}{SUFFIX}", await source.transcript(match_id))
            except Refusal as refusal:
                if refusal.reason is not Reason.RECORD_DAMAGED:
                    raise
                damages.append(str(refusal.facts["why"]))
            progress(done, len(matches))
    for why in damages:
        say(why, "red")
    return damages
