"""`arbiter tournament export`: a tournament of a server as files that anyone can verify."""

from __future__ import annotations

import json
from pathlib import Path

import arbiter_client as arb

from arbiter.cli import short_ids
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.short_ids import TournamentId
from arbiter.cli.store import progress_of
from arbiter.cli.terminal import counted, say
from arbiter.cli.transcript_files import KEY_FILE, SUFFIX, TOURNAMENT_FILE, published_keys, write_whole
from arbiter.matches.signing import write_keys
from arbiter.runtime import private


def export(tournament_id: TournamentId, folder: Path, /, *, connection: Connection | None = None) -> None:
    """Write a tournament that has ended.

    :param folder: The folder; it is created if it does not exist.
    """
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        if client.get_tournament(tournament_id).phase is not arb.TournamentPhase.ENDED:
            raise Failure(f"tournament {tournament_id} has not ended: only then it is signed")
        log = client.export_tournament(tournament_id)
        matches = _matches_in(log)
        try:
            left_out = _write(client, folder, log, matches)
        except OSError as error:
            raise Failure(f"can't write {error.filename or folder}: {error.strerror or error}") from None
    has = counted(len(matches) - left_out, "transcript")
    say(f"{TOURNAMENT_FILE} and {has} written to {folder}; the public keys are in {KEY_FILE}.")
    if left_out:
        raise Failure(f"{counted(left_out, 'match', 'matches')} left out, because the record is damaged")


def _write(client: arb.BlockingClient, folder: Path, log: bytes, matches: list[str]) -> int:
    """Write all files; return how many matches are left out. Raises ClientError, OSError."""
    folder.mkdir(private.FOLDER, parents=True, exist_ok=True)
    write_whole(folder / KEY_FILE, write_keys(published_keys(client.server_info())).encode())
    left_out = 0
    with progress_of("Exporting", "matches") as progress:
        for done, match_id in enumerate(matches, 1):
            file = folder / f"{match_id}{SUFFIX}"
            if not file.exists():
                try:
                    write_whole(file, client.transcript(match_id))
                except arb.ArbiterError as error:
                    if error.reason is not arb.Reason.RECORD_DAMAGED:
                        raise
                    say(str(error), "red")
                    left_out += 1
            progress(done, len(matches))
    write_whole(folder / TOURNAMENT_FILE, log)
    return left_out


def _matches_in(log: bytes) -> list[str]:
    """Return the ids of the matches that a tournament's log names, in its order."""
    events = map(json.loads, log.splitlines())
    return list(dict.fromkeys(event["match"] for event in events if event["kind"] == "game_begun"))
